package limits

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

// QueueCommand is "queue set", which sets the limit of a queue.
func QueueCommand(a *app.App) *cobra.Command {
	v := verbs{a}
	var workers string
	var rate rateFlags
	var fair fairShare
	var attempts attemptFlags
	cmd := &cobra.Command{
		Use:   "set QUEUE",
		Short: "Set how many jobs of a queue run at once or start in a time, how they are attempted, or kept",
		Long: `Set how many jobs of a queue run at once, or start in a time, over all nodes. This is the limit
queue:QUEUE, which the verbs of "holdfast limit" show and change as well; what a flag says is set,
the rest stays. With --fair-share a node that uses more than an even part of these slots gives some
back, as its jobs end, while other nodes want some.

Or set how the jobs of a queue are attempted: --max-attempts and --backoff hold for the attempts
that fail from then on, also of jobs that were enqueued before; --timeout and --heartbeat-timeout
for those that begin. What the enqueue of a job says comes before it; it comes before what the
handler and the kind say. Or set how long the queue keeps its finished jobs: --retention names a
class, and holds within a minute, also for jobs that have finished already. --unset takes it away.
"queue get" shows what counts. These flags do not go together with those of the limit.`,
		Example: `  holdfast queue set mail --max-workers 8
  holdfast queue set mail --max-workers 8 --fair-share
  holdfast queue set mail --rate 50/s --burst 10
  holdfast queue set mail --max-workers none --rate none
  holdfast queue set mail --max-attempts 5 --backoff 10s,1h --timeout 30s
  holdfast queue set mail --unset backoff
  holdfast queue set mail --retention short`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			opts, err := queueOptions(cmd.Flags().Changed, workers, &rate, &fair)
			if err != nil {
				return err
			}
			change, tunes, err := attempts.change(cmd.Flags().Changed)
			switch {
			case err != nil:
				return err
			case tunes && len(opts) > 0:
				return arg.Usagef("how jobs are attempted or kept and how many run are set by two commands")
			case tunes:
				return v.setAttempts(ctx, args[0], &change)
			case len(opts) == 0:
				return arg.Usagef("nothing to set; use --max-workers, --fair-share, --rate or --burst, " +
					"or --max-attempts, --backoff, --timeout, --heartbeat-timeout, --retention or --unset")
			}
			opts = append(opts, limit.Queues(args[0]), limit.Kinds())
			if workers == none || rate.rate == none {
				return v.unbind(ctx, args[0], workers, rate.rate, opts)
			}
			return v.set(ctx, limit.QueueName(args[0]), opts, workers != "" || rate.rate != "")
		}),
	}
	cmd.Flags().StringVar(&workers, "max-workers", "", "let at most `N` jobs of the queue run at once; none: any number")
	rate.add(cmd.Flags())
	fair.add(cmd.Flags())
	attempts.add(cmd)
	return cmd
}

// queueOptions are what the flags say of the limit of a queue.
func queueOptions(given func(string) bool, workers string, rate *rateFlags, fair *fairShare) ([]limit.Option, error) {
	opts, err := rate.options(given)
	if err != nil {
		return nil, err
	}
	if workers != "" {
		opt, err := capacity("--max-workers", workers)
		if err != nil {
			return nil, err
		}
		opts = append(opts, opt)
	}
	return append(opts, fair.option(given)...), nil
}

// unbind takes the capacity of a queue's limit away, or its rate, and deletes it if neither is
// left.
func (a verbs) unbind(ctx context.Context, queue, workers, rate string, opts []limit.Option) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		name := limit.QueueName(queue)
		l, err := limit.Get(ctx, client, name)
		found := err == nil
		if err != nil && !errors.Is(err, holdfast.ErrNotFound) {
			return err
		}
		capped := workers != none && (workers != "" || found && !l.Uncapped)
		rated := rate != none && (rate != "" || found && l.Rate != nil)
		if capped || rated {
			if l, err = limit.Set(ctx, client, name, opts...); err != nil {
				return explain(client, name, err)
			}
			return a.Object(views.NewLimit(&l), func() { a.Printf("%s", views.LimitText(&l)) })
		}
		if found {
			if err = limit.Delete(ctx, client, name, true); err == nil {
				a.noteDeclared(&l)
			}
		}
		if err != nil && !errors.Is(err, holdfast.ErrNotFound) {
			return err
		}
		view := views.DeletedLimit{Namespace: client.Namespace(), Limit: name, Deleted: err == nil}
		return a.Object(view, func() { a.Printf("queue %s: any number of jobs runs at once", output.OneLine(queue)) })
	})
}
