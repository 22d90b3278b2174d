package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

const (
	// batchLines is how many jobs share a transaction.
	batchLines = 1000
	// batchBytes bounds the memory of a batch of long lines.
	batchBytes = 8 << 20
)

// fileEnqueue is the state of "job enqueue --file".
type fileEnqueue struct {
	app       verbs
	kind      string
	opts      []holdfast.EnqueueOption
	check     func(json.RawMessage) error // further checks of a line
	keepGoing bool
	lines     *lineReader
	progress  *app.Progress
	out       *output.List

	next     int // first line of the next batch
	stored   int // jobs that were inserted
	existing int // lines whose job existed already
	bad      int // lines that were not enqueued
}

// argsLine is a valid line of the file.
type argsLine struct {
	line int
	args json.RawMessage
}

func (a verbs) enqueueFile(ctx context.Context, kind string, f *enqueueFlags, opts []holdfast.EnqueueOption) error {
	input, size := a.Env.Stdin, int64(-1)
	if f.file != "-" {
		file, err := arg.OpenInput(ctx, "--file", f.file)
		if err != nil {
			return err
		}
		defer file.Close()
		input = file
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	a.Env.OutlivePipes() // a reader that goes away is to stop it between two batches, and to be told how far it came
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		e := &fileEnqueue{
			app: a, kind: kind, opts: opts, check: f.checkFields, keepGoing: f.keepGoing,
			lines: newLineReader(input), next: 1, progress: a.NewProgress(size), out: a.NewList(),
		}
		err := e.run(ctx, client)
		e.progress.Close()
		return e.summary(err)
	})
}

// run enqueues the file, batch by batch.
func (e *fileEnqueue) run(ctx context.Context, client *holdfast.Client) error {
	for {
		b, err := arg.UnlessInterrupted(ctx, func() (batch, error) { return e.read(), nil })
		if err != nil {
			return fmt.Errorf("%w; no line from %d on was enqueued", err, e.next)
		}
		for _, err := range b.refused {
			e.refuse(err)
		}
		if b.err != nil {
			return b.err
		}
		if err := e.store(ctx, client, b.lines); err != nil {
			return err
		}
		e.next = b.end + 1
		e.progress.Set(b.bytes, e.stored)
		if b.last {
			return nil
		}
	}
}

// batch is a portion of the file.
type batch struct {
	lines   []argsLine
	refused []error // errors of skipped lines
	end     int     // number of its last line
	bytes   int64   // of the file so far
	last    bool    // end of the file
	err     error   // nothing of the batch, nor anything after it, is to be enqueued
}

// read reads a batch. At a line that cannot be args it stops, or goes on with --keep-going.
func (e *fileEnqueue) read() (b batch) {
	defer func() { b.end, b.bytes = e.lines.line, e.lines.read }()
	for size := 0; len(b.lines)+len(b.refused) < batchLines && size < batchBytes; {
		data, err := e.lines.next()
		if errors.Is(err, io.EOF) {
			b.last = true
			return b
		}
		if err != nil && !errors.Is(err, arg.ErrTooLarge) {
			b.err = fmt.Errorf("reading line %d: %w; no line from %d on was enqueued", e.lines.line, err, e.next)
			return b
		}
		var args json.RawMessage
		if err == nil {
			if len(bytes.TrimSpace(data)) == 0 {
				continue
			}
			if args, err = arg.CheckJSON(data); err == nil {
				err = e.check(args)
			}
		}
		if err != nil && e.lines.line == 1 && bytes.HasPrefix(data, []byte("[")) {
			err = fmt.Errorf("%w; to split a JSON array into lines, use jq -c '.[]'", err)
		}
		switch {
		case err == nil:
			b.lines = append(b.lines, argsLine{e.lines.line, args})
			size += len(args)
		case e.keepGoing:
			b.refused = append(b.refused, fmt.Errorf("line %d: %w", e.lines.line, err))
		default:
			b.err = fmt.Errorf("line %d: %w; no line from %d on was enqueued; fix it and start again from there, or use --keep-going",
				e.lines.line, err, e.next)
			return b
		}
	}
	return b
}

