package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

// The exit codes. They are an interface: docs/cli.md.
const (
	exitOK          = 0
	exitError       = 1 // also: the job that was waited for failed or was cancelled
	exitTimeout     = 2 // the job that was waited for did not finish in time
	exitUsage       = 64
	exitInterrupted = 130
)

// errInterrupted is the cause with which a command's context ends when the user presses Ctrl-C.
var errInterrupted = errors.New("interrupted")

// usageError is a command line that cannot be right. hint says where to read on.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// invalidIsUsage makes a usage error of what the library calls invalid where the only source of it is the command line.
func invalidIsUsage(err error) error {
	if errors.Is(err, holdfast.ErrInvalid) && !errors.Is(err, holdfast.ErrPermission) {
		return &usageError{err}
	}
	return err
}

// runError is an error of a command's own work. Whatever else the command tree returns is about the command line.
type runError struct{ err error }

func (e *runError) Error() string { return e.err.Error() }

func (e *runError) Unwrap() error { return e.err }

// statusError is an error with an exit code of its own. Without a text nothing is printed: the output has said it all.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// exitCode is the code of an error.
func exitCode(err error) int {
	var (
		status *statusError
		usage  *usageError
		run    *runError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &run):
		if errors.Is(err, errInterrupted) {
			return exitInterrupted
		}
		return exitError
	}
	return exitUsage
}

// cancelled is what Go says of a context that ended, behind what it interrupted.
var cancelled = regexp.MustCompile(`:?\s*context canceled`)

// explain is an error as one line. What the library calls things gives way to what the user can do.
func explain(err error) string {
	text := err.Error()
	var unique *holdfast.UniqueError
	switch {
	case errors.Is(err, errInterrupted): // the user knows why
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
	return oneLine(withoutPasswords(strings.Join(strings.Fields(text), " ")))
}

// takes checks how many arguments a verb was given: at least so many, and at most so many unless that is negative. The words for them are
// those of its Use.
func takes(least, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (atMost < 0 || len(args) <= atMost) {
			return nil
		}
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		_, wanted, _ := strings.Cut(cmd.Use, " ")
		if wanted == "" {
			wanted = "none"
		}
		if len(args) < least {
			return usagef("missing argument: %s takes %s", path, wanted)
		}
		return usagef("too many arguments: %s takes %s, got %d", path, wanted, len(args))
	}
}
