package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) jobJournalCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "journal ID",
		Short: "Show the journal of a durable job",
		Long: `Show the journal of a durable job, oldest first: its steps, waits, children and callbacks, and the
messages sent to it. Numbers that start with m are messages.

The JSON output is complete; holdfasttest.Replay replays it against your code.

With --follow, print new entries until the job finishes, as a table or as lines of JSON. When a job
is resumed or continues as new, its new entries reuse the numbers of those it dropped.`,
		Example: `  holdfast job journal ` + arg.ExampleID + `
  holdfast job journal ` + arg.ExampleID + ` --output json > testdata/order.json
  holdfast job journal ` + arg.ExampleID + ` --follow --output jsonl | jq -r '.entry.name // empty'`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			if follow {
				return a.followJournal(ctx, id)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				j, err := client.Journal(ctx, id)
				if err != nil {
					return err
				}
				return a.printJournal(&j)
			})
		}),
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "print new entries until the job finishes")
	return arg.ByKey(cmd)
}

// printJournal writes a whole journal.
func (a verbs) printJournal(j *holdfast.Journal) error {
	if a.Format() != output.FormatTable {
		return a.Object(j, nil)
	}
	var header []string
	for _, c := range views.JournalColumns {
		header = append(header, c.Name)
	}
	out := a.NewList(header...)
	for line := range views.InTurn(j.Entries, j.Messages) {
		line = output.Hidden(&a.Printer, line)
		if err := out.Add(line, func() []string { return line.Row(true) }); err != nil {
			return err
		}
	}
	if out.Count == 0 {
		a.Notef("The journal is empty: the job is not durable, or has not reached its first step.")
	}
	return out.End()
}
