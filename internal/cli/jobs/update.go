package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

func (a verbs) updateCommand() *cobra.Command {
	update := app.Group("update", "Send requests to durable jobs", "Send requests to durable jobs, and print their answers.",
		`  holdfast update call `+arg.ExampleID+` "add line" '{"item":"tea","cents":450}'`)
	update.Aliases = []string{"updates"}
	update.AddCommand(a.updateCallCommand())
	return update
}

func (a verbs) updateCallCommand() *cobra.Command {
	var key string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "call ID NAME [PAYLOAD]",
		Short: "Send a request to a job and print the answer",
		Long: `Send a request to a job, wait for the answer and print it as JSON ("null" if it has no value). The
request waits until the job handles requests of that name. PAYLOAD is JSON, @FILE, or - for standard
input. After two seconds, print on standard error what the job is doing.

To make a call repeatable, use --dedup-key: another call with the same key sends nothing and prints
the same answer.

The exit code is 0 if there is an answer, 1 if the request was refused or failed or the job has
finished, and 2 if --wait-timeout passed; the request stays, and another call with the same key
waits for its answer.`,
		Example: `  holdfast update call ` + arg.ExampleID + ` "add line" '{"item":"tea","cents":450}' --dedup-key line-7 --wait-timeout 30s
  jq -c .line order.json | holdfast update call ` + arg.ExampleID + ` "add line" -`,
		Args:        arg.Takes(2, 3),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := checkPatience(cmd.Flags().Changed, timeout); err != nil {
				return err
			}
			if !cmd.Flags().Changed("dedup-key") {
				key = holdfast.NewID().String()
			}
			return a.callUpdate(ctx, args, key, timeout)
		}),
	}
	cmd.Flags().StringVar(&key, "dedup-key", "", "send the request only if the job has none with the same `KEY`")
	cmd.Flags().DurationVar(&timeout, "wait-timeout", 0, "stop waiting after `DURATION`, such as 30s (default: wait for the answer)")
	return arg.ByKey(cmd)
}

func (a verbs) callUpdate(ctx context.Context, args []string, key string, timeout time.Duration) error {
	id, err := arg.ParseID(args[0])
	if err != nil {
		return err
	}
	name, once := args[1], holdfast.DedupKey(key)
	err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		if _, err := client.CallUpdate(ctx, id, name, nil, once); errors.Is(err, holdfast.ErrInvalid) {
			return err
		}
		return nil // there is no answer
	})
	if err != nil {
		return err
	}
	payload, err := a.readPayload(ctx, "PAYLOAD", args[2:])
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if _, err := a.Find(ctx, client, id); err != nil {
			return err
		}
		return a.awaitUpdate(ctx, client, id, timeout, func(ctx context.Context) (json.RawMessage, error) {
			return client.CallUpdate(ctx, id, name, payload, once)
		})
	})
}

// awaitUpdate prints the answer to a request. Its errors have the exit codes documented for "update
// call".
func (a verbs) awaitUpdate(
	ctx context.Context, client *holdfast.Client, id holdfast.ID, timeout time.Duration, call func(context.Context) (json.RawMessage, error),
) error {
	waiting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	stop := a.printReason(waiting, client, id)
	answer, err := call(waiting)
	stop()
	var told *holdfast.UpdateError
	switch {
	case err == nil && answer == nil:
		return a.WriteJSON(json.RawMessage("null"), "")
	case err == nil:
		return a.WriteJSON(answer, "")
	case errors.As(err, &told) && told.Refused:
		return fmt.Errorf("job %s refused the request: %s", id, output.OneLine(told.Message))
	case errors.As(err, &told):
		return fmt.Errorf("the request to job %s failed: %s", id, output.OneLine(told.Message))
	case ctx.Err() == nil && waiting.Err() != nil:
		late := fmt.Sprintf("job %s has not answered after %v; the request stays", id, timeout)
		return app.ExitWith(app.ExitTimeout, late+a.whyNot(ctx, client, id))
	}
	return err
}
