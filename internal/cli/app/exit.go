package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// The exit codes. They are an interface: docs/cli.md.
const (
	ExitOK          = 0
	ExitError       = 1 // also: the job that was waited for failed or was cancelled
	ExitTimeout     = 2 // the job that was waited for did not finish in time
	ExitUsage       = 64
	ExitInterrupted = 130
)

// ErrInterrupted is the cause with which a command's context ends when the user presses Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// runError is an error of a command's own work. Whatever else the command tree returns is about the command line.
type runError struct{ err error }

// WorkFailed is an error of the work of a verb that is not wrapped by Do.
func WorkFailed(err error) error { return &runError{err} }

func (e *runError) Error() string { return e.err.Error() }

func (e *runError) Unwrap() error { return e.err }

// statusError is an error with an exit code of its own. Without a text nothing is printed: the output has said it all.
type statusError struct {
	code int
	text string
}

// ExitWith is an error that ends the command with a code of its own, and with a text if there is one.
func ExitWith(code int, text string) error { return &statusError{code, text} }

func (e *statusError) Error() string { return e.text }

// ExitCode is the code of an error.
func ExitCode(err error) int {
	var (
		status *statusError
		usage  *arg.UsageError
		run    *runError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &run):
		if errors.Is(err, ErrInterrupted) {
			return ExitInterrupted
		}
		return ExitError
	}
	return ExitUsage
}

// cancelled is what Go says of a context that ended, behind what it interrupted.
var cancelled = regexp.MustCompile(`:?\s*context canceled`)

// Explain is an error as one line. What the library calls things gives way to what the user can do.
func Explain(err error) string {
	text := err.Error()
	var unique *store.UniqueError
	switch {
	case errors.Is(err, ErrInterrupted): // the user knows why
		text = cancelled.ReplaceAllString(text, "")
	case errors.As(err, &unique):
		text = strings.Replace(text, unique.Error(), fmt.Sprintf("rejected: job %s holds the unique key", unique.Holder), 1)
	case strings.Contains(text, "PostgreSQL at "): // the store says what to do
	case errors.Is(err, holdfast.ErrUnavailable):
		text += "; check --database and that the database is up"
	case errors.Is(err, holdfast.ErrReadOnly):
		text += "; run the command as a user who can write there"
	case errors.Is(err, holdfast.ErrFull):
		text += "; free some space and try again"
	case errors.Is(err, context.DeadlineExceeded):
		text += "; check --database and that the database is up"
	}
	for _, noise := range []string{"holdfast: ", "invalid request: "} {
		text = strings.ReplaceAll(text, noise, "")
	}
	return output.OneLine(output.WithoutPasswords(strings.Join(strings.Fields(text), " ")))
}
