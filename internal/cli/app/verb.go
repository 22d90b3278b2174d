package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// UsesKey is the annotation that lists the global flags that a verb uses.
const UsesKey = "uses"

// Uses lists the global flags that a verb uses. It accepts the others too, so that they may be part
// of an alias, but its help does not show them.
func Uses(flags ...string) map[string]string {
	return map[string]string{UsesKey: strings.Join(flags, " ")}
}

// idsKey is the annotation of a verb whose output has ids.
const idsKey = "ids"

// PrintsIDs notes that a verb can print only the ids of what it is about: with --output id or name,
// and with --quiet alone.
func PrintsIDs(annotations map[string]string) map[string]string {
	annotations[idsKey] = "yes"
	return annotations
}

// namespacesKey is the annotation of a verb that works in several namespaces at once.
const namespacesKey = "namespaces"

// ManyNamespaces notes that --namespace of a verb may be a list.
func ManyNamespaces(annotations map[string]string) map[string]string {
	annotations[namespacesKey] = "many"
	return annotations
}

// TakesNamespaces reports whether --namespace of a verb may be a list, as for nodes.
func TakesNamespaces(cmd *cobra.Command) bool { return cmd.Annotations[namespacesKey] != "" }

// readsKey is the annotation of a verb with variables that no flag has.
const readsKey = "reads"

// Reads notes variables that a verb reads beside those of its flags, such as one with a secret,
// which would be seen on a command line.
func Reads(annotations map[string]string, variables ...string) map[string]string {
	annotations[readsKey] = strings.Join(variables, " ")
	return annotations
}

// UsesFlag reports whether a verb uses a global flag.
func UsesFlag(cmd *cobra.Command, flag string) bool {
	if flag == FlagCodecKeys || flag == FlagRedact { // those of each verb that opens a client
		if UsesFlag(cmd, FlagDatabase) && UsesFlag(cmd, FlagNamespace) {
			return true
		}
	}
	if flag == FlagServer || flag == FlagTokenFile || flag == FlagTLSCA {
		return UsesFlag(cmd, FlagDatabase) && WhyDatabase(cmd) == ""
	}
	switch flag {
	case FlagContext:
		return UsesFlag(cmd, FlagDatabase)
	case FlagYes:
		return Changes(cmd)
	}
	return slices.Contains(strings.Fields(cmd.Annotations[UsesKey]), flag)
}

// isGlobalUnused reports whether a flag is a global one that a verb does not use.
func isGlobalUnused(cmd *cobra.Command, flag string) bool {
	switch flag {
	case FlagDatabase, FlagContext, FlagServer, FlagTokenFile, FlagTLSCA, FlagNamespace, FlagOutput, FlagQuiet, FlagCodecKeys, FlagRedact:
		return !cmd.HasSubCommands() && !UsesFlag(cmd, flag)
	}
	return false
}

// Group is a command that only has subcommands.
func Group(use, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if strings.Contains(args[0], "://") || strings.Contains(args[0], "=") {
				text = fmt.Sprintf("unknown command for %q; name a database with --database, or a server with --server", cmd.CommandPath())
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				slices.SortStableFunc(near, func(x, y string) int { // those with the same prefix first
					return cmp.Compare(strings.Index(y[:1], args[0][:1]), strings.Index(x[:1], args[0][:1]))
				})
				text += "; did you mean " + output.Or(near) + "?"
			}
			return arg.Usagef("%s", text)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// Do makes a RunE of a command's work: its context ends at Ctrl-C, and its errors are told from
// those of the command line.
func (a *App) Do(work func(ctx context.Context, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := a.Interruptible(cmd.Context())
		defer stop()
		args, err := a.withIDs(ctx, cmd, args)
		if err == nil {
			err = work(ctx, cmd, args)
		}
		if a.kept != nil { // the work has not used it
			err = errors.Join(err, CloseClient(ctx, a.kept))
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrInterrupted) {
			err = fmt.Errorf("%w: %w", ErrInterrupted, err)
		}
		return WorkFailed(err)
	}
}

// databaseKey is the annotation of a verb that needs the database itself: why.
const databaseKey = "needs-database"

// NeedsDatabase notes that a verb needs the database itself, and cannot do with a server of it.
func NeedsDatabase(annotations map[string]string, why string) map[string]string {
	annotations[databaseKey] = why
	return annotations
}

// WhyDatabase is why a verb needs the database itself; "": a server does, too.
func WhyDatabase(cmd *cobra.Command) string { return cmd.Annotations[databaseKey] }

// reads are the verbs of groups that change nothing in a database. All others do, or may.
var reads = map[string][]string{
	"job":       {"list", "count", "get", "why", "wait", "journal", "logs", "published", "stream"},
	"queue":     {"list", "get", "stuck"},
	"kind":      {"list", "get"},
	"schedule":  {"list", "get", "next", "runs"},
	"limit":     {"list", "get"},
	"retention": {"list", "get", "removed"},
	"audit":     {"list"},
	"attribute": {"list"},
	"key":       {"list"},
	"namespace": {"list", "get"},
	"batch":     {"list", "get"},
	"operation": {"list", "get", "follow"},
	"dead":      {"list", "get", "export"},
	"stats":     {"jobs", "nodes", "database"},
	"event":     {"status", "list"},
	"node":      {"list"},
	"endpoint":  {"list", "get"},
	"webhook":   {"list", "get", "deliveries"},
	"migrate":   {"status", "sql"},
	"":          {"backup", "health", "doctor"},
}

// Changes reports whether a verb changes something in a database, or may.
func Changes(cmd *cobra.Command) bool {
	if cmd.HasSubCommands() || !UsesFlag(cmd, FlagDatabase) {
		return false
	}
	group := ""
	if cmd.HasParent() && cmd.Parent().HasParent() {
		group = cmd.Parent().Name()
	}
	return !slices.Contains(reads[group], cmd.Name())
}

// changesNow is Changes for the flags that were given.
func changesNow(cmd *cobra.Command) bool {
	writes := cmd.Flags().Lookup(FlagAllowWrites)
	return Changes(cmd) && !isTrue(cmd.Flags().Lookup(FlagDryRun)) && (writes == nil || isTrue(writes))
}

func isTrue(f *pflag.Flag) bool {
	return f != nil && f.Value.Type() == "bool" && f.Value.String() == "true"
}

// ownPlaceKey is the annotation of a verb that goes to no context unless one is named.
const ownPlaceKey = "own-place"

// OwnPlace notes that a verb goes to the current context only if that is named: what runs for long
// is not to depend on what a person uses for other commands.
func OwnPlace(annotations map[string]string) map[string]string {
	annotations[ownPlaceKey] = "yes"
	return annotations
}
