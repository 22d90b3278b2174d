package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

// RestCommand is "queue rest".
func RestCommand(a *app.App) *cobra.Command {
	v := verbs{a}
	var d time.Duration
	cmd := &cobra.Command{
		Use:   "rest QUEUE... --for DURATION",
		Short: "Let queues rest for a time",
		Long: `Let queues rest on all nodes, such as while a service that their jobs call is overloaded: no job
starts before the time is over. Running jobs continue. A queue that rests already does so for the
longer of the two times; "queue resume" ends a rest.`,
		Example: `  holdfast queue rest mail --for 10m
  holdfast queue rest mail reports --for 1h30m`,
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, names []string) error {
			if !cmd.Flags().Changed("for") {
				return arg.Usagef("say for how long, such as --for 10m")
			}
			err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				for _, name := range names {
					if _, err := limit.Rest(ctx, client, name, d); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return v.restQueues(ctx, client, names, d) })
		}),
	}
	cmd.Flags().DurationVar(&d, "for", 0, "for how long, as `DURATION`, such as 10m; at most 720h")
	return cmd
}

// restQueues lets queues rest one by one, and prints the result of each.
func (a verbs) restQueues(ctx context.Context, client *holdfast.Client, names []string, d time.Duration) error {
	out := a.NewList()
	for _, name := range names {
		until, err := limit.Rest(ctx, client, name, d)
		if err != nil {
			return errors.Join(fmt.Errorf("queue %s: %w", output.OneLine(name), err), out.End())
		}
		view := views.NewRested(client.Namespace(), name, until)
		if out.Format == output.FormatTable {
			a.Printf("queue %s rests until %s", output.OneLine(name), until.UTC().Format(time.RFC3339))
		} else if err := out.Add(view, nil); err != nil {
			return err
		}
	}
	return out.End()
}
