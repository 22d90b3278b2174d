package events

import (
	"context"
	"iter"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Detail is something that a watched job has done. One of its fields is set beside Place.
type Detail struct {
	// Place is where to go on after it.
	Place Place
	// Entry is a new entry of the journal: a step that has ended, a timer, a child, a value that
	// was published, and so on.
	Entry *holdfast.JournalEntry
	// Message is a new message to the job. Unread tells whether an entry has received it so far.
	Message *holdfast.JournalMessage
	// Dropped says that the entries from this number on are forgotten, as the job was resumed or
	// has continued as new. Those that were written since follow, under the same numbers.
	Dropped int64
	// DroppedMessages says the same of messages, of a job that has continued as new. Those that it
	// had not received follow, under new numbers.
	DroppedMessages int64
	// Record is the job as it is now: once it is known, and whenever its state, attempt, run time
	// or progress has changed.
	Record *store.Record
}

// Watch yields what a job of the client's namespace has done after a place, and what it does, as it
// happens, until it has finished: the entries of its journal and the messages to it in the order of
// their times, and changes of its state. What was written before such a change comes before it, so
// a finished Record is the last one. If the place's last entry or message is not there any more, as
// it was, that is told first (Dropped, DroppedMessages), and then all that there is.
//
// What a run writes arrives at once, also from other processes; what people do to a job that waits
// may take five seconds, or one where no wake-ups arrive. Only jobs that are watched are told of,
// to those who watch them; nothing is kept for it, and the feed need not be on. A reader may take
// its time: it misses nothing but states that were over before it looked.
//
// Like Wait it keeps trying while the database does not answer. The error of ctx comes last, or
// ErrNotFound if there is no such job.
func Watch(ctx context.Context, client *holdfast.Client, job holdfast.ID, after Place) iter.Seq2[Detail, error] {
	e, _ := access.Engine(client)
	return func(yield func(Detail, error) bool) {
		r := newReading(client, job, after)
		more := true
		err := e.Watch(ctx, client.Namespace(), job, func() (found, enough bool, err error) {
			details, err := r.look(ctx)
			for _, d := range details {
				if more = yield(d, nil); !more {
					return true, true, nil
				}
			}
			return len(details) > 0, r.finished(), err
		})
		if err != nil && more {
			yield(Detail{}, store.About(job, "watching", err))
		}
	}
}
