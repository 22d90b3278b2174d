package limits

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

// Command is the command on limits.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("limit", "Bound how many jobs run at once, or start in a time, over all nodes",
		`Set, show and delete limits. A limit bounds how many jobs of some queues and kinds run at once, or
start in a time, over all nodes. "queue set" sets the limit of one queue.`,
		`  holdfast limit set slack --capacity 5 --kind notify --kind report
  holdfast limit list`)
	cmd.Aliases = []string{"limits"}
	cmd.AddCommand(v.setCommand(), v.listCommand(), v.getCommand(), v.drainCommand(), v.resumeCommand(),
		v.resetCommand(), v.deleteCommand())
	return cmd
}

// Names are the names of the limits that are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) (found []string, err error) {
	all, err := limit.List(ctx, client)
	given := map[string]bool{}
	for _, name := range args {
		given[name] = true
	}
	for i := range all {
		if !given[all[i].Name] {
			found = append(found, all[i].Name)
		}
	}
	return found, err
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List limits",
		Long: `List the limits of the namespace, by name: how many slots each has and how many of them nodes hold,
its rate, which jobs count, when a node last asked for more slots than it got, and whether it
differs from what code declares. A node may hold slots that it does not use at the moment.`,
		Example: `  holdfast limit list
  holdfast limit list --output json | jq -r '.[] | select(.held == .capacity).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				limits, err := limit.List(ctx, client)
				if err != nil {
					return out.BreakOff(err)
				}
				for i := range limits {
					l := &limits[i]
					if err := out.Add(views.NewLimit(l), func() []string { return views.LimitRow(a.Env.Now(), l) }); err != nil {
						return err
					}
				}
				if len(limits) == 0 && out.Format == output.FormatTable {
					a.Notef("No limits; \"holdfast limit set\" makes one, and programs may declare some.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Limit{}, views.LimitHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

func (a verbs) getCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get LIMIT",
		Short: "Show a limit",
		Long: `Show a limit: how many slots it has, its rate and when the next job may start by it, which jobs
count and for how much, which nodes hold slots, when one last asked for more than it got, and what
differs from what code declares. Nodes hold no slots of a limit per key: "job why" of a job that
waits says what runs of its key.`,
		Example: `  holdfast limit get slack
  holdfast limit get slack --output json | jq .held`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Show(ctx, &watch, func(client *holdfast.Client) error {
				l, err := limit.Get(ctx, client, args[0])
				if err != nil {
					return explain(client, args[0], err)
				}
				return a.show(&l)
			})
		}),
	}
	watch.Add(a.App, cmd)
	return cmd
}
