package retentions

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/retention"
)

func (a verbs) removedCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var queue string
	limit := 100
	cmd := &cobra.Command{
		Use:   "removed",
		Short: "Show how many jobs retention has removed",
		Long: `Show how many finished jobs of the namespace retention has removed, by day (UTC), queue and state,
the latest days first. It is kept for 90 days. What people delete is not counted.`,
		Example: `  holdfast retention removed
  holdfast retention removed --queue mail --limit 30 --output json | jq 'map(.jobs) | add'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return arg.Usagef("--limit is %d; it is 1 to 1000", limit)
			}
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				removed, err := retention.Removed(ctx, client, queue, limit)
				if err != nil {
					return out.BreakOff(err)
				}
				for i := range removed {
					r := &removed[i]
					if err := out.Add(views.NewRemoved(r), func() []string { return views.RemovedRow(r) }); err != nil {
						return err
					}
				}
				if len(removed) == 0 && out.Format == output.FormatTable {
					a.Notef("Retention has removed nothing in the last 90 days.")
				}
				return out.End()
			})
		}),
	}
	cmd.Flags().StringVar(&queue, "queue", "", "only jobs of `QUEUE`")
	cmd.Flags().IntVar(&limit, "limit", limit, "show at most `N` rows, 1 to 1000")
	columns.Add(cmd, views.Removed{}, views.RemovedHeader...)
	return cmd
}
