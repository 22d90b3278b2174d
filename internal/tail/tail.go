package tail

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// Interval is how long a round waits before it reads.
	Interval = 20 * time.Millisecond
	// Kept is how many changes are kept for readers that are a little behind.
	Kept = 10_000
	// page is how many changes are read at once.
	page = 1000
)

// Tail is the end of the feed of one store. Use New.
type Tail struct {
	feed store.Feed

	mu     sync.Mutex
	recent []store.Change     // the last ones before end, up to twice Kept
	end    store.FeedPosition // zero: nothing was read, or it has to be found again
	more   bool               // there was more when it was read last: the next round waits for nothing
	round  *round             // that is under way, or nil
}

// round is one look at the database.
type round struct {
	over chan struct{}
	err  error // once it is over
}

// errAbandoned ends a round whose reader has gone.
var errAbandoned = errors.New("the reader of the round has gone")

// New returns the tail of a feed, of which nothing was read yet.
func New(feed store.Feed) *Tail { return &Tail{feed: feed} }

// After returns changes that come after a position, and the position after them. It waits until
// there is one. The zero position is before all that is kept. All readers share the changes, so
// none may write to them.
func (t *Tail) After(ctx context.Context, from store.FeedPosition) ([]store.Change, store.FeedPosition, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, from, err
		}
		if changes, ok := t.known(from); ok {
			if len(changes) > 0 {
				return changes, changes[len(changes)-1].Position, nil
			}
			if err := t.wait(ctx, from); err != nil {
				return nil, from, err
			}
			continue
		}
		own, err := t.feed.ReadFeed(ctx, store.FeedParams{After: from, Limit: page})
		if err != nil {
			return nil, from, err
		}
		if len(own.Changes) > 0 {
			return own.Changes, own.Next, nil
		}
		from = own.Next
		if r := t.catch(from); r != nil {
			select {
			case <-r.over:
			case <-ctx.Done():
			}
		}
	}
}

// known returns what is known to come after a position, if the position is where the tail is.
func (t *Tail) known(from store.FeedPosition) (changes []store.Change, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	behind := t.end.Count - from.Count
	if from.IsZero() || from.Life != t.end.Life || behind < 0 || behind > int64(len(t.recent)) {
		return nil, false
	}
	begin := int64(len(t.recent)) - behind
	end := begin + min(behind, page)
	return t.recent[begin:end:end], true // nothing writes to these again
}

// catch lets the tail go on from a position to which a reader has come, unless it is farther. It
// returns the round to wait for before that, if one is under way.
func (t *Tail) catch(at store.FeedPosition) *round {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.Life == t.end.Life && at.Count <= t.end.Count {
		return nil
	}
	if t.round == nil {
		t.recent, t.end = nil, at
	}
	return t.round
}

// wait waits for a round to end that reads what comes after a position, and does it itself if there
// is none.
func (t *Tail) wait(ctx context.Context, from store.FeedPosition) error {
	t.mu.Lock()
	if t.end != from {
		t.mu.Unlock()
		return nil
	}
	r := t.round
	mine, behind := r == nil, t.more
	if mine {
		r = &round{over: make(chan struct{})}
		t.round = r
	}
	t.mu.Unlock()
	if mine {
		t.run(ctx, r, from, behind)
	}
	select {
	case <-r.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if errors.Is(r.err, errAbandoned) || errors.Is(r.err, store.ErrFeedReset) {
		return ctx.Err() // each finds out about its own position
	}
	return r.err
}

// run does a round, at once if it is known that there is more.
func (t *Tail) run(ctx context.Context, r *round, after store.FeedPosition, behind bool) {
	var got store.FeedPage
	err := errAbandoned // also if the store panics
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case err == nil:
			t.recent, t.end = append(t.recent, got.Changes...), got.Next
			if len(t.recent) > 2*Kept { // not with each round: that would copy all of them for one
				t.recent = slices.Clone(t.recent[len(t.recent)-Kept:])
			}
		case errors.Is(err, store.ErrConflict): // it is off, or has another life
			t.recent, t.end = nil, store.FeedPosition{}
		}
		t.round, r.err, t.more = nil, err, err == nil && got.More
		close(r.over)
	}()
	if !behind && !pause(ctx) {
		return
	}
	looked := t.feed.OrderFeed(ctx)
	if looked == nil {
		got, looked = t.feed.ReadFeed(ctx, store.FeedParams{After: after, Limit: page})
	}
	if looked == nil || ctx.Err() == nil {
		err = looked
	}
}

// pause waits for Interval, and reports whether ctx has not ended meanwhile.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(Interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
