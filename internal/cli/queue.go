package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) queueCommand() *cobra.Command {
	queue := group("queue", "List, pause and resume queues", "List, pause and resume queues.",
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

func (a *app) queueListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List queues with job counts",
		Long: `List the queues of the namespace with the number of unfinished jobs in each state. Counting stops at
10000, shown as 10000+.`,
		Example: `  holdfast queue list
  holdfast queue list --output json | jq -r '.[] | select(.paused).name'`,
		Args:        takes(0, 0),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.withClient(ctx, func(client *holdfast.Client) error {
				queues, err := client.Queues(ctx)
				if err != nil {
					return err
				}
				out := a.newList("QUEUE", "AVAILABLE", "RUNNING", "SCHEDULED", "RETRYABLE", "WAITING", "OLDEST", "PAUSED")
				for i := range queues {
					q := &queues[i]
					if err := out.add(viewQueue(q), func() []string { return a.queueRow(q) }); err != nil {
						return err
					}
				}
				if len(queues) == 0 && out.format == formatTable {
					a.notef("No queues yet; enqueue a job to create one.")
				}
				return out.end()
			})
		}),
	}
}

func (a *app) queueRow(q *holdfast.QueueInfo) []string {
	row := []string{clip(q.Name, maxName)}
	for _, state := range countedStates {
		count := q.Counts[state]
		cell := strconv.Itoa(count.N)
		if count.More {
			cell += "+"
		}
		row = append(row, cell)
	}
	oldest, paused := "-", ""
	if !q.OldestDue.IsZero() {
		oldest = "due " + ago(a.env.Now(), q.OldestDue)
	}
	if !q.PausedAt.IsZero() {
		paused = ago(a.env.Now(), q.PausedAt) + " by " + q.PausedBy
	}
	return append(row, oldest, paused)
}

func (a *app) pauseCommand(verb, short, long string, pause bool) *cobra.Command {
	return &cobra.Command{
		Use:         verb + " QUEUE...",
		Short:       short,
		Long:        long,
		Example:     "  holdfast queue " + verb + " mail\n  holdfast queue " + verb + " mail reports --namespace staging",
		Args:        takes(1, -1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			change := (*holdfast.Client).ResumeQueue
			if pause {
				change = (*holdfast.Client).PauseQueue
			}
			err := a.rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
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
			return a.withClient(ctx, func(client *holdfast.Client) error {
				known, err := queueNames(ctx, client, nil)
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

// pauseQueues pauses or resumes queues one after the other, and says so of each.
func (a *app) pauseQueues(ctx context.Context, client *holdfast.Client, names, known []string, pause bool) error {
	change, words := (*holdfast.Client).ResumeQueue, "resumed queue %s"
	if pause {
		change, words = (*holdfast.Client).PauseQueue, "paused queue %s"
	}
	out := a.newList()
	for _, name := range names {
		if err := change(client, ctx, name); err != nil {
			return errors.Join(err, out.end())
		}
		isNew := !slices.Contains(known, name)
		if isNew {
			a.notef("Queue %s did not exist; created it.", oneLine(name))
		}
		view := pausedView{Namespace: client.Namespace(), Queue: name, Paused: pause, New: isNew}
		if out.format == formatTable {
			a.printf(words, oneLine(name))
		} else if err := out.add(view, nil); err != nil {
			return err
		}
	}
	return out.end()
}

// allKnown returns an error that names the first queue that is not known.
func allKnown(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no such queue: %s; nothing was resumed; \"holdfast queue list\" lists the queues", oneLine(name))
		}
	}
	return nil
}
