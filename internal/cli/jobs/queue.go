package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// QueueNames are the names of the queues that are not in args.
func QueueNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	queues, err := client.Queues(ctx)
	var found []string
	for i := range queues {
		if name := queues[i].Name; !slices.Contains(args, name) {
			found = append(found, name)
		}
	}
	return found, err
}

func (a verbs) queueCommand() *cobra.Command {
	queue := app.Group("queue", "List, pause and resume queues", "List, pause and resume queues.",
		`  holdfast queue list
  holdfast queue pause mail`)
	queue.Aliases = []string{"queues"}
	queue.AddCommand(a.queueListCommand(),
		a.pauseCommand("pause", "Pause queues",
			"Pause queues on all nodes: no job starts. Running jobs continue. Pausing a paused queue is not an\n"+
				"error.", true),
		a.pauseCommand("resume", "Resume queues",
			"Resume queues: their jobs start again. Resuming a queue that is not paused is not an error. If one\n"+
				"of the queues does not exist, none is resumed.", false))
	return queue
}

func (a verbs) queueListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List queues with job counts",
		Long: `List the queues of the namespace with the number of unfinished jobs in each state. Counting stops at
10000, shown as 10000+.`,
		Example: `  holdfast queue list
  holdfast queue list --output json | jq -r '.[] | select(.paused).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
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
	return cmd
}

func (a verbs) pauseCommand(verb, short, long string, pause bool) *cobra.Command {
	return &cobra.Command{
		Use:         verb + " QUEUE...",
		Short:       short,
		Long:        long,
		Example:     "  holdfast queue " + verb + " mail\n  holdfast queue " + verb + " mail reports --namespace staging",
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			change := (*holdfast.Client).ResumeQueue
			if pause {
				change = (*holdfast.Client).PauseQueue
			}
			err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				for _, name := range names {
					if err := change(client, ctx, name); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				known, err := QueueNames(ctx, client, nil)
				if err != nil {
					return err
				}
				if err := allKnown(names, known); err != nil && !pause {
					return err
				}
				return a.pauseQueues(ctx, client, names, known, pause)
			})
		}),
	}
}

// pauseQueues pauses or resumes queues one by one, and prints the result of each.
func (a verbs) pauseQueues(ctx context.Context, client *holdfast.Client, names, known []string, pause bool) error {
	change, words := (*holdfast.Client).ResumeQueue, "resumed queue %s"
	if pause {
		change, words = (*holdfast.Client).PauseQueue, "paused queue %s"
	}
	out := a.NewList()
	for _, name := range names {
		if err := change(client, ctx, name); err != nil {
			return errors.Join(err, out.End())
		}
		isNew := !slices.Contains(known, name)
		if isNew {
			a.Notef("Queue %s did not exist; created it.", output.OneLine(name))
		}
		view := views.Paused{Namespace: client.Namespace(), Queue: name, Paused: pause, New: isNew}
		if out.Format == output.FormatTable {
			a.Printf(words, output.OneLine(name))
		} else if err := out.Add(view, nil); err != nil {
			return err
		}
	}
	return out.End()
}

// allKnown returns an error that names the first unknown queue.
func allKnown(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no such queue: %s; nothing was resumed; \"holdfast queue list\" lists the queues", output.OneLine(name))
		}
	}
	return nil
}
