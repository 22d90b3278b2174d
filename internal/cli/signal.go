package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
		Long: `Send a signal to a job and return when it is durable. A job that waits for it goes on; one that does
not wait for it yet, or has not begun, finds it when it does. The payload is JSON, @FILE, or - for
standard input. A job that has finished takes no signals. One with a key that arrived before is not
sent again, which is no error.`,
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
				sent, err := client.SendSignal(ctx, id, name, payload, opts...)
				if errors.Is(err, holdfast.ErrConflict) {
					return fmt.Errorf("job %s has finished and takes no signals", id)
				} else if err != nil {
					return err
				}
				begun := record.LeaseNumber > 0 && record.Journal == 0 && record.State != holdfast.Waiting
				if begun || builtin.Fields(record.Kind) != nil {
					a.notef("The job has begun and remembers nothing: unless its kind is a durable function, nobody reads the signal.")
				}
				view := sentView{ID: id.String(), Signal: name, Key: text(key), Message: big(sent.Message), Duplicate: sent.Duplicate}
				return a.object(view, func() {
					if sent.Duplicate {
						a.printf("job %s has had a message with the key %s: nothing is sent", id, oneLine(key))
						return
					}
					a.printf("signal %s is sent to job %s, which was %s", oneLine(name), id, record.State)
				})
			})
		}),
	}
	cmd.Flags().StringVar(&key, "key", "", "of signals to one job with the same `key` only the first arrives, so that it may be repeated")
	return cmd
}

// readPayload reads the payload that is the last argument, if there is one.
func (a *app) readPayload(ctx context.Context, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return a.readJSON(ctx, "PAYLOAD", args[0])
}
