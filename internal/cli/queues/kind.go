package queues

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) kindCommand() *cobra.Command {
	kind := app.Group("kind", "List kinds of jobs", "List the kinds of jobs, and which of them no node serves.", `  holdfast kind list`)
	kind.Aliases = []string{"kinds"}
	kind.AddCommand(a.kindListCommand())
	return kind
}

func (a verbs) kindListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List kinds of jobs",
		Long: `List the kinds of jobs of the namespace: those that live nodes serve, and those of jobs that are
available and that no live node claims. Kinds of other jobs are not known; "job list --kind" finds
their jobs.`,
		Example: `  holdfast kind list
  holdfast kind list --output json | jq -r '.[] | select(.unserved != []).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				nodes, err := client.Nodes(ctx)
				if err != nil {
					return err
				}
				unserved, err := client.Unserved(ctx)
				if err != nil {
					return err
				}
				now := a.Env.Now()
				kinds := views.KindsOf(client.Namespace(), nodes, unserved, now)
				for i := range kinds {
					if err := out.Add(kinds[i], func() []string { return views.KindRow(now, &kinds[i]) }); err != nil {
						return err
					}
				}
				if len(kinds) == 0 && out.Format == output.FormatTable {
					a.Notef("No kinds: no node is alive, and no job waits for one.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Kind{}, views.KindHeader...)
	return cmd
}
