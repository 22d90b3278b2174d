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
	ExitError       = 1 // also: the awaited job failed or was cancelled
	ExitTimeout     = 2 // the awaited job did not finish in time
	ExitUsage       = 64
	ExitInterrupted = 130
)

// ErrInterrupted is the cause with which a command's context ends when the user presses Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// runError is an error of a command's work. All other errors of the command tree are about the
// command line.
type runError struct{ err error }

// WorkFailed marks an error of the work of a verb that is not wrapped by Do.
func WorkFailed(err error) error { return &runError{err} }

func (e *runError) Error() string { return e.err.Error() }

func (e *runError) Unwrap() error { return e.err }

// statusError is an error with an exit code of its own. Without a text nothing is printed, because
// the output has said everything.
type statusError struct {
	code int
	text string
}

// ExitWith returns an error that ends the command with an exit code, and with a text unless that is
// empty.
func ExitWith(code int, text string) error { return &statusError{code, text} }

func (e *statusError) Error() string { return e.text }

// ExitCode returns the exit code for an error.
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

// cancelled is the text of a cancelled context at the end of an error.
var cancelled = regexp.MustCompile(`:?\s*context canceled`)

// ofServer is how package remote names a server in what it says.
var ofServer = regexp.MustCompile(`\bserver https?://`)

// Explain formats an error as one line. It replaces terms of the library by what the user can do.
func Explain(err error) string {
	text := err.Error()
	var unique *store.UniqueError
	_, isCodec := errors.AsType[*store.EncodeError](err)
	switch {
	case errors.Is(err, ErrInterrupted): // the user knows why
		text = cancelled.ReplaceAllString(text, "")
	case errors.As(err, &unique):
		text = strings.Replace(text, unique.Error(), fmt.Sprintf("rejected: job %s holds the unique key", unique.Holder), 1)
	case isCodec, strings.Contains(text, "PostgreSQL at "): // it is no matter of the database, or the store says what to do
	case ofServer.MatchString(text) && strings.Contains(text, "signed by unknown authority"):
		text += "; if it should be trusted, name the file with its authority with --tls-ca"
	case ofServer.MatchString(text) && strings.Contains(text, "HTTP response to HTTPS client"):
		text += "; it does not speak TLS: use http:// if that is meant"
	case strings.Contains(text, "server http://") && strings.Contains(text, "400 Bad Request"):
		text += "; if it speaks TLS, use https://"
	case ofServer.MatchString(text) && strings.Contains(text, "wants a token, and none was given"):
		text += "; it is taken from $" + EnvToken + ", or from the file that --token-file names"
	case ofServer.MatchString(text) && errors.Is(err, holdfast.ErrUnavailable):
		text += "; check --server and that the server is up"
	case ofServer.MatchString(text): // the server says what to do
	case errors.Is(err, holdfast.ErrUnavailable):
		text += "; check --database and that the database is up"
	case errors.Is(err, holdfast.ErrReadOnly):
		text += "; run the command as a user who can write there"
	case errors.Is(err, holdfast.ErrFull):
		text += "; free some space and try again"
	case errors.Is(err, context.DeadlineExceeded):
		text += "; check --database and that the database is up"
	}
	for _, noise := range []string{holdfast.ErrConflict.Error() + ": ", "holdfast: ", "invalid request: "} {
		text = strings.ReplaceAll(text, noise, "")
	}
	return output.OneLine(output.WithoutPasswords(strings.Join(strings.Fields(text), " ")))
}
