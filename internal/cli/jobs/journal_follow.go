package jobs

import (
	"context"
	"iter"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// followJournal prints a journal as it grows, and returns when the job has finished.
func (a verbs) followJournal(ctx context.Context, id holdfast.ID) error {
	out, err := a.followed(views.JournalColumns...)
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if _, err := a.Find(ctx, client, id); err != nil {
			return err
		}
		defer a.printReason(ctx, client, id)()
		return a.writeDetails(out, events.Watch(ctx, client, id, events.Place{}))
	})
}

// followed starts the output of a verb that follows.
func (a verbs) followed(columns ...output.Column) (*output.Tail, error) {
	if out := a.NewTail(columns...); out != nil {
		return out, nil
	}
	return nil, arg.Usagef("--follow cannot write %s, which is one value; use --output jsonl", a.Asked)
}

// writeDetails prints entries and messages as they come.
func (a verbs) writeDetails(out *output.Tail, details iter.Seq2[events.Detail, error]) error {
	for d, err := range details {
		if err != nil {
			return err
		}
		if d.Dropped > 0 && out.Format == output.FormatTable {
			a.Notef("The job was resumed or continued as new: entries from %d on were dropped.", d.Dropped)
		}
		if d.DroppedMessages > 0 && out.Format == output.FormatTable {
			a.Notef("The job has continued as new: messages from %d on were dropped, and those that were not received follow.", d.DroppedMessages)
		}
		if d.Entry == nil && d.Message == nil {
			continue
		}
		line := output.Hidden(&a.Printer, views.JournalLine{Entry: d.Entry, Message: d.Message})
		if err := out.Add(line, func() []string { return line.Row(false) }); err != nil {
			return err
		}
	}
	return nil
}
