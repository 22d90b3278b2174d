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
	seen     growth
	entries  list[holdfast.JournalEntry]
	messages list[holdfast.JournalMessage]
	received map[int64]bool // the messages that entries have received
}

func newReading(client *holdfast.Client, job holdfast.ID, after Place) *reading {
	return &reading{
		client: client, job: job, received: map[int64]bool{},
		entries: list[holdfast.JournalEntry]{after: after.Entry, mark: func(e *holdfast.JournalEntry) mark {
			return mark{e.Seq, e.At.UnixMicro(), e.Lease, e.Kind, e.Path}
		}},
		messages: list[holdfast.JournalMessage]{after: after.Message, mark: func(m *holdfast.JournalMessage) mark {
			return mark{m.Seq, m.At.UnixMicro(), 0, m.Kind, m.Name}
		}},
	}
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
	entries, err := r.entries.look(func(after int64) ([]holdfast.JournalEntry, error) {
		return r.client.JournalEntries(ctx, r.job, after, page)
	})
	if err != nil {
		return nil, err
	}
	messages, err := r.messages.look(func(after int64) ([]holdfast.JournalMessage, error) {
		return r.client.JournalMessages(ctx, r.job, after, page)
	})
	if err != nil {
		return nil, err
	}
	r.entries.take(entries)
	r.messages.take(messages)
	if entries.dropped > 0 {
		details = append(details, Detail{Dropped: entries.dropped})
	}
	for i := range entries.fresh {
		r.received[entries.fresh[i].Message] = true
	}
	for i := range messages.fresh {
		m := &messages.fresh[i]
		m.Unread = m.Kind == "signal" && !r.received[m.Seq]
	}
	details = inTurn(details, entries.fresh, messages.fresh)
	if r.seen.changed(now) {
		details = append(details, Detail{Record: &record})
	}
	r.seen = now
	return details, nil
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
