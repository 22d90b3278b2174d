package queues

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) queueDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete QUEUE...",
		Short: "Take queues without unfinished jobs off the list",
		Long: `Take queues off the list, with their pause, and what code tells of them. A queue that has
unfinished jobs is not deleted; "queue drain" cancels them. Finished jobs stay until their retention
is over.

A deleted queue can be used as before. It is listed while it has unfinished jobs, and again for good
once it is paused or resumed.`,
		Example: `  holdfast queue delete mial
  holdfast queue drain reports --yes && holdfast queue delete reports`,
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				for _, name := range names {
					if err := client.DeleteQueue(ctx, name); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.deleteQueues(ctx, client, names) })
		}),
	}
}

// deleteQueues deletes those that it can, and names the others.
func (a verbs) deleteQueues(ctx context.Context, client *holdfast.Client, names []string) error {
	out := a.NewList()
	var failed []error
	for _, name := range names {
		err := client.DeleteQueue(ctx, name)
		if err == nil {
			_, err = describe.Forget(ctx, client, store.SubjectQueue, name)
		}
		view := views.DeletedQueue{Namespace: client.Namespace(), Queue: name, Deleted: err == nil}
		switch {
		case errors.Is(err, holdfast.ErrNotFound):
			err = app.NoQueue(client, name)
		case errors.Is(err, holdfast.ErrConflict):
			err = fmt.Errorf("queue %s has unfinished jobs; \"holdfast queue drain %s\" cancels them", output.OneLine(name), output.Quote(name))
		case err != nil:
			return errors.Join(err, out.End())
		}
		if err != nil {
			failed = append(failed, err)
			view.Error = views.Text(app.Explain(err))
		}
		switch {
		case out.Format != output.FormatTable:
			if err := out.Add(view, nil); err != nil {
				return err
			}
		case err == nil:
			a.Printf("deleted queue %s", output.OneLine(name))
		}
	}
	if err := out.End(); err != nil || len(failed) < 2 {
		return errors.Join(append(failed, err)...)
	}
	for _, err := range failed {
		a.Complain(err)
	}
	return fmt.Errorf("%d of %d queues were not deleted", len(failed), len(names))
}
