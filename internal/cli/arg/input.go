package arg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// UnlessInterrupted runs work that may block for ever, such as opening a FIFO or reading from a
// terminal. At Ctrl-C it returns and leaks the goroutine.
func UnlessInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := work()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// OpenInput opens a file that a flag names.
func OpenInput(ctx context.Context, flag, path string) (*os.File, error) {
	file, err := UnlessInterrupted(ctx, func() (*os.File, error) { return os.Open(path) })
	var denied *fs.PathError
	switch {
	case ctx.Err() != nil:
		return file, err
	case errors.As(err, &denied):
		return nil, Usagef("%s: %s: %w", flag, path, denied.Err)
	case err != nil:
		return nil, Usagef("%s: %w", flag, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(Usagef("%s: %s is a directory", flag, path), file.Close())
	}
	return file, nil
}

// ReadJSON reads args or another payload given by a flag or an argument: the JSON itself, @FILE, or
// - for standard input.
func ReadJSON(ctx context.Context, stdin io.Reader, name, from string) (json.RawMessage, error) {
	data := []byte(from)
	var reader io.Reader
	if from == "-" {
		reader, name = stdin, "standard input"
	} else if path, ok := strings.CutPrefix(from, "@"); ok {
		file, err := OpenInput(ctx, name, path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		reader, name = file, path
	}
	if reader != nil {
		var err error
		data, err = UnlessInterrupted(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(reader, MaxLine+1)) })
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	args, err := CheckJSON(data)
	if err != nil {
		return nil, Usagef("%s: %w", name, err)
	}
	return args, nil
}
