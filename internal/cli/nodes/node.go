package nodes

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// Commands are the commands that run nodes, and the one that lists them.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	return []*cobra.Command{v.devCommand(), v.workerCommand(), v.serverCommand(), v.nodeCommand(), v.maintainCommand()}
}

func (a verbs) nodeCommand() *cobra.Command {
	node := app.Group("node", "List, quiet, drain and resume nodes",
		"List the nodes that run jobs, make them quiet, drain them, and let them go on.", `  holdfast node list
  holdfast node quiet 7`)
	node.Aliases = []string{"nodes"}
	node.AddCommand(a.nodeListCommand(),
		a.askCommand("quiet", "Let nodes claim no more jobs", quietHelp, store.NodeQuiet),
		a.askCommand("drain", "Let nodes end their jobs and stop", drainHelp, store.NodeDrains),
		a.askCommand("resume", "Let quiet nodes claim jobs again", resumeHelp, store.NodeRuns))
	return node
}

const (
	quietHelp = `Make nodes quiet: they claim no more jobs, give back those that they have not started, and go on
with those that run, until "node resume". A NODE is the number of a node, or its name. The wish ends
with the node: a process that starts again is not quiet.`
	drainHelp = `Drain nodes: they claim no more jobs, wait for running jobs as long as their stop timeout, and stop.
A NODE is the number of a node, or its name. That is final: a process that is to serve jobs again
has to be started again. Where jobs take longer than the stop timeout, use "node quiet" first, and
drain the node when it runs none any more.`
	resumeHelp = `Let quiet nodes claim jobs again. A NODE is the number of a node, or its name. A node that is
draining stops all the same, which is an error.`
)

func (a verbs) nodeListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List nodes",
		Long: `List the nodes of all namespaces: those that are alive, and those that ended within the last day.
The leader does the maintenance.`,
		Example: `  holdfast node list
  holdfast node list --watch
  holdfast node list --output json | jq '.[] | select(.alive).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
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
	watch.Add(a.App, cmd)
	return cmd
}
