package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// Publish sets the value of a key that clients can read while the run goes on, and after it. The
// value stays if the job continues as new.
func (r *Run) Publish(key string, v any) error { return r.publish(store.EntryPublished, "key", key, v) }

// Append adds an item to a stream that clients can read while the run goes on, and after it. Items
// never change. They are kept as long as the job, even if it continues as new.
func (r *Run) Append(stream string, v any) error {
	return r.publish(store.EntryStreamed, "stream", stream, v)
}

func (r *Run) publish(kind store.EntryKind, what, name string, v any) error {
	if err := checkName(what, name); err != nil {
		return err
	}
	data, err := encode(v)
	if err != nil {
		return invalid(what, "%s: cannot encode %T: %v", name, v, err)
	}
	if err := checkJSON(what+" "+name, data, r.client.limit); err != nil {
		return err
	}
	return r.strand.Publish(kind, name, data)
}

// StreamItem is an item of a stream, or the value of a key.
type StreamItem struct {
	Offset int64 // grows with each item; read on after it
	At     time.Time
	Value  json.RawMessage
}

// Published returns the last value that a job has published under a key. ok is false if there is
// none (yet).
func (c *Client) Published(ctx context.Context, job ID, key string) (item StreamItem, ok bool, err error) {
	if err := checkName("key", key); err != nil { // no name would be any name
		return StreamItem{}, false, err
	}
	entries, err := c.engine.Store.Entries(ctx, store.JournalParams{
		Job: job, Kinds: []store.EntryKind{store.EntryPublished}, Name: key, Earlier: true, Newest: true, Limit: 1,
	})
	if err != nil || len(entries) == 0 {
		return StreamItem{}, false, err
	}
	item, err = itemOf(&entries[0])
	return item, err == nil, err
}

// WaitPublished waits for a value of a key newer than the one at the given offset, 0 for any, and
// returns it. If the job has finished or was removed and there is no newer value, the error is
// ErrNotFound.
func (c *Client) WaitPublished(ctx context.Context, job ID, key string, after int64) (StreamItem, error) {
	follower := c.engine.Follow(job)
	defer follower.Close()
	var found StreamItem
	err := c.follow(ctx, follower, job, func() (bool, error) {
		item, ok, err := c.Published(ctx, job, key)
		found = item
		return ok && item.Offset > after, err
	})
	if err != nil {
		return StreamItem{}, store.About(job, "waiting for key "+key+" of", err)
	}
	return found, nil
}

// Stream returns items of a job's stream after an offset, 0 for the beginning, oldest first: at
// most limit, which is 1 to 1000.
func (c *Client) Stream(ctx context.Context, job ID, stream string, after int64, limit int) ([]StreamItem, error) {
	if err := checkName("stream", stream); err != nil {
		return nil, err
	}
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	entries, err := c.engine.Store.Entries(ctx, store.JournalParams{
		Job: job, Kinds: []store.EntryKind{store.EntryStreamed}, Name: stream, Earlier: true, After: after, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	items := make([]StreamItem, len(entries))
	for i := range entries {
		if items[i], err = itemOf(&entries[i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// Follow yields the items of a job's stream after an offset, as they come, until the job has
// finished or ctx ends. The error of ctx comes last.
func (c *Client) Follow(ctx context.Context, job ID, stream string, after int64) iter.Seq2[StreamItem, error] {
	return func(yield func(StreamItem, error) bool) {
		follower := c.engine.Follow(job)
		defer follower.Close()
		for {
			var items []StreamItem
			err := c.follow(ctx, follower, job, func() (bool, error) {
				some, err := c.Stream(ctx, job, stream, after, 1000)
				items = some
				return len(some) > 0, err
			})
			if err != nil {
				if !isEnd(err) {
					yield(StreamItem{}, err)
				}
				return
			}
			for _, item := range items {
				after = item.Offset
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

func itemOf(e *store.Entry) (StreamItem, error) {
	data, err := engine.Unpack(e.Data, e.Codec)
	return StreamItem{Offset: e.Seq, At: e.At, Value: data}, err
}

// errEnded tells a follower that nothing will come any more.
var errEnded = fmt.Errorf("%w: the job has finished", ErrNotFound)

func isEnd(err error) bool { return errors.Is(err, errEnded) }

// follow looks whenever there may be something, until look finds it or the job has finished.
func (c *Client) follow(ctx context.Context, follower *engine.Follower, job ID, look func() (bool, error)) error {
	for {
		if found, err := look(); found || err != nil {
			follower.Found()
			return err
		}
		ended, err := c.engine.Store.Ended(ctx, []ID{job})
		if err != nil {
			return err
		}
		if len(ended) > 0 { // it has finished, or is not there
			// What was written before the end is found by a look after it.
			if found, err := look(); found || err != nil {
				return err
			}
			return errEnded
		}
		if err := follower.Wait(ctx); err != nil {
			return err
		}
	}
}
