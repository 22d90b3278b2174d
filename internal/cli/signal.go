package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
)

func (a *app) signalCommand() *cobra.Command {
	signal := group("signal", "Send signals to durable jobs", "Send signals to durable jobs.",
		`  holdfast signal send `+exampleID+` approved '{"by":"ada"}'`)
	signal.Aliases = []string{"signals"}
	signal.AddCommand(a.signalSendCommand())
	return signal
}

func (a *app) signalSendCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "send ID NAME [PAYLOAD]",
		Short: "Send a signal to a job",
		Long: `Send a signal to a job. The command returns once the signal is stored. A job that is not waiting for
the signal yet receives it when it does; a finished job accepts no signals. PAYLOAD is JSON, @FILE,
or - for standard input.

To make sending repeatable, use --key: a job receives only the first signal with a given key.
Sending another one is not an error.`,
		Example: `  holdfast signal send ` + exampleID + ` approved '{"by":"ada"}'
  holdfast signal send ` + exampleID + ` approved '"a text is in quotes"' --key mail-4711
  jq -c .approval order.json | holdfast signal send ` + exampleID + ` approved -`,
		Args:        takes(2, 3),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			name := args[1]
			var opts []holdfast.SendOption
			if cmd.Flags().Changed("key") {
				opts = append(opts, holdfast.Once(key))
			}
			err = a.rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				_, err := client.SendSignal(ctx, id, name, nil, opts...)
				return err
			})
			if err != nil {
				return err
			}
			payload, err := a.readPayload(ctx, args[2:])
			if err != nil {
				return err
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				record, err := a.find(ctx, client, id)
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
				begun := record.LeaseNumber > 0 && record.Journal == 0 && record.State != holdfast.Waiting
				if begun || builtin.Fields(record.Kind) != nil {
					a.notef("The job has started and has no journal. If it is not a durable function, nothing will read the signal.")
				}
				view := sentView{ID: id.String(), Signal: name, Key: text(key), Message: big(sent.Message), Duplicate: sent.Duplicate}
				return a.object(view, func() {
					if sent.Duplicate {
						a.printf("job %s already has a message with the key %s; nothing was sent", id, oneLine(key))
						return
					}
					a.printf("sent signal %s to job %s, which %s", oneLine(name), id, was)
				})
			})
		}),
	}
	cmd.Flags().StringVar(&key, "key", "", "send the signal only if the job has none with the same `KEY`")
	return cmd
}

// waitFor says what a job is doing with regard to a signal, for people.
func (a *app) waitFor(ctx context.Context, client *holdfast.Client, record holdfast.Record, signal string) string {
	if record.State != holdfast.Waiting {
		return "was " + record.State.String()
	}
	why, err := client.Why(ctx, record.ID)
	if err != nil {
		return "was waiting" // the signal is what matters
	}
	named := regexp.MustCompile(`\bsignal ` + regexp.QuoteMeta(signal) + `($|[,;])`)
	for _, cause := range why.Causes {
		switch {
		case cause.Code == holdfast.CausePaused, cause.Code == holdfast.CauseHeld:
			return "is " + string(cause.Code) + ": it receives the signal once it is resumed"
		case named.MatchString(cause.Text):
			return "was waiting for it"
		}
	}
	return "does not wait for it now"
}

// readPayload reads the payload that is the last argument, if there is one.
func (a *app) readPayload(ctx context.Context, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return a.readJSON(ctx, "PAYLOAD", args[0])
}
