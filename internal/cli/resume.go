package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) jobPauseCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause ID...",
		Short: "Keep jobs from going on",
		Long: `Keep jobs from going on until "job resume": those that do not run at once, durable ones that run at
their next operation. One that is not durable and runs goes on; it is paused if it has to be tried
again. Pausing twice is no error; a job that has finished is refused.`,
		Example: `  holdfast job pause ` + exampleID + ` --reason "the printer is out of paper"
  holdfast job list --kind report --state waiting --all --output jsonl | jq -r .id | xargs -r holdfast job pause`,
		Args:        takes(1, -1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				results, err := client.PauseJobs(ctx, reason, ids...)
				changes := make([]changed, len(results))
				for i, r := range results {
					changes[i] = changed{state: r.State, err: r.Err, words: pauseWords(r.State)}
					if errors.Is(r.Err, holdfast.ErrConflict) {
						changes[i].err = fmt.Errorf("it is %s already", r.State)
					}
				}
				return changes, err
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people; kept with the jobs")
	return cmd
}

func pauseWords(state holdfast.State) string {
	if state == holdfast.Running {
		return "is running; it pauses when it can"
	}
	return "is paused"
}

func (a *app) jobResumeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume ID...",
		Short: "Let jobs go on",
		Long: `Let jobs go on: those that are paused, those that wait for a person because their code and their
journal contradict each other, and failed and cancelled ones. A durable one goes on from the last
step that it has completed; what failed after it is forgotten and done again.

Once a job has compensated it cannot be resumed, only forked.`,
		Example: `  holdfast job resume ` + exampleID + ` --reason "there is paper"
  holdfast job list --state failed --kind report --all --output jsonl | jq -r .id | xargs -r holdfast job resume`,
		Args:        takes(1, -1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				return resumeAll(ctx, client, reason, ids), nil
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people; recorded")
	return cmd
}

// resumeAll resumes jobs one by one. If the database stops answering the rest is not tried, but what was done is told.
func resumeAll(ctx context.Context, client *holdfast.Client, reason string, ids []holdfast.ID) []changed {
	changes := make([]changed, len(ids))
	var down error
	for i, id := range ids {
		if down != nil {
			changes[i].err = fmt.Errorf("not tried after this: %w", down)
			continue
		}
		state, err := client.ResumeJob(ctx, id, reason)
		changes[i] = changed{state: state, err: err, words: "is " + state.String()}
		switch {
		case errors.Is(err, holdfast.ErrConflict):
			changes[i].state, changes[i].err = whyNotResumed(ctx, client, id, err)
		case err != nil && !errors.Is(err, holdfast.ErrNotFound):
			down = err
		}
	}
	return changes
}

// whyNotResumed says in which state a job is that cannot be resumed, and what can be done about it.
func whyNotResumed(ctx context.Context, client *holdfast.Client, id holdfast.ID, err error) (holdfast.State, error) {
	var unique *holdfast.UniqueError
	record, lookErr := client.Get(ctx, id)
	switch {
	case lookErr != nil || errors.As(err, &unique):
		return record.State, err
	case record.State == holdfast.Completed:
		return record.State, errors.New(`it is completed; "holdfast job fork" does it anew from a step`)
	case record.State.Finished():
		return record.State, err
	}
	return record.State, fmt.Errorf("it is %s, and nobody has paused it", record.State)
}
