package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Publish sets the value of a key that clients can read during the run and after it, and returns
// when it is durable. The value is stored as JSON, of at most WithMaxPayload; one that is larger or
// does not encode is an ErrInvalid. It stays if the job continues as new.
func (r *Run) Publish(key string, v any) error { return r.publish(store.EntryPublished, "key", key, v) }

// Append adds an item to a stream that clients can read during the run and after it, and returns
// when it is durable. Items are values like those of Publish, and never change. They are kept as
// long as the job, even if it continues as new.
func (r *Run) Append(stream string, v any) error {
	return r.publish(store.EntryStreamed, "stream", stream, v)
}

func (r *Run) publish(kind store.EntryKind, what, name string, v any) error {
	if err := checkName(what, name); err != nil {
		return err
	}
	data, err := encode(what+" "+name, v)
	if err != nil {
		return err
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
	if err := checkName("key", key); err != nil { // "" would match any name
		return StreamItem{}, false, err
	}
	entries, err := c.engine.Store.Entries(ctx, store.JournalParams{
		Namespace: c.namespace, Job: job, Kinds: []store.EntryKind{store.EntryPublished}, Name: key, Earlier: true, Newest: true, Limit: 1,
	})
	if err != nil || len(entries) == 0 {
		return StreamItem{}, false, err
	}
	item, err = itemOf(&entries[0])
	return item, err == nil, err
}

// WaitPublished waits for a value of a key newer than the one at the given offset, 0 for any, and
// returns it. If the job has finished and there is no newer value, or there is no such job, the
// error is ErrNotFound. Like Wait it keeps trying while the database does not answer.
func (c *Client) WaitPublished(ctx context.Context, job ID, key string, after int64) (StreamItem, error) {
	if err := checkName("key", key); err != nil {
		return StreamItem{}, err
	}
	var found StreamItem
	newer := false
	err := c.engine.Follow(ctx, c.namespace, job, func() (bool, bool, error) {
		item, ok, err := c.Published(ctx, job, key)
		newer = ok && item.Offset > after
		if newer {
			found = item
		}
		return newer, newer, err
	})
	if err == nil && !newer {
		err = fmt.Errorf("%w: the job has finished", ErrNotFound)
	}
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
		Namespace: c.namespace, Job: job, Kinds: []store.EntryKind{store.EntryStreamed}, Name: stream, Earlier: true, After: after, Limit: limit,
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
// finished or ctx ends. The error of ctx comes last, or ErrNotFound if there is no such job. Like
// Wait it keeps trying while the database does not answer.
func (c *Client) Follow(ctx context.Context, job ID, stream string, after int64) iter.Seq2[StreamItem, error] {
	return func(yield func(StreamItem, error) bool) {
		if err := checkName("stream", stream); err != nil {
			yield(StreamItem{}, err)
			return
		}
		more := true
		err := c.engine.Follow(ctx, c.namespace, job, func() (found, enough bool, err error) {
			for {
				items, err := c.Stream(ctx, job, stream, after, followedAtOnce)
				if err != nil {
					return found, false, err
				}
				for _, item := range items {
					after, found = item.Offset, true
					more = yield(item, nil)
					if !more {
						return true, true, nil
					}
				}
				if len(items) < followedAtOnce {
					return found, false, nil
				}
			}
		})
		if err != nil && more {
			yield(StreamItem{}, store.About(job, "following stream "+stream+" of", err))
		}
	}
}

// followedAtOnce is the page size of a follower.
const followedAtOnce = 1000

func itemOf(e *store.Entry) (StreamItem, error) {
	data, err := journal.Unpack(e.Data, e.Codec)
	return StreamItem{Offset: e.Seq, At: e.At, Value: data}, err
}
