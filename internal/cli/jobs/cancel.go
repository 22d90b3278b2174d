package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// cancelling is how jobs are cancelled.
type cancelling struct {
	reason    string
	terminate bool
}

func (c *cancelling) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	cmd.Flags().BoolVar(&c.terminate, "terminate", false, "end jobs at once, without compensation")
}

// doing says what it does.
func (c *cancelling) doing() string {
	if c.terminate {
		return "terminates"
	}
	return "cancels"
}

// done says what is done with a job.
func (c *cancelling) done() string {
	if c.terminate {
		return "terminated"
	}
	return "cancelled"
}

// action is what an operation does.
func (c *cancelling) action() operation.Action {
	if c.terminate {
		return operation.Terminate()
	}
	return operation.Cancel()
}

// change cancels jobs and returns the result of each.
func (c *cancelling) change(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
	end := client.Cancel
	if c.terminate {
		end = client.Terminate
	}
	results, err := end(ctx, c.reason, ids...)
	changes := make([]changed, len(results))
	for i, r := range results {
		changes[i] = changed{state: r.State, err: r.Err, words: cancelWords(r.State)}
		if r.Err == nil && r.State == store.Failed && gaveUpTurn(ctx, client, r.Job) {
			changes[i].words = turnGoesOn
		}
	}
	return changes, err
}

// turnGoesOn is said of a job that has failed and had the turn of its ordering key.
const turnGoesOn = "stays failed; its turn goes on to the next job with its ordering key"

// gaveUpTurn reports whether a job that has failed was made to give up the turn that it kept: of
// one that has finished, nothing else is recorded as a cancel. There are few such jobs: filters
// select none, so each was named.
func gaveUpTurn(ctx context.Context, client *holdfast.Client, id holdfast.ID) bool {
	j, err := client.Get(ctx, id)
	if err != nil || !j.Options.KeepTurn || len(j.Actions) == 0 {
		return false
	}
	last := j.Actions[len(j.Actions)-1]
	return slices.Contains([]store.ActionKind{store.ActionCancel, store.ActionTerminate}, last.Kind) && !last.At.Before(j.FinishedAt)
}

func (a verbs) jobCancelCommand() *cobra.Command {
	var how cancelling
	all := bulk{
		otherwise: arg.Unfinished, accepts: arg.Unfinished, others: "would stay as they are", action: how.action, reason: &how.reason,
	}
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel jobs",
		Long: `Cancel jobs. A job that is not running is cancelled at once; a running job when its handler returns.
A durable job that has started runs once more, to compensate what it has done. Cancelling a finished
job does nothing and is not an error.

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list";
without --state, filters select all unfinished jobs. They are cancelled 500 at a time, the newest
first. If there are more than 100, you are asked to type their number; scripts use --yes. More than
1000 are cancelled by an operation, which goes on whatever becomes of the command: see "operation".

With --terminate, jobs end at once: their handlers lose the lease, and nothing is compensated.`,
		Example: `  holdfast job cancel ` + arg.ExampleID + ` --reason "wrong customer"
  holdfast job cancel --queue mail --state scheduled --dry-run`,
		Args:        arg.Takes(0, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			all.change, all.doing, all.done = how.change, how.doing(), how.done()
			return a.changeSome(ctx, cmd, args, &all)
		}),
	}
	how.add(cmd)
	all.add(cmd)
	return cmd
}

// cancelWords tell what became of a job. It is neither cancelled nor running if it ends in a run of
// its own, or with the sweep after the transaction that holds it.
func cancelWords(state store.State) string {
	switch state {
	case store.Cancelled:
		return "is cancelled"
	case store.Running:
		return "is running and was told to stop"
	case store.Available:
		return "is available; it ends soon, if it is durable after its compensations"
	case store.Completed, store.Failed:
		return "had already " + state.String()
	default:
		return "is " + state.String() + " and ends soon; it is part of an open transaction"
	}
}

func (a verbs) jobRetryCommand() *cobra.Command {
	var reason string
	all := bulk{
		doing: "retries", done: "retried", others: wouldBeRefused, action: operation.Retry, reason: &reason,
		accepts: []store.State{store.Scheduled, store.Available, store.Retryable, store.Failed, store.Cancelled},
		change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
			return retryJobs(ctx, client, reason, ids)
		},
	}
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Run jobs again, at once",
		Long: `Run jobs again, at once. A failed or cancelled job starts over at attempt 1; a durable one continues
after its last completed step. A job that is waiting for a retry or for its run time keeps its
attempt count. Running and completed jobs cannot be retried.

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list", of
which --state is required. They are retried 500 at a time, the newest first. If there are more than
100, you are asked to type their number; scripts use --yes. More than 1000 are retried by an
operation, which goes on whatever becomes of the command: see "operation".`,
		Example: `  holdfast job retry ` + arg.ExampleID + `
  holdfast job retry --state failed --queue mail --reason "the printer works again" --dry-run
  holdfast job list --all -o jsonl | jq -r 'select(.reason == "timeout").id' | xargs -r holdfast job retry`,
		Args:        arg.Takes(0, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.changeSome(ctx, cmd, args, &all)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	all.add(cmd)
	return cmd
}

// retryJobs retries jobs and returns the result of each.
func retryJobs(ctx context.Context, client *holdfast.Client, reason string, ids []holdfast.ID) ([]changed, error) {
	results, err := client.Retry(ctx, reason, ids...)
	changes := make([]changed, len(results))
	for i, r := range results {
		changes[i] = changed{state: r.State, err: r.Err, words: "is " + r.State.String()}
		if errors.Is(r.Err, holdfast.ErrConflict) {
			changes[i].err = whyNotRetried(r)
		}
	}
	return changes, err
}

// whyNotRetried explains what can be done about a job instead.
func whyNotRetried(r store.Result) error {
	var unique *store.UniqueError
	switch {
	case errors.As(r.Err, &unique), r.State == store.Failed, r.State == store.Cancelled: // which says what to do
		return r.Err
	case r.State == store.Waiting:
		return errors.New(`it is waiting; if it was paused, use "holdfast job resume"`)
	case r.State == store.Completed:
		return errors.New(`it has completed; to repeat a durable job from a step, use "holdfast job fork"`)
	}
	return fmt.Errorf("it is %s", r.State)
}

func (a verbs) jobSkipCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "skip ID...",
		Short: "Let the jobs behind failed ones of a sequence go on",
		Long: `Let jobs that have failed and keep the turns of their ordering keys (--keep-turn) give these up, so
that the jobs behind them follow. The failed jobs stay failed. "job get" of a job that waits names
the one that has the turn; "job retry" runs that one again instead.`,
		Example:     `  holdfast job skip ` + arg.ExampleID + ` --reason "settled by hand"`,
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				results, err := after.Skip(ctx, client, reason, ids...)
				changes := make([]changed, len(results))
				for i, r := range results {
					changes[i] = changed{state: r.State, err: r.Err, words: turnGoesOn}
					if errors.Is(r.Err, holdfast.ErrConflict) {
						changes[i].err = whyNotSkipped(r.State)
					}
				}
				return changes, err
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	return arg.ByKey(cmd)
}

// whyNotSkipped says why a job has no turn to give up.
func whyNotSkipped(state store.State) error {
	if state == store.Failed {
		return errors.New("it has failed, and keeps no turn")
	}
	return fmt.Errorf("it is %s; only a job that has failed keeps a turn", state)
}
