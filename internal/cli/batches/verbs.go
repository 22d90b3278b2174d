package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// verbs has the verbs on batches.
type verbs struct{ *app.App }

// Command is the command on batches.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("batch", "Let jobs belong together, and enqueue others when all have ended",
		`Make, fill, close and show batches. Members of a batch are jobs like any other. When it is closed
and all of them have finished, the jobs are enqueued that it names for its end.`,
		`  holdfast batch create --name import --on-success report --on-failure alert
  holdfast batch list --undone`)
	cmd.Aliases = []string{"batches"}
	cmd.AddCommand(v.createCommand(), v.addCommand(), v.closeCommand(), v.listCommand(), v.getCommand(), v.cancelCommand())
	return cmd
}

// uses are the global flags of a verb whose output has ids.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// Names are the ids of the batches that were not called back and are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) (found []string, err error) {
	all, err := batch.List(ctx, client, store.BatchFilter{Undone: true, Limit: 100})
	given := map[string]bool{}
	for _, id := range args {
		given[id] = true
	}
	for i := range all {
		if id := all[i].ID.String(); !given[id] {
			found = append(found, id)
		}
	}
	return found, err
}

// explain says what to do about an error of the library about a batch.
func explain(client *holdfast.Client, id holdfast.ID, err error) error {
	closed, is := errors.AsType[*store.BatchClosedError](err)
	switch {
	case is && !closed.Missing:
		return fmt.Errorf("batch %s is closed: it takes no members", id)
	case errors.Is(err, holdfast.ErrNotFound):
		return fmt.Errorf("no such batch in namespace %q: %s; \"holdfast batch list\" lists the batches", client.Namespace(), id)
	}
	return arg.InvalidIsUsage(err)
}

// with opens the database for a verb on the batch that is its first argument.
func (a verbs) with(work func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error) func(*cobra.Command, []string) error {
	return a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
		id, err := arg.ParseBatchID(args[0])
		if err != nil {
			return err
		}
		return a.WithClient(ctx, func(client *holdfast.Client) error {
			if err := work(ctx, client, id); err != nil {
				return explain(client, id, err)
			}
			return nil
		})
	})
}

func (a verbs) closeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "close BATCH",
		Short: "Close a batch: it takes no further members",
		Long: `Close a batch: it takes no further members, and the jobs for its end are enqueued when those that it
has have finished; at once, if there is none. A batch that is closed stays so.`,
		Example:     `  holdfast batch close ` + arg.ExampleID,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.with(func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error {
			if err := batch.In(client, id).Close(ctx); err != nil {
				return err
			}
			b, err := batch.Get(ctx, client, id)
			if err != nil {
				return err
			}
			return a.Object(views.NewBatch(&b), func() { a.Printf("closed batch %s", id) })
		}),
	}
}

func (a verbs) getCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get BATCH",
		Short: "Show a batch",
		Long: `Show a batch: whether it takes members, how those have ended that are counted, and the jobs for its
end. Members are counted once it is closed. "job list --batch" lists them.`,
		Example: `  holdfast batch get ` + arg.ExampleID + `
  holdfast batch get ` + arg.ExampleID + ` --watch
  holdfast job list --batch ` + arg.ExampleID + ` --state failed`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseBatchID(args[0])
			if err != nil {
				return err
			}
			return a.ShowUntil(ctx, &watch, func(client *holdfast.Client) (ended bool, err error) {
				b, err := batch.Get(ctx, client, id)
				if err != nil {
					return false, explain(client, id, err)
				}
				return !b.DoneAt.IsZero(), a.Object(views.NewBatch(&b), func() { views.PrintBatch(&a.Printer, a.Env.Now(), &b) })
			})
		}),
	}
	watch.AddUntil(a.App, cmd, "the batch is done")
	return cmd
}

func (a verbs) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel BATCH",
		Short: "Close a batch and cancel its members",
		Long: `Close a batch and cancel its members that have not finished; those that run are asked to stop. The
jobs for its end are enqueued when all of them have ended.`,
		Example:     `  holdfast batch cancel ` + arg.ExampleID + ` --reason "wrong file"`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.with(func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error {
			n, err := batch.In(client, id).Cancel(ctx, reason)
			if err != nil {
				return err
			}
			v := views.CancelledBatch{Namespace: client.Namespace(), Batch: id.String(), Asked: n}
			return a.Object(v, func() { a.Printf("closed batch %s; asked %d of its members to stop", id, n) })
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	return cmd
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	var undone bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List batches",
		Long: `List the batches of the namespace, the newest first: whether they are open, closed or done, and how
members have ended that were counted.`,
		Example: `  holdfast batch list --undone
  holdfast batch list --output json | jq -r '.[] | select(.failed > 0).id'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 1 {
				return arg.Usagef("--limit must be at least 1")
			}
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				found, err := batch.List(ctx, client, store.BatchFilter{Undone: undone, Limit: limit})
				if err != nil {
					return out.BreakOff(err)
				}
				for i := range found {
					b := &found[i]
					if err := out.Add(views.NewBatch(b), func() []string { return views.BatchRow(a.Env.Now(), b) }); err != nil {
						return err
					}
				}
				if len(found) == 0 && out.Format == output.FormatTable {
					a.Notef("No batches; \"holdfast batch create\" makes one.")
				}
				return out.End()
			})
		}),
	}
	cmd.Flags().BoolVar(&undone, "undone", false, "only batches that are open, or closed with members that have not finished")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most `N` batches")
	columns.Add(cmd, views.Batch{}, views.BatchHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

func item(kind string, args json.RawMessage) holdfast.BatchItem {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](kind).Item(args)
}
