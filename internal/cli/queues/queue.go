package queues

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// Names are the names of the queues that are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	queues, err := client.Queues(ctx)
	var found []string
	for i := range queues {
		if name := queues[i].Name; !slices.Contains(args, name) {
			found = append(found, name)
		}
	}
	return found, err
}

// Commands are the commands on queues and on kinds. More are further commands on queues.
func Commands(a *app.App, more ...*cobra.Command) []*cobra.Command {
	v := verbs{a}
	queue := app.Group("queue", "List, pause, drain and delete queues", "List, show, pause, resume, rest, drain and delete queues.",
		`  holdfast queue list
  holdfast queue pause mail`)
	queue.Aliases = []string{"queues"}
	queue.AddCommand(v.queueListCommand(), v.queueGetCommand(),
		v.pauseCommand("pause", "Pause queues",
			"Pause queues on all nodes: no job starts. Running jobs continue. Pausing a paused queue is not an\n"+
				"error.", true),
		v.pauseCommand("resume", "Resume queues",
			"Resume queues: their jobs start again, also if they rest. Resuming a queue that is not paused is\n"+
				"not an error. If one of the queues does not exist, none is resumed.", false),
		v.stuckCommand(), v.queueDeleteCommand())
	queue.AddCommand(more...)
	return []*cobra.Command{queue, v.kindCommand()}
}

func (a verbs) queueListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List queues with job counts",
		Long: `List the queues of the namespace with the number of unfinished jobs in each state. Counting stops at
10000, shown as 10000+.`,
		Example: `  holdfast queue list
  holdfast queue list --watch
  holdfast queue list --output json | jq -r '.[] | select(.paused).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				queues, err := client.Queues(ctx)
				if err != nil {
					return err
				}
				for i := range queues {
					q := &queues[i]
					if err := out.Add(views.NewQueue(q), func() []string { return views.QueueRow(a.Env.Now(), q) }); err != nil {
						return err
					}
				}
				if len(queues) == 0 && out.Format == output.FormatTable {
					a.Notef("No queues yet; enqueue a job to create one.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Queue{}, views.QueueHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

func (a verbs) queueGetCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get QUEUE",
		Short: "Show a queue",
		Long: `Show a queue: how many unfinished jobs it has in each state, since when it is paused and by whom,
or until when it rests, what is set of it, its limit, what code tells of it, which live nodes serve
it, and which kinds of its jobs no live node claims.`,
		Example: `  holdfast queue get mail
  holdfast queue get mail --watch
  holdfast queue get mail --output json | jq .counts.available.jobs`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Show(ctx, &watch, func(client *holdfast.Client) error { return a.printQueue(ctx, client, args[0]) })
		}),
	}
	watch.Add(a.App, cmd)
	return cmd
}

// printQueue prints all of a queue.
func (a verbs) printQueue(ctx context.Context, client *holdfast.Client, name string) error {
	told, err := a.toldOf(ctx, client, store.SubjectQueue, name)
	if err != nil {
		return err
	}
	q, err := app.FindQueue(ctx, client, name)
	if errors.Is(err, holdfast.ErrNotFound) && told != nil {
		q, err = store.Queue{Name: told.Name}, nil // it has had no job yet
	}
	if err != nil {
		return err
	}
	var of *store.Limit
	switch l, err := limit.Get(ctx, client, limit.QueueName(q.Name)); {
	case err == nil:
		of = &l
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	unserved, err := client.Unserved(ctx)
	if err != nil {
		return err
	}
	view := views.NewWholeQueue(&q, of, nodes, unserved, a.Env.Now())
	view.Descriptor = views.NewDescriptor(told)
	return a.Object(view, func() { views.PrintQueue(&a.Printer, a.Env.Now(), &q, of, &view, told) })
}
