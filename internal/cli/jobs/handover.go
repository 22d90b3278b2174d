package jobs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) jobCompleteCommand() *cobra.Command {
	return arg.ByKey(&cobra.Command{
		Use:   "complete ID [RESULT]",
		Short: "Complete a job that was handed over",
		Long: `Complete a job that its handler has handed over to an outside system and that waits to be finished.
RESULT is JSON, @FILE, or - for standard input; without it the job has no result.`,
		Example: `  holdfast job complete ` + arg.ExampleID + ` '{"paid":true}'
  holdfast job complete ` + arg.ExampleID + ` @receipt.json`,
		Args:        arg.Takes(1, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			result, err := a.readPayload(ctx, "RESULT", args[1:])
			if err != nil {
				return err
			}
			return a.change(ctx, args[:1], func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				return finished(store.Completed, "is completed", client.Complete(ctx, ids[0], result))
			})
		}),
	})
}

func (a verbs) jobFailCommand() *cobra.Command {
	return arg.ByKey(&cobra.Command{
		Use:   "fail ID MESSAGE",
		Short: "Fail a job that was handed over",
		Long: `Fail a job that its handler has handed over to an outside system and that waits to be finished.
MESSAGE is its error. If its handler has registered compensations, a node runs them first.`,
		Example:     `  holdfast job fail ` + arg.ExampleID + ` "card refused"`,
		Args:        arg.Takes(2, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if args[1] == "" {
				return arg.Usagef("MESSAGE must not be empty: say what went wrong")
			}
			return a.change(ctx, args[:1], func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				if err := client.Fail(ctx, ids[0], errors.New(args[1])); err != nil {
					return finished(0, "", err)
				}
				record, err := client.Get(ctx, ids[0])
				if err == nil && !record.State.Finished() {
					return finished(record.State, "fails after its compensations", nil)
				}
				return finished(store.Failed, "has failed", nil)
			})
		}),
	})
}

// finished is the result of finishing one job. An error of the database alone is that of the
// command.
func finished(state store.State, words string, err error) ([]changed, error) {
	switch {
	case err == nil:
		return []changed{{state: state, words: words}}, nil
	case errors.Is(err, holdfast.ErrConflict), errors.Is(err, holdfast.ErrNotFound), errors.Is(err, store.ErrBusy):
		return []changed{{err: err}}, nil
	}
	return nil, err
}
