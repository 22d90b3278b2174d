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
)

func (a verbs) callbackCommand() *cobra.Command {
	callback := app.Group("callback", "Answer callbacks of durable jobs",
		`Answer callbacks of durable jobs. A job hands out a token and waits until somebody answers it. A
token identifies its job and can be answered once.`,
		`  holdfast callback complete `+exampleToken+` '{"paid":true}'
  holdfast callback fail `+exampleToken+` --message "card refused"`)
	callback.Aliases = []string{"callbacks"}
	callback.AddCommand(a.callbackCompleteCommand(), a.callbackFailCommand(), a.callbackHeartbeatCommand())
	return callback
}

const exampleToken = "hfc_AZNtPnwqe1GaDj8dXI4rZJ_tUM0r9cVsQb1yWgkX2oE" //nolint:gosec // an example

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
			return a.answer(ctx, token, "completed", func(client *holdfast.Client) error {
				return client.CompleteCallback(ctx, token, payload)
			})
		}),
	}
	traced.AddTo(cmd, "answer")
	return cmd
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
			return a.answer(ctx, token, "failed", func(client *holdfast.Client) error {
				return client.FailCallback(ctx, token, message)
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
			return a.answer(ctx, token, "heartbeat", func(client *holdfast.Client) error {
				return client.HeartbeatCallback(ctx, token)
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

// answer completes a callback and prints that.
func (a verbs) answer(ctx context.Context, token, words string, answer func(*holdfast.Client) error) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		err := answer(client)
		switch {
		case errors.Is(err, holdfast.ErrNotFound):
			return fmt.Errorf("no such callback: %s; its job may have been removed after its retention, or continued as new", token)
		case errors.Is(err, holdfast.ErrConflict):
			return fmt.Errorf("callback %s has already been answered, or its job has finished", token)
		case err != nil:
			return err
		}
		return a.Object(views.Answered{Token: token, Answer: words}, func() {
			if words == "heartbeat" {
				a.Printf("extended the time limit of the callback")
				return
			}
			a.Printf("%s the callback", words)
		})
	})
}
