package limits

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

// none is the value of a flag that takes a bound away.
const none = "none"

// QueueCommand is "queue set", which sets the limit of a queue.
func QueueCommand(a *app.App) *cobra.Command {
	v := verbs{a}
	var workers string
	cmd := &cobra.Command{
		Use:   "set QUEUE",
		Short: "Set how many jobs of a queue run at once",
		Long: `Set how many jobs of a queue run at once, over all nodes. This is the limit queue:QUEUE, which the
verbs of "holdfast limit" show and change as well.`,
		Example: `  holdfast queue set mail --max-workers 8
  holdfast queue set mail --max-workers none`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if workers == "" {
				return arg.Usagef("nothing to set; use --max-workers")
			}
			if workers == none {
				return v.unbind(ctx, args[0])
			}
			n, err := strconv.Atoi(workers)
			if err != nil || n < 0 {
				return arg.Usagef("--max-workers %s is neither a number nor none", output.OneLine(workers))
			}
			return v.set(ctx, limit.QueueName(args[0]), []limit.Option{limit.Capacity(n), limit.Queues(args[0]), limit.Kinds()}, true)
		}),
	}
	cmd.Flags().StringVar(&workers, "max-workers", "", "let at most `N` jobs of the queue run at once; none: any number")
	return cmd
}

// unbind removes the limit of a queue.
func (a verbs) unbind(ctx context.Context, queue string) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		name := limit.QueueName(queue)
		err := limit.Delete(ctx, client, name, true)
		if err != nil && !errors.Is(err, holdfast.ErrNotFound) {
			return err
		}
		view := views.DeletedLimit{Namespace: client.Namespace(), Limit: name, Deleted: err == nil}
		return a.Object(view, func() { a.Printf("queue %s: any number of jobs runs at once", output.OneLine(queue)) })
	})
}
