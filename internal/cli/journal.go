package cli

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) jobJournalCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "journal ID",
		Short: "Show the journal of a durable job",
		Long: `Show the journal of a durable job, oldest first: its steps, waits, children and callbacks, and the
messages sent to it. Numbers that start with m are messages.

The JSON output is complete; holdfasttest.Replay replays it against your code.

With --follow, print new entries until the job finishes, as a table or as lines of JSON. When a job
is resumed or continues as new, its new entries reuse the numbers of those it dropped.`,
		Example: `  holdfast job journal ` + exampleID + `
  holdfast job journal ` + exampleID + ` --output json > testdata/order.json
  holdfast job journal ` + exampleID + ` --follow --output jsonl | jq -r '.entry.name // empty'`,
		Args:        takes(1, 1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			if follow {
				return a.followJournal(ctx, id)
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.find(ctx, client, id); err != nil {
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
	return cmd
}

// journalColumns are those of the table. The widths are for a journal that is followed.
var journalColumns = []column{{"SEQ", 5}, {"WHEN", 24}, {"KIND", 15}, {"PATH", 6}, {"NAME", 20}, {"DATA", 0}}

// printJournal writes a whole journal.
func (a *app) printJournal(j *holdfast.Journal) error {
	if a.format() != formatTable {
		return a.object(j, nil)
	}
	var header []string
	for _, c := range journalColumns {
		header = append(header, c.name)
	}
	out := a.newList(header...)
	for line := range inTurn(j.Entries, j.Messages) {
		if err := out.add(line, func() []string { return line.row(true) }); err != nil {
			return err
		}
	}
	if out.count == 0 {
		a.notef("The journal is empty: the job is not durable, or has not reached its first step.")
	}
	return out.end()
}

// inTurn returns entries and messages in the order of their times. Of the same time messages come first: entries receive them.
func inTurn(entries []holdfast.JournalEntry, messages []holdfast.JournalMessage) iter.Seq[journalLine] {
	return func(yield func(journalLine) bool) {
		for len(entries) > 0 || len(messages) > 0 {
			var line journalLine
			if len(messages) > 0 && (len(entries) == 0 || !messages[0].At.After(entries[0].At)) {
				line.Message, messages = &messages[0], messages[1:]
			} else {
				line.Entry, entries = &entries[0], entries[1:]
			}
			if !yield(line) {
				return
			}
		}
	}
}

const maxCell = 80

// row is a line as cells of the table. Who sees a whole journal wants to know what nobody has read.
func (l journalLine) row(whole bool) []string {
	if e := l.Entry; e != nil {
		data := clip(onOneLine(e.Data, 0), maxCell)
		if e.Message != 0 { // what there is besides is why it does not decode
			data = clip(strings.TrimSpace("message m"+strconv.FormatInt(e.Message, 10)+" "+onOneLine(e.Data, 0)), maxCell)
		}
		return []string{strconv.FormatInt(e.Seq, 10), clock(e.At), e.Kind, e.Path, e.Name, data}
	}
	m := l.Message
	name, data := m.Name, onOneLine(m.Data, 0)
	if m.From != (holdfast.ID{}) {
		name = m.From.String()
	}
	if m.Error != "" {
		data = m.Error
	}
	if m.State != 0 {
		data = m.State.String() + " " + data
	}
	switch {
	case m.Unread && whole:
		data = "(unread) " + data
	case m.Problem != "":
		data = "(does not decode) " + data
	}
	return []string{"m" + strconv.FormatInt(m.Seq, 10), clock(m.At), "sent " + m.Kind, "", name, clip(data, maxCell)}
}
