package queues

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) stuckCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "stuck [QUEUE...]",
		Short: "List the ordering keys that a failed job holds up",
		Long: `List the ordering keys of queues, or of all queues of the namespace, whose turn is kept by a job
that has failed (--keep-turn): since when, which job it is, and how many available jobs wait behind
it. Counting stops at 1000, shown as 1000+. "job retry", "job skip" and "job delete" let the others
go on. Jobs that are held because one that they come after has failed are not among them. If one of
the queues does not exist, nothing is listed.`,
		Example: `  holdfast queue stuck
  holdfast queue stuck orders --output json | jq -r '.[].job'`,
		Args:        arg.Takes(0, -1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				known, err := Names(ctx, client, nil)
				if err != nil {
					return err
				}
				for _, name := range names {
					if !slices.Contains(known, name) {
						return app.NoQueue(client, name)
					}
				}
				of := names
				if len(names) == 0 {
					of = known
				}
				found := 0
				for _, name := range of {
					n, err := a.listStuck(ctx, client, out, name)
					if found += n; err != nil {
						return errors.Join(err, out.End())
					}
				}
				if found == 0 && out.Format == output.FormatTable {
					a.Notef("No ordering key is stuck.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.StuckKey{}, views.StuckHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

// listStuck lists the stuck keys of one queue, and returns how many there are.
func (a verbs) listStuck(ctx context.Context, client *holdfast.Client, out *output.List, queue string) (n int, err error) {
	for params := (store.StuckKeysParams{Queue: queue}); ; {
		page, err := after.Stuck(ctx, client, params)
		if err != nil {
			return n, err
		}
		for i := range page.Keys {
			k := &page.Keys[i]
			err := out.Add(views.NewStuckKey(client.Namespace(), queue, k), func() []string { return views.StuckRow(a.Env.Now(), queue, k) })
			if err != nil {
				return n, err
			}
		}
		n += len(page.Keys)
		if params.After = page.Next; page.Next == "" {
			return n, nil
		}
	}
}
