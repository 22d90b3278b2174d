package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) jobContinueAsNewCommand() *cobra.Command {
	var args, reason string
	cmd := &cobra.Command{
		Use:   "continue-as-new ID...",
		Short: "Let jobs start over under the same id",
		Long: `Let jobs start over with an empty journal, under the same id, as if their handlers had returned
ContinueAsNew. The jobs must be waiting, failed or cancelled; pause others first. Published values,
streams, children, signals not yet received and requests not yet answered stay. Compensations do not
run.

A job that is compensating cannot start over until it has ended.`,
		Example: `  holdfast job continue-as-new ` + arg.ExampleID + ` --reason "its journal was of the old code"
  holdfast job continue-as-new ` + arg.ExampleID + ` --args '{"to":"bob"}'`,
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, ids []string) error {
			var payload json.RawMessage
			if cmd.Flags().Changed("args") {
				read, err := arg.ReadJSON(ctx, a.Env.Stdin, "--args", args)
				if err != nil {
					return err
				}
				payload = read
			}
			return a.change(ctx, ids, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				return startOverAll(ctx, client, reason, ids, payload), nil
			})
		}),
	}
	cmd.Flags().StringVar(&args, "args", "", "new args: `JSON`, @FILE, or - for standard input (default: the args of the job)")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	return arg.ByKey(cmd)
}

// startOverAll lets jobs start over one by one. If the database stops answering it gives up the
// rest, but returns what was done.
func startOverAll(ctx context.Context, client *holdfast.Client, reason string, ids []holdfast.ID, args json.RawMessage) []changed {
	return oneByOne(ids, func(id holdfast.ID) (changed, error) {
		err := client.ContinueAsNew(ctx, reason, id, args)
		c := changed{state: store.Available, err: err, words: "starts over"}
		if errors.Is(err, holdfast.ErrConflict) {
			c.state, c.err = whyNotStartedOver(ctx, client, id, err)
		}
		return c, err
	})
}

// whyNotStartedOver explains why a job cannot start over, by its state, and what can be done about
// it.
func whyNotStartedOver(ctx context.Context, client *holdfast.Client, id holdfast.ID, err error) (store.State, error) {
	var unique *store.UniqueError
	record, lookErr := client.Get(ctx, id)
	switch {
	case lookErr != nil || errors.As(err, &unique):
		return record.State, err
	case record.State == store.Completed:
		return record.State, errors.New("it has completed; to do it again, enqueue another one")
	case record.State == store.Waiting, record.State.Finished():
		return record.State, err
	}
	return record.State, fmt.Errorf("it is %s; pause it first", record.State)
}
