package events

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// page is how many entries or messages are read at once.
const page = 1000

// reading is what a watcher knows of a job. Of what it has read it keeps enough to notice that
// entries were dropped and their numbers are used again.
type reading struct {
	client   *holdfast.Client
	job      holdfast.ID
	at       Place // of what was told
	seen     growth
	entries  list[holdfast.JournalEntry]
	messages list[holdfast.JournalMessage]
	start    int64          // the entry with which the job last continued as new, 0 if it never did; negative: not known
	received map[int64]bool // the messages that entries have received, of those since then
}

func newReading(client *holdfast.Client, job holdfast.ID, after Place) *reading {
	r := &reading{client: client, job: job, at: after, received: map[int64]bool{}}
	r.entries = list[holdfast.JournalEntry]{after: after.Entry, sum: after.entryMark, mark: entryMark}
	r.messages = list[holdfast.JournalMessage]{after: after.Message, sum: after.messageMark, mark: r.messageMark}
	if after.Entry > 0 { // else the first entries are the first ones that it reads
		r.start = -1
	}
	return r
}

func entryMark(e *holdfast.JournalEntry) mark {
	return mark{e.Seq, e.At.UnixMicro(), e.Lease, e.Kind, e.Path}
}

func (r *reading) messageMark(m *holdfast.JournalMessage) mark {
	return mark{m.Seq, m.At.UnixMicro(), r.start, m.Kind, m.Name}
}

// growth tells without reading a journal whether it may have grown. The zero value is that of no
// job.
type growth struct {
	entries, messages, lease, due int64
	state                         store.State
	attempt                       int
	progress, asked               string
}

func growthOf(r *store.Record) growth {
	g := growth{r.Journal, r.Messages, r.LeaseNumber, r.RunAt.UnixMicro(), r.State, r.Attempt, "", ""}
	if c := r.Checkpoint; c != nil {
		g.progress = fmt.Sprint(c.Percent, c.Message)
	}
	g.asked = fmt.Sprint(r.PauseRequested, r.CancelRequested)
	if w := r.Wait; w != nil {
		g.asked += fmt.Sprint(w.Held, w.Reason, w.Until.UnixMicro())
	}
	return g
}

// changed reports whether a record is told of.
func (g growth) changed(now growth) bool {
	g.entries, g.messages, g.lease = now.entries, now.messages, now.lease
	return g != now
}

// finished reports whether all was read that the job has done.
func (r *reading) finished() bool { return r.seen.state.Finished() }

// look reads what is new. What an error cuts short is read by the next look.
func (r *reading) look(ctx context.Context) (details []Detail, err error) {
	// In this order: a journal that is read after the record has all that was written before it.
	record, err := r.client.Get(ctx, r.job)
	if err != nil {
		return nil, err
	}
	now := growthOf(&record)
	if now == r.seen {
		return nil, nil
	}
	entries, messages, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	r.entries.take(entries)
	r.messages.take(messages)
	for i := range entries.fresh {
		r.received[entries.fresh[i].Message] = true
	}
	for i := range messages.fresh {
		m := &messages.fresh[i]
		m.Unread = m.Kind == "signal" && !r.received[m.Seq]
	}
	if entries.dropped > 0 {
		details = append(details, Detail{Dropped: entries.dropped})
	}
	if messages.dropped > 0 {
		details = append(details, Detail{DroppedMessages: messages.dropped})
	}
	details = inTurn(details, entries.fresh, messages.fresh)
	if r.seen.changed(now) {
		details = append(details, Detail{Record: &record})
	}
	r.place(details, &entries, &messages)
	r.seen = now
	return details, nil
}

// read reads what is new of the entries, and then of the messages.
func (r *reading) read(ctx context.Context) (
	entries change[holdfast.JournalEntry], messages change[holdfast.JournalMessage], err error,
) {
	entries, err = r.entries.look(func(after int64) ([]holdfast.JournalEntry, error) {
		return r.client.JournalEntries(ctx, r.job, after, page)
	})
	if err == nil {
		err = r.begin(ctx, entries.fresh)
	}
	if err == nil {
		messages, err = r.messages.look(func(after int64) ([]holdfast.JournalMessage, error) {
			return r.client.JournalMessages(ctx, r.job, after, page)
		})
	}
	return entries, messages, err
}

// begin notes with which entry the job last continued as new, which is the first one of its
// journal. Its messages are counted from 1 again since then.
func (r *reading) begin(ctx context.Context, fresh []holdfast.JournalEntry) (err error) {
	if r.start < 0 {
		if fresh, err = r.client.JournalEntries(ctx, r.job, 0, 1); err != nil {
			return err
		}
		r.start = 0
	}
	if len(fresh) > 0 && fresh[0].Kind == "continued" {
		r.start, r.received = fresh[0].Seq, map[int64]bool{}
	}
	return nil
}

// place says where to go on after each detail.
func (r *reading) place(details []Detail, entries *change[holdfast.JournalEntry], messages *change[holdfast.JournalMessage]) {
	if entries.dropped == 0 {
		r.at.toEntry(entries.kept()) // as before, but that a place made of numbers gets its marks
	}
	if messages.dropped == 0 {
		r.at.toMessage(messages.kept())
	}
	for i := range details {
		d := &details[i]
		switch {
		case d.Dropped > 0:
			r.at.toEntry(entries.kept())
		case d.DroppedMessages > 0:
			r.at.toMessage(messages.kept())
		case d.Entry != nil:
			r.at.toEntry(entryMark(d.Entry))
		case d.Message != nil:
			r.at.toMessage(r.messageMark(d.Message))
		}
		d.Place = r.at
	}
}

// inTurn adds entries and messages in the order of their times. At the same time messages come
// first, because entries receive them.
func inTurn(details []Detail, entries []holdfast.JournalEntry, messages []holdfast.JournalMessage) []Detail {
	for len(entries) > 0 || len(messages) > 0 {
		if len(messages) > 0 && (len(entries) == 0 || !messages[0].At.After(entries[0].At)) {
			details, messages = append(details, Detail{Message: &messages[0]}), messages[1:]
		} else {
			details, entries = append(details, Detail{Entry: &entries[0]}), entries[1:]
		}
	}
	return details
}
