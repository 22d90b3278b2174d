package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) nodeCommand() *cobra.Command {
	node := group("node", "List nodes", "List the nodes that run jobs.", `  holdfast node list`)
	node.Aliases = []string{"nodes"}
	node.AddCommand(a.nodeListCommand())
	return node
}

func (a *app) nodeListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List nodes",
		Long: `List the nodes of all namespaces: those that are alive, and those that ended within the last day.
The leader does the maintenance.`,
		Example: `  holdfast node list
  holdfast node list --output json | jq '.[] | select(.alive).name'`,
		Args:        takes(0, 0),
		Annotations: uses(flagDatabase, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.withClient(ctx, func(client *holdfast.Client) error {
				nodes, err := client.Nodes(ctx)
				if err != nil {
					return err
				}
				out := a.newList("NODE", "NAME", "STATUS", "RUNNING", "QUEUES", "KINDS", "STARTED", "BEAT")
				for i := range nodes {
					n := &nodes[i]
					if err := out.add(viewNode(n, a.env.Now()), func() []string { return a.nodeRow(n) }); err != nil {
						return err
					}
				}
				if len(nodes) == 0 && out.format == formatTable {
					a.notef("No nodes; start one with \"holdfast worker\".")
				}
				return out.end()
			})
		}),
	}
}

// silentAfter is when a node is said to be silent that nobody has declared dead: nobody may be left to do so.
const silentAfter = 30 * time.Second

// isSilent reports whether a node should have been declared dead by now, and nobody may be left to do so.
func isSilent(n *holdfast.NodeInfo, now time.Time) bool {
	after := silentAfter
	if dead := n.Info.DeadAfter; dead > 0 {
		after = dead + dead/2
	}
	return n.DeadAt.IsZero() && now.Sub(n.BeatAt) > after
}

func (a *app) nodeRow(n *holdfast.NodeInfo) []string {
	now := a.env.Now()
	status := "alive"
	switch {
	case !n.DeadAt.IsZero():
		status = "ended " + ago(now, n.DeadAt)
	case isSilent(n, now):
		status = "silent " + ago(now, n.BeatAt)
	case n.Leader:
		status = "alive, leader"
	}
	queues := "all"
	if len(n.Info.Queues) > 0 {
		queues = strings.Join(sorted(n.Info.Queues), ",")
	}
	return []string{
		strconv.FormatInt(n.ID, 10), clip(n.Info.Name, maxName), status, fmt.Sprintf("%d/%d", n.Running, n.Info.Slots),
		clip(queues, 40), clip(strings.Join(sorted(n.Info.Kinds), ","), 40), ago(now, n.StartedAt), ago(now, n.BeatAt),
	}
}
