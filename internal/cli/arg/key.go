package arg

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// byKey is the annotation of a verb whose first ID can be a business key instead.
const byKey = "by key"

// JobKey is the business key that names a job on the command line, with its kind.
type JobKey struct{ Kind, Key string }

// ByKey lets a verb, which calls its first argument an ID, take the flags --kind and --key instead
// of it. It is called after the other settings of the verb.
func ByKey(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().String("kind", "", "instead of ID, with --key: the `KIND` of the job")
	cmd.Flags().String("key", "", "instead of ID, with --kind: the business `KEY` of the job")
	cmd.Annotations[byKey] = "yes"
	takes := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := takes(cmd, args)
		if err != nil && byKeyFlags(cmd) {
			err = takes(cmd, withID(args))
		}
		return err // that there are too many with the flags is told by KeyOf, after what else may be wrong
	}
	return cmd
}

// byKeyFlags reports whether one of the flags was given.
func byKeyFlags(cmd *cobra.Command) bool {
	return cmd.Annotations[byKey] != "" && (cmd.Flags().Changed("kind") || cmd.Flags().Changed("key"))
}

// withID returns the arguments with one before them in place of the ID.
func withID(args []string) []string { return slices.Insert(slices.Clone(args), 0, ExampleID) }

// KeyOf returns the business key that names a job instead of the ID, if one was given. It checks
// that the arguments are those without the ID.
func KeyOf(cmd *cobra.Command, args []string) (key JobKey, given bool, err error) {
	if !byKeyFlags(cmd) {
		return key, false, nil
	}
	flags := cmd.Flags()
	switch {
	case !flags.Changed("kind"):
		return key, false, Usagef("--key requires --kind")
	case !flags.Changed("key"):
		return key, false, Usagef("--kind requires --key")
	}
	many := strings.HasSuffix(cmd.Use, " ID...")
	if len(args) > 0 && (many || cmd.ValidateArgs(withID(args)) != nil || isWhole(args[0])) {
		return key, false, Usagef("an ID and --kind with --key cannot be used together")
	}
	return JobKey{flags.Lookup("kind").Value.String(), flags.Lookup("key").Value.String()}, true, nil
}

func isWhole(text string) bool {
	_, err := ParseID(text)
	return err == nil
}
