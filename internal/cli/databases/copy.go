package databases

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func (a verbs) copyCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copy all jobs into another database",
		Long: `Copy the jobs of all namespaces into another database, such as from a SQLite file to PostgreSQL: all
states, journals, messages, attempts, results and keys, with their ids, the settings of queues,
limits, and schedules with their runs.

The target needs the schema ("holdfast migrate up"), and no jobs, limits or schedules. Stop all
programs that use the two databases first: a node that lives in one of them is refused. Jobs of
nodes that were killed are given back in the source; nothing else is changed there.

A copy that was interrupted goes on when the same command is run again. At the end the jobs of both
databases are counted by their state and compared, and their limits and schedules.`,
		Example: `  holdfast migrate up --database postgres://localhost/app
  holdfast copy --from holdfast.db --to postgres://localhost/app`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"from", "to"} {
				if !cmd.Flags().Changed(flag) {
					return arg.Usagef("--%s is missing; name a database", flag)
				}
			}
			return a.between(ctx, from, to, func(source, target store.Source, s, t store.Store) error {
				return a.copy(ctx, source, target, s, t)
			})
		}),
	}
	cmd.Flags().StringVar(&from, "from", "", "the `DATABASE` to copy")
	cmd.Flags().StringVar(&to, "to", "", "the `DATABASE` to copy into")
	return cmd
}

// between opens two databases, neither of which is made or migrated.
func (a verbs) between(
	ctx context.Context, from, to string, work func(source, target store.Source, s, t store.Store) error,
) error {
	source, err := a.SourceOf(from, dsn.NoMigrate())
	if err != nil {
		return err
	}
	target, err := a.SourceOf(to, dsn.NoMigrate())
	if err != nil {
		return err
	}
	s, err := open(ctx, source)
	if err != nil {
		return err
	}
	t, err := open(ctx, target)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(work(source, target, s, t), t.Close(), s.Close())
}

func open(ctx context.Context, source store.Source) (store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, app.OpenTimeout)
	defer cancel()
	schema, err := source.Schema(ctx)
	if err == nil {
		err = schema.CheckSame() // what this program does not know it would not copy
	}
	if err != nil {
		return nil, app.SchemaError(ctx, source, err)
	}
	s, err := source.Open(ctx)
	if errors.Is(err, holdfast.ErrSchema) {
		return nil, app.SchemaError(ctx, source, err)
	}
	return s, err
}

func (a verbs) copy(ctx context.Context, source, target store.Source, s, t store.Store) error {
	var bar *app.Progress
	defer func() {
		if bar != nil {
			bar.Close()
		}
	}()
	report, err := copier.Copy(ctx, s, t, func(done, total int64) {
		if bar == nil {
			a.Notef("Copying %d jobs from %s to %s", total, source, target)
			bar = a.NewCount(int(total), "copying")
		}
		bar.Done(int(done))
	})
	if err != nil && report.Source == nil {
		return err
	}
	if bar != nil {
		bar.Clear()
	}
	view := views.NewCopied(source, target, report.Source, report.Target)
	view.Schedules, view.Limits = report.Schedules.Schedules, report.Limits
	if printErr := a.Object(view, func() { a.printCopied(view) }); printErr != nil || err != nil {
		return errors.Join(err, printErr)
	}
	if report.Before {
		a.Notef("Everything was copied before.")
	}
	if n := report.Limits; n > 0 {
		a.Notef("Limits: %d.", n)
	}
	if n := report.Schedules.Schedules; n > 0 {
		a.Notef("Schedules: %d.", n)
	}
	a.Notef("The copy is complete. Start nodes on %s, and none on %s any more.", target, source)
	return nil
}

func (a verbs) printCopied(view views.Copied) {
	table := a.NewTable(2)
	table.Add("STATE", "SOURCE", "TARGET")
	for _, c := range view.States {
		table.Add(c.State, strconv.FormatInt(c.Source, 10), strconv.FormatInt(c.Target, 10))
	}
	table.Add("all", strconv.FormatInt(view.Source, 10), strconv.FormatInt(view.Target, 10))
	table.Flush()
}
