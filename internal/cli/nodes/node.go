package nodes

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// Commands are the commands that run nodes, and the one that lists them.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	return []*cobra.Command{v.devCommand(), v.workerCommand(), v.nodeCommand()}
}

func (a verbs) nodeCommand() *cobra.Command {
	node := app.Group("node", "List nodes", "List the nodes that run jobs.", `  holdfast node list`)
	node.Aliases = []string{"nodes"}
	node.AddCommand(a.nodeListCommand())
	return node
}

func (a verbs) nodeListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List nodes",
		Long: `List the nodes of all namespaces: those that are alive, and those that ended within the last day.
The leader does the maintenance.`,
		Example: `  holdfast node list
  holdfast node list --output json | jq '.[] | select(.alive).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet)),
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
				for i := range nodes {
					n := &nodes[i]
					if err := out.Add(views.NewNode(n, a.Env.Now()), func() []string { return views.NodeRow(a.Env.Now(), n) }); err != nil {
						return err
					}
				}
				if len(nodes) == 0 && out.Format == output.FormatTable {
					a.Notef("No nodes; start one with \"holdfast worker\".")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Node{}, views.NodeHeader...)
	return cmd
}
