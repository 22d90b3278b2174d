package arg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

// UsageError is a mistake on the command line.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Usage marks an error as a mistake on the command line.
func Usage(err error) error { return &UsageError{err} }

// Usagef returns a formatted usage error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// SettingsError is a mistake in what flags say together, or in what one of them says.
type SettingsError struct {
	Flags []string // by name; the first one is that which is to be changed
	err   error
}

func (e *SettingsError) Error() string { return e.err.Error() }

func (e *SettingsError) Unwrap() error { return e.err }

// About says of an error, or nil, of which flags it is.
func About(err error, flags ...string) error {
	if err == nil {
		return nil
	}
	return &SettingsError{flags, err}
}

// InvalidIsUsage turns ErrInvalid of the library into a usage error, where only the command line
// can have caused it.
func InvalidIsUsage(err error) error {
	if errors.Is(err, holdfast.ErrInvalid) && !errors.Is(err, holdfast.ErrPermission) {
		return Usage(err)
	}
	return err
}

// Takes checks the number of arguments of a verb: at least least, and at most atMost unless that is
// negative. Messages name them as the verb's Use does.
func Takes(least, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (atMost < 0 || len(args) <= atMost) {
			return nil
		}
		_, wanted, _ := strings.Cut(cmd.Use, " ")
		if wanted == "" {
			wanted = "none"
		}
		if len(args) < least {
			return Usagef("missing argument: %s takes %s", Verb(cmd), wanted)
		}
		return Usagef("too many arguments: %s takes %s, got %d", Verb(cmd), wanted, len(args))
	}
}

// Verb names a verb in a message that begins with the name of the program.
func Verb(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}
