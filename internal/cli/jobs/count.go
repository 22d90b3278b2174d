package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) jobCountCommand() *cobra.Command {
	var f filterFlags
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "count",
		Short: "Count jobs",
		Long: `Count the jobs that the filters of "job list" select. Counting stops at 10,000, which is shown as
10000+.`,
		Example: `  holdfast job count --state failed --since 24h
  holdfast job count --queue mail --state available --output json | jq .jobs`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if _, err := f.parse(a.Env.Now()); err != nil {
				return err
			}
			return a.Show(ctx, &watch, func(client *holdfast.Client) error {
				filter, err := f.parse(a.Env.Now()) // each time, so that "24h ago" moves on
				if err != nil {
					return err
				}
				count, err := client.Count(ctx, filter)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.NewCount(count), func() { a.Printf("%s", views.CountText(count)) })
			})
		}),
	}
	f.add(cmd)
	watch.Add(a.App, cmd)
	return cmd
}
