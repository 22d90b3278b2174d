package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// DrainCommand is "queue drain", which cancels jobs.
func DrainCommand(app *app.App) *cobra.Command { return verbs{app}.drainCommand() }

func (a verbs) drainCommand() *cobra.Command {
	var how cancelling
	all := bulk{accepts: waitingStates}
	cmd := &cobra.Command{
		Use:   "drain QUEUE",
		Short: "Cancel all jobs of a queue that are not running",
		Long: `Cancel the jobs of a queue that are scheduled, available, waiting or to be retried, 500 at a time,
the newest first. Running jobs go on, and jobs that are enqueued meanwhile stay. Pause the queue
before, so that no job starts meanwhile: one that does so at this moment is asked to stop.

Durable jobs that have begun become available and run once more, to compensate what they have done,
which a paused queue holds up. With --terminate, jobs end at once, and nothing is compensated.

If there are more than 100 jobs, you are asked to type their number; scripts use --yes.`,
		Example: `  holdfast queue drain mail --dry-run
  holdfast queue pause mail && holdfast queue drain mail --reason "sent twice" --yes`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			all.change, all.doing, all.done = how.change, how.doing(), how.done()
			filter := store.Filter{Queues: args, States: waitingStates}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				q, err := app.FindQueue(ctx, client, args[0])
				if err != nil {
					return err
				}
				err = a.changeAll(ctx, client, filter, &all)
				if err == nil && q.PausedAt.IsZero() && !all.dryRun {
					a.Notef("The queue is not paused: more jobs may come, and start.")
				}
				return err
			})
		}),
	}
	how.add(cmd)
	cmd.Flags().BoolVar(&all.dryRun, "dry-run", false, "list the jobs without cancelling them")
	all.confirm.Add(cmd, fmt.Sprintf("before more than %d jobs are cancelled", mostUnasked))
	return cmd
}

// waitingStates are those of jobs that have not ended and do not run.
var waitingStates = []store.State{store.Scheduled, store.Available, store.Retryable, store.Waiting}
