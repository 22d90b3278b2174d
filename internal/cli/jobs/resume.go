package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) jobPauseCommand() *cobra.Command {
	var reason string
	all := bulk{
		doing: "pauses", done: "paused", others: wouldBeRefused, otherwise: arg.Unfinished, accepts: arg.Unfinished,
		action: operation.Pause, reason: &reason,
		change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
			results, err := client.Pause(ctx, reason, ids...)
			changes := make([]changed, len(results))
			for i, r := range results {
				changes[i] = changed{state: r.State, err: r.Err, words: pauseWords(r.State)}
				if errors.Is(r.Err, holdfast.ErrConflict) {
					changes[i].err = fmt.Errorf("it is already %s", r.State)
				}
			}
			return changes, err
		},
	}
	cmd := &cobra.Command{
		Use:   "pause [ID...]",
		Short: "Pause jobs",
		Long: `Pause jobs until "job resume". A job that is not running is paused at once, a running durable job at
its next operation. Any other running job continues, and is paused if it has to be retried. Pausing
a paused job is not an error; a finished job cannot be paused.

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list";
without --state, filters select all unfinished jobs. If there are more than 100, you are asked to
type their number; scripts use --yes. More than 1000 are paused by an operation.`,
		Example: `  holdfast job pause ` + arg.ExampleID + ` --reason "the printer is out of paper"
  holdfast job pause --kind report --state waiting --dry-run`,
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

func pauseWords(state store.State) string {
	if state == store.Running {
		return "is running; it pauses at its next operation if it is durable, or else before another attempt"
	}
	return "is paused"
}

func (a verbs) jobResumeCommand() *cobra.Command {
	var reason string
	all := bulk{
		doing: "resumes", done: "resumed", others: wouldBeRefused, accepts: []store.State{store.Waiting, store.Failed, store.Cancelled},
		action: operation.Resume, reason: &reason,
		change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
			return resumeAll(ctx, client, reason, ids), nil
		},
	}
	cmd := &cobra.Command{
		Use:   "resume [ID...]",
		Short: "Resume jobs",
		Long: `Resume jobs that are paused, that are held because their code no longer matches their journal, or
that failed or were cancelled. A durable job continues after its last completed step and repeats
what failed.

A job that has compensated cannot be resumed, only forked.

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list", of
which --state is required. If there are more than 100, you are asked to type their number; scripts
use --yes. More than 1000 are resumed by an operation.`,
		Example: `  holdfast job resume ` + arg.ExampleID + ` --reason "there is paper"
  holdfast job resume --state failed --kind report --dry-run`,
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

// resumeAll resumes jobs one by one. If the database stops answering it gives up the rest, but
// returns what was done.
func resumeAll(ctx context.Context, client *holdfast.Client, reason string, ids []holdfast.ID) []changed {
	return oneByOne(ids, func(id holdfast.ID) (changed, error) {
		state, err := resumed(client.Resume(ctx, reason, id))
		c := changed{state: state, err: err, words: "is " + state.String()}
		if errors.Is(err, holdfast.ErrConflict) {
			c.state, c.err = whyNotResumed(ctx, client, id, err)
		}
		return c, err
	})
}

// oneByOne changes jobs until the database stops answering.
func oneByOne(ids []holdfast.ID, change func(holdfast.ID) (changed, error)) []changed {
	changes := make([]changed, len(ids))
	var down error
	for i, id := range ids {
		if down != nil {
			changes[i].err = fmt.Errorf("not attempted: %w", down)
			continue
		}
		var err error
		changes[i], err = change(id)
		if err != nil && !errors.Is(err, holdfast.ErrConflict) && !errors.Is(err, holdfast.ErrNotFound) {
			down = err
		}
	}
	return changes
}

// resumed is the result for one job.
func resumed(results []store.Result, err error) (store.State, error) {
	if err != nil {
		return 0, err
	}
	return results[0].State, results[0].Err
}

// whyNotResumed explains why a job cannot be resumed, by its state, and what can be done about it.
func whyNotResumed(ctx context.Context, client *holdfast.Client, id holdfast.ID, err error) (store.State, error) {
	var unique *store.UniqueError
	record, lookErr := client.Get(ctx, id)
	switch {
	case lookErr != nil || errors.As(err, &unique):
		return record.State, err
	case record.State == store.Completed:
		return record.State, errors.New(`it has completed; to repeat it from a step, use "holdfast job fork"`)
	case record.State.Finished():
		return record.State, err
	}
	return record.State, fmt.Errorf("it is %s and not paused", record.State)
}
