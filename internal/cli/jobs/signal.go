package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

func (a verbs) signalCommand() *cobra.Command {
	signal := app.Group("signal", "Send signals to durable jobs", "Send signals to durable jobs.",
		`  holdfast signal send `+arg.ExampleID+` approved '{"by":"ada"}'`)
	signal.Aliases = []string{"signals"}
	signal.AddCommand(a.signalSendCommand())
	return signal
}

func (a verbs) signalSendCommand() *cobra.Command {
	var (
		key    string
		traced app.TraceFlag
	)
	cmd := &cobra.Command{
		Use:   "send ID NAME [PAYLOAD]",
		Short: "Send a signal to a job",
		Long: `Send a signal to a job. The command returns once the signal is stored. A job that is not waiting for
the signal yet receives it when it does; a finished job accepts no signals. PAYLOAD is JSON, @FILE,
or - for standard input.

To make sending repeatable, use --dedup-key: a job receives only the first signal with a given key.
Sending another one is not an error.`,
		Example: `  holdfast signal send ` + arg.ExampleID + ` approved '{"by":"ada"}'
  holdfast signal send --kind order --key order-42 approved '{"by":"ada"}'
  holdfast signal send ` + arg.ExampleID + ` approved '"a text is in quotes"' --dedup-key mail-4711
  jq -c .approval order.json | holdfast signal send ` + arg.ExampleID + ` approved -`,
		Args:        arg.Takes(2, 3),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			var opts []holdfast.SendOption
			if cmd.Flags().Changed("dedup-key") {
				opts = append(opts, holdfast.DedupKey(key))
			}
			ctx, err := traced.InTrace(ctx, a.App, cmd)
			if err != nil {
				return err
			}
			return a.sendSignal(ctx, args, key, opts)
		}),
	}
	cmd.Flags().StringVar(&key, "dedup-key", "", "send the signal only if the job has none with the same `KEY`")
	traced.AddTo(cmd, "signal")
	return arg.ByKey(cmd)
}

// sendSignal sends a signal and prints what the job was doing.
func (a verbs) sendSignal(ctx context.Context, args []string, key string, opts []holdfast.SendOption) error {
	id, err := arg.ParseID(args[0])
	if err != nil {
		return err
	}
	name := args[1]
	err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		_, err := client.SendSignal(ctx, id, name, nil, opts...)
		return err
	})
	if err != nil {
		return err
	}
	payload, err := a.readPayload(ctx, "PAYLOAD", args[2:])
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		record, err := a.Find(ctx, client, id)
		if err != nil {
			return err
		}
		was := a.waitFor(ctx, client, record, name)
		sent, err := client.SendSignal(ctx, id, name, payload, opts...)
		if errors.Is(err, holdfast.ErrConflict) {
			return fmt.Errorf("job %s has finished and accepts no signals", id)
		} else if err != nil {
			return err
		}
		switch begun := record.LeaseNumber > 0 && record.Journal == 0 && record.State != store.Waiting; {
		case builtin.Fields(record.Kind) != nil:
			a.Notef("The kind %s is built in and reads no signals.", record.Kind)
		case begun:
			a.Notef("The job has started and has no journal. If it is not a durable function, nothing will read the signal.")
		}
		view := views.Sent{ID: id.String(), Signal: name, DedupKey: views.Text(key), Message: views.Big(sent.Message), Duplicate: sent.Duplicate}
		return a.Object(view, func() {
			if sent.Duplicate {
				a.Printf("job %s already has a message with the key %s; nothing was sent", id, output.OneLine(key))
				return
			}
			a.Printf("sent signal %s to job %s, which %s", output.OneLine(name), id, was)
		})
	})
}

// waitFor describes what a job was doing with regard to a signal.
func (a verbs) waitFor(ctx context.Context, client *holdfast.Client, record store.Record, signal string) string {
	if record.State != store.Waiting {
		return "was " + record.State.String()
	}
	reasons, err := client.Why(ctx, record.ID)
	if err != nil {
		return "was waiting" // not worth an error
	}
	named := regexp.MustCompile(`\bsignal ` + regexp.QuoteMeta(signal) + `($|[,;])`)
	for _, cause := range reasons.Causes {
		switch {
		case cause.Code == why.Paused, cause.Code == why.Held:
			return "is " + string(cause.Code) + ": it receives the signal once it is resumed"
		case named.MatchString(cause.Text):
			return "was waiting for it"
		}
	}
	return "does not wait for it now"
}

// readPayload reads the optional payload in the last argument, which has a name in the verb's Use.
func (a verbs) readPayload(ctx context.Context, name string, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return arg.ReadJSON(ctx, a.Env.Stdin, name, args[0])
}