func (e *fileEnqueue) refuse(err error) {
	e.bad++
	e.progress.Clear()
	e.app.Complain(err)
}

// store enqueues a batch and prints the result of each line.
func (e *fileEnqueue) store(ctx context.Context, client *holdfast.Client, lines []argsLine) error {
	if len(lines) == 0 {
		return nil
	}
	last := lines[len(lines)-1].line
	kind := anyKind(e.kind)
	items := make([]holdfast.BatchItem, len(lines))
	for i, l := range lines {
		items[i] = kind.Item(l.args, e.opts...)
	}
	results, err := client.EnqueueBatch(ctx, items)
	if refused, ok := errors.AsType[*holdfast.BatchError](err); err != nil && (!ok || refused.Stopped != nil) {
		return fmt.Errorf("lines %d to %d may or may not have been enqueued: %w", lines[0].line, last, err)
	}
	var refusals []error
	for i, r := range results {
		switch {
		case r.Err != nil:
			refusals = append(refusals, fmt.Errorf("line %d: %w", lines[i].line, r.Err))
			continue
		case r.Existing:
			e.existing++
		default:
			e.stored++
		}
		if e.out.Format == output.FormatTable {
			continue // a table has no line for each of a million jobs
		}
		view := views.Enqueued{ID: r.ID.String(), Existing: r.Existing, Replaced: r.Replaced, Line: views.Number(lines[i].line)}
		if err := e.out.Add(view, nil); err != nil {
			return untold(err, last)
		}
	}
	if err := e.app.Flush(); err != nil {
		return untold(err, last)
	}
	if e.keepGoing {
		for _, err := range refusals {
			e.refuse(err)
		}
		return nil
	}
	switch more := len(refusals) - 1; {
	case more < 0:
		return nil
	case more == len(lines)-1:
		return fmt.Errorf("%w; no line from %d on was enqueued", refusals[0], e.next)
	case more == 0:
		return fmt.Errorf("%w; the other lines up to %d were enqueued, later lines were not", refusals[0], last)
	default:
		return fmt.Errorf("%w; %s up to %d could not be enqueued either; the others up to there were, later lines were not",
			refusals[0], output.Plural(more, "more line"), last)
	}
}

// untold is the error of output that could not be written, although the jobs are stored.
func untold(err error, last int) error {
	return fmt.Errorf("%w; the lines up to %d were enqueued, later lines were not", err, last)
}

// summary ends the output and prints the totals.
func (e *fileEnqueue) summary(err error) error {
	words := "enqueued " + output.Plural(e.stored, "job")
	if e.existing > 0 {
		words += fmt.Sprintf("; %d already existed", e.existing)
	}
	if e.out.Format == output.FormatTable {
		e.app.Printf("%s", words)
	} else if endErr := e.out.End(); err == nil {
		err = endErr
	}
	switch {
	case err != nil:
		return err
	case e.bad > 0:
		return fmt.Errorf("%d of %s could not be enqueued", e.bad, output.Plural(e.bad+e.stored+e.existing, "line"))
	}
	return nil
}

// lineReader reads lines of any length, and keeps those that are not too long for args.
type lineReader struct {
	in   *bufio.Reader
	line int   // number of the last line
	read int64 // bytes
	kept []byte
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// next returns a line without its line break, valid until the next call. It skips a line that is
// too long and returns ErrTooLarge for it. The error at the end is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.kept = l.kept[:0]
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		l.read += int64(len(part))
		if len(l.kept)+len(part) > arg.MaxLine {
			tooLong = true
		} else {
			l.kept = append(l.kept, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.kept) == 0 && !tooLong:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			l.line++
			return nil, err
		}
		l.line++
		if tooLong {
			return nil, arg.ErrTooLarge
		}
		if l.line == 1 {
			l.kept = bytes.TrimPrefix(l.kept, arg.ByteOrderMark)
		}
		return l.kept, nil
	}
}
