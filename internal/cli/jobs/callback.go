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
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/rules"
)

func (a verbs) callbackCommand() *cobra.Command {
	callback := app.Group("callback", "Answer callbacks of durable jobs",
		`Answer callbacks of durable jobs. A job hands out a token and waits until somebody answers it. A
token identifies its job and can be answered once.`,
		`  holdfast callback complete `+exampleToken+` '{"paid":true}'
  holdfast callback fail `+exampleToken+` --message "card refused"`)
	callback.Aliases = []string{"callbacks"}
	callback.AddCommand(a.callbackAnswerCommand(), a.callbackCompleteCommand(), a.callbackFailCommand(), a.callbackHeartbeatCommand())
	return callback
}

const exampleToken = "hfc_AZNtPnwqe1GaDj8dXI4rZJ_tUM0r9cVsQb1yWgkX2oE" //nolint:gosec // an example

func (a verbs) callbackAnswerCommand() *cobra.Command {
	var traced app.TraceFlag
	cmd := &cobra.Command{
		Use:   "answer TOKEN [PAYLOAD]",
		Short: "Let the rules of a callback decide",
		Long: `Send PAYLOAD to a callback, as an outside system does that knows nothing of its job. The rules of
the callback decide whether that completes it, fails it, or is ignored; without rules it completes
the callback. If the rules have no value for PAYLOAD, such as for a field that is not there, nothing
is answered and the exit code is 1. PAYLOAD is JSON, @FILE, or - for standard input; the default is
null.`,
		Example: `  holdfast callback answer ` + exampleToken + ` '{"type":"charge.paid","id":7}'
  holdfast callback answer ` + exampleToken + ` @event.json`,
		Args:        arg.Takes(1, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.withAnswer(ctx, cmd, &traced, args, func(ctx context.Context, c *holdfast.Client, payload json.RawMessage) (string, error) {
				outcome, err := rules.Answer(ctx, c, args[0], payload)
				return string(outcome), err
			})
		}),
	}
	traced.AddTo(cmd, "answer")
	return cmd
}

func (a verbs) callbackCompleteCommand() *cobra.Command {
	var traced app.TraceFlag
	cmd := &cobra.Command{
		Use:   "complete TOKEN [PAYLOAD]",
		Short: "Complete a callback",
		Long: `Complete a callback. Its job continues with PAYLOAD, which is JSON, @FILE, or - for standard input;
the default is null.`,
		Example: `  holdfast callback complete ` + exampleToken + ` '{"paid":true}'
  holdfast callback complete ` + exampleToken + ` @receipt.json`,
		Args:        arg.Takes(1, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.withAnswer(ctx, cmd, &traced, args, func(ctx context.Context, c *holdfast.Client, payload json.RawMessage) (string, error) {
				return completed, c.CompleteCallback(ctx, args[0], payload)
			})
		}),
	}
	traced.AddTo(cmd, "answer")
	return cmd
}

// withAnswer calls answer with the payload of a command line, TOKEN [PAYLOAD].
func (a verbs) withAnswer(
	ctx context.Context, cmd *cobra.Command, traced *app.TraceFlag, args []string,
	answer func(ctx context.Context, client *holdfast.Client, payload json.RawMessage) (string, error),
) error {
	token := args[0]
	ctx, err := traced.InTrace(ctx, a.App, cmd)
	if err != nil {
		return err
	}
	if err := a.checkToken(ctx, token); err != nil {
		return err
	}
	payload, err := a.readPayload(ctx, "PAYLOAD", args[1:])
	if err != nil {
		return err
	}
	if payload == nil {
		payload = json.RawMessage("null")
	}
	return a.answer(ctx, token, func(client *holdfast.Client) (string, error) { return answer(ctx, client, payload) })
}

func (a verbs) callbackFailCommand() *cobra.Command {
	var (
		message string
		traced  app.TraceFlag
	)
	cmd := &cobra.Command{
		Use:         "fail TOKEN",
		Short:       "Fail a callback",
		Long:        "Fail a callback. Its job receives an error with the message, and decides what to do.",
		Example:     `  holdfast callback fail ` + exampleToken + ` --message "card refused"`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			token := args[0]
			ctx, err := traced.InTrace(ctx, a.App, cmd)
			if err != nil {
				return err
			}
			if message == "" {
				return arg.Usagef("--message is required: say what went wrong")
			}
			if err := a.checkToken(ctx, token); err != nil {
				return err
			}
			return a.answer(ctx, token, func(client *holdfast.Client) (string, error) {
				return failed, client.FailCallback(ctx, token, message)
			})
		}),
	}
	cmd.Flags().StringVar(&message, "message", "", "`TEXT` of the error; required")
	traced.AddTo(cmd, "answer")
	return cmd
}

func (a verbs) callbackHeartbeatCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "heartbeat TOKEN",
		Short:       "Extend the time limit of a callback",
		Long:        `Extend the time limit of a callback: the time within which its job expects an answer starts over.`,
		Example:     `  holdfast callback heartbeat ` + exampleToken,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			token := args[0]
			if err := a.checkToken(ctx, token); err != nil {
				return err
			}
			return a.answer(ctx, token, func(client *holdfast.Client) (string, error) {
				return heartbeat, client.HeartbeatCallback(ctx, token)
			})
		}),
	}
}

// checkToken refuses malformed tokens.
func (a verbs) checkToken(ctx context.Context, token string) error {
	err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error { return client.HeartbeatCallback(ctx, token) })
	if errors.Is(err, holdfast.ErrInvalid) {
		return arg.Usagef("%q is not a callback token; tokens look like %s", token, exampleToken)
	}
	return err
}

// What has become of a callback.
const (
	completed = string(rules.Completed)
	failed    = string(rules.Failed)
	ignored   = string(rules.Ignored)
	heartbeat = "heartbeat"
)

// answer answers a callback and prints what has become of it.
func (a verbs) answer(ctx context.Context, token string, answer func(*holdfast.Client) (string, error)) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		outcome, err := answer(client)
		switch {
		case errors.Is(err, holdfast.ErrNotFound):
			return fmt.Errorf("no such callback: %s; its job may have been removed after its retention, or continued as new", token)
		case errors.Is(err, holdfast.ErrConflict):
			return fmt.Errorf("callback %s has already been answered, or its job has finished", token)
		case err != nil:
			return err
		}
		return a.Object(views.Answered{Token: token, Answer: outcome}, func() {
			switch outcome {
			case heartbeat:
				a.Printf("extended the time limit of the callback")
			case ignored:
				a.Printf("ignored the payload, as the rules of the callback say")
			default:
				a.Printf("%s the callback", outcome)
			}
		})
	})
}
