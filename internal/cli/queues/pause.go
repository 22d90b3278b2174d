package queues

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
				known, err := Names(ctx, client, nil)
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
			known = append(known, name)
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
