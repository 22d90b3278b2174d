package cli

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

// unlessInterrupted does something that may never end, such as opening a FIFO or reading from a terminal. Ctrl-C works meanwhile: then
// the goroutine is left behind in it.
func unlessInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
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

// openInput opens a file that a flag names.
func openInput(ctx context.Context, flag, path string) (*os.File, error) {
	file, err := unlessInterrupted(ctx, func() (*os.File, error) { return os.Open(path) })
	var denied *fs.PathError
	switch {
	case ctx.Err() != nil:
		return file, err
	case errors.As(err, &denied):
		return nil, usagef("%s: %s: %w", flag, path, denied.Err)
	case err != nil:
		return nil, usagef("%s: %w", flag, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(usagef("%s: %s is a directory", flag, path), file.Close())
	}
	return file, nil
}

// readJSON reads args or another payload from where a flag or an argument says: it is the JSON itself, @FILE, or - for standard input.
func (a *app) readJSON(ctx context.Context, name, from string) (json.RawMessage, error) {
	data := []byte(from)
	var reader io.Reader
	if from == "-" {
		reader, name = a.env.Stdin, "standard input"
	} else if path, ok := strings.CutPrefix(from, "@"); ok {
		file, err := openInput(ctx, name, path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		reader, name = file, path
	}
	if reader != nil {
		var err error
		data, err = unlessInterrupted(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(reader, maxLine+1)) })
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	args, err := checkArgs(data)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return args, nil
}
