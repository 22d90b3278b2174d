package databases

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// ResetCommand is "migrate reset", which looks whether a node lives in the database.
func ResetCommand(a *app.App) *cobra.Command { return verbs{a}.resetCommand() }

func (a verbs) resetCommand() *cobra.Command {
	var confirm app.Confirmation
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Delete all jobs of all namespaces, and create the schema again",
		Long: `Delete everything that Holdfast has in the database: the jobs, schedules, queues, nodes and
keys of all namespaces, and their tables. Then create the schema again, empty. All of it happens in
one transaction, or nothing. Other tables in the database stay.

You are asked to type the word reset; scripts use --yes. Stop all programs that use the database
first: a node that lives in it is refused.`,
		Example: `  holdfast migrate reset
  holdfast migrate reset --database /tmp/try.db --yes`,
		Args:        arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase, app.FlagOutput), "it makes the tables of the database again"),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			source, err := a.Source(dsn.NoMigrate())
			if err != nil {
				return err
			}
			database, ok := source.(store.Resets)
			if !ok {
				return arg.Usagef("%s cannot be reset", source)
			}
			return a.reset(ctx, source, database, &confirm)
		}),
	}
	confirm.Add(cmd, "before everything is deleted")
	return cmd
}

func (a verbs) reset(ctx context.Context, source store.Source, database store.Resets, confirm *app.Confirmation) error {
	schema, err := source.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Version == 0 || schema.Version > schema.Latest {
		return app.SchemaError(ctx, source, store.ErrSchema)
	}
	if schema.Version == schema.Latest {
		if err := isQuiet(ctx, source); err != nil {
			return err
		}
	}
	if err := a.Confirm(ctx, confirm, fmt.Sprintf("this deletes all jobs of all namespaces in %s", source), "reset"); err != nil {
		return err
	}
	after, err := database.Reset(ctx)
	if err != nil {
		return err
	}
	return a.Object(views.NewSchema(source, after), func() { a.Printf("reset %s: schema version %d, no jobs", source, after.Version) })
}

// isQuiet refuses a database in which a node lives, and declares dead those that were killed, as
// the next node would.
func isQuiet(ctx context.Context, source store.Source) error {
	s, err := open(ctx, source)
	if err != nil {
		return err
	}
	return errors.Join(copier.Quiet(ctx, s, "database"), s.Close())
}
