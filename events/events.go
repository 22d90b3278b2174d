package events

import (
	"context"
	"iter"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Event is a job that has arrived in a state. Package store says what is told, and how (Feed).
type Event = store.Change

// Position is a place in the feed; its text (String) can be kept and parsed (ParsePosition). The
// zero value is before all that is kept.
type Position = store.FeedPosition

// ResetError says that events after a position are not kept any more, or that the position is of
// another life of the feed. Who gets it has missed events: it looks at its jobs, and goes on from
// ResetError.Oldest or ResetError.Newest.
type ResetError = store.FeedResetError

// Status says whether the feed is on, and what it keeps.
type Status = store.FeedStatus

// ErrOff is an ErrConflict: the feed is off.
var ErrOff = store.ErrFeedOff

// ErrReset is an ErrConflict: events after a position are gone. It is a *ResetError.
var ErrReset = store.ErrFeedReset

// Filter says which events are read: those of which all holds that is set. Of a job that has been
// removed meanwhile neither namespace, queue nor kind is known: its events pass.
type Filter struct {
	Queues []string
	Kinds  []string
	States []store.State
	Jobs   []holdfast.ID
	// Marks lets Read return an Event that has only a Position, and State 0, where it has left out
	// many events, about a thousand: a place to go on from for a reader that rarely gets one.
	Marks bool
}

// Page is a part of the feed.
type Page struct {
	Events []Event
	Next   Position // where to go on
	More   bool     // there is more now
}

// ParsePosition is the inverse of Position.String. The error is ErrInvalid.
func ParsePosition(text string) (Position, error) { return store.ParseFeedPosition(text) }

// On switches the feed on, for all processes of the database, and does nothing if it is on. All
// changes of transactions that begin to write after it has returned are told. On PostgreSQL it
// waits until no other transaction uses the tables of jobs, not even to read them, up to 30 seconds
// or until ctx ends (ErrBusy), and the user has to own the tables.
func On(ctx context.Context, client *holdfast.Client) (Status, error) {
	e, _ := access.Engine(client)
	return e.Store.SetFeed(ctx, true, client.Actor())
}

// Off switches the feed off, and removes what it keeps. Readers get ErrOff.
func Off(ctx context.Context, client *holdfast.Client) (Status, error) {
	e, _ := access.Engine(client)
	return e.Store.SetFeed(ctx, false, client.Actor())
}

// Look tells whether the feed is on, and between which positions it keeps events. To read what
// happens from now on, begin after Status.Newest.
func Look(ctx context.Context, client *holdfast.Client) (Status, error) {
	e, _ := access.Engine(client)
	if err := e.Store.OrderFeed(ctx); err != nil {
		return Status{}, err
	}
	return e.Store.FeedStatus(ctx)
}

// Read returns the events of the client's namespace after a position, in their order, those to come
// too: it ends only with an error, which comes last, such as that of ctx. The error is a
// *ResetError if events after the position are gone, and ErrOff if the feed is off; an
// ErrUnavailable may pass, and reading may go on after the last position.
//
// All readers of a client's process share what is read from the database. An event arrives some 20
// milliseconds after its commit. A reader takes as long as it likes for an event: if it falls far
// behind it reads pages of its own, and misses nothing as long as the events are kept.
func Read(ctx context.Context, client *holdfast.Client, from Position, filter Filter) iter.Seq2[Event, error] {
	e, _ := access.Engine(client)
	namespace := client.Namespace()
	return func(yield func(Event, error) bool) {
		left := 0
		for at := from; ; {
			changes, next, err := e.Feed.After(ctx, at)
			if err != nil {
				yield(Event{}, err)
				return
			}
			at = next
			for _, c := range changes {
				if left++; filter.passes(namespace, &c) {
					if left = 0; !yield(c, nil) {
						return
					}
				}
			}
			if filter.Marks && left >= markAfter {
				if left = 0; !yield(Event{Position: at}, nil) {
					return
				}
			}
		}
	}
}

// markAfter is how many events are left out before a mark.
const markAfter = 1000

// List returns the events of the client's namespace among the next limit ones after a position, 1
// to 10,000, without waiting for any. A page may have fewer, and none, though there are more.
func List(ctx context.Context, client *holdfast.Client, from Position, filter Filter, limit int) (Page, error) {
	e, _ := access.Engine(client)
	if err := e.Store.OrderFeed(ctx); err != nil {
		return Page{}, err
	}
	read, err := e.Store.ReadFeed(ctx, store.FeedParams{After: from, Limit: limit})
	if err != nil {
		return Page{}, err
	}
	page := Page{Next: read.Next, More: read.More}
	for i := range read.Changes {
		if c := &read.Changes[i]; filter.passes(client.Namespace(), c) {
			page.Events = append(page.Events, *c)
		}
	}
	return page, nil
}

// passes reports whether an event is of a namespace, and of those that are asked for.
func (f *Filter) passes(namespace string, c *Event) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, c.State) || len(f.Jobs) > 0 && !slices.Contains(f.Jobs, c.Job) {
		return false
	}
	return c.Namespace == "" || c.Namespace == namespace &&
		(len(f.Queues) == 0 || slices.Contains(f.Queues, c.Queue)) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, c.Kind))
}
