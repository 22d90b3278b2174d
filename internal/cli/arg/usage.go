package arg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

// UsageError is a command line that cannot be right. hint says where to read on.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Usage is the error of a command line that cannot be right.
func Usage(err error) error { return &UsageError{err} }

// Usagef is such an error in words.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// InvalidIsUsage makes a usage error of what the library calls invalid where the only source of it is the command line.
func InvalidIsUsage(err error) error {
	if errors.Is(err, holdfast.ErrInvalid) && !errors.Is(err, holdfast.ErrPermission) {
		return Usage(err)
	}
	return err
}

// Takes checks how many arguments a verb was given: at least so many, and at most so many unless that is negative. The words for them are
// those of its Use.
func Takes(least, atMost int) cobra.PositionalArgs {
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
			return Usagef("missing argument: %s takes %s", path, wanted)
		}
		return Usagef("too many arguments: %s takes %s, got %d", path, wanted, len(args))
	}
}
