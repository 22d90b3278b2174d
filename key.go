package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Key gives the job a business key: the name that your business gives it, such as "order-42", by
// which Kind.Find, Signal.SendByKey and Signal.SendOrStart find it. It has 1 to 512 bytes, and no
// control characters.
//
// Of the jobs of a kind in a namespace at most one holds a key: from its enqueue until it finishes,
// and for KeepKey after that. An enqueue whose key is held inserts nothing and returns the job that
// holds it, with Existing, and with Differs if that was enqueued with other args. A finished job
// that a person retries or resumes takes its key again; if another job holds it the error is a
// *store.UniqueError.
//
// It cannot be used with Unique, or for a child; both are ErrInvalid. A fork has no key.
func Key(text string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Options.Key = text
		return valid.Key(text)
	})
}

// KeepKey makes a finished job hold its business key for so long after its end, also when it was
// removed at the end of its retention; a negative time, for ever. Default: 0, the key is free when
// the job has finished. For a job without a Key it has no meaning. A key that is kept for ever is
// one row in the database, which goes only if a person deletes the job while it is there.
func KeepKey(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Options.KeepKey = d
		return nil
	})
}

// checkKey settles the options of a job that are about its business key, which middleware may have
// set.
func (s *enqueueSpec) checkKey() error {
	job := &s.enqueue.Job
	o := &job.Options
	switch {
	case o.Key == "":
		o.KeepKey = 0
		return nil
	case s.unique != nil:
		return invalid("key", "a job with a business key cannot have the option Unique, too")
	case job.Answers:
		return invalid("key", "a child cannot have a business key")
	}
	if o.KeepKey < 0 {
		o.KeepKey = store.KeepForever
	}
	return valid.Key(o.Key)
}

// Find returns the handle of the job that holds a business key, or, if no job does, of the one that
// held it last. Of a job that was removed and keeps its key there is nothing but the handle: its
// Get is ErrNotFound. The errors are ErrNotFound, if no job of the kind has the key, and
// ErrInvalid.
func (k Kind[In, Out]) Find(ctx context.Context, c *Client, key string) (*Job[Out], error) {
	if k.err != nil {
		return nil, k.err
	}
	id, err := c.FindKey(ctx, k.name, key)
	if err != nil {
		return nil, err
	}
	return k.Job(c, id), nil
}

// FindKey does the same as Kind.Find for programs that do not know the types of the kind.
func (c *Client) FindKey(ctx context.Context, kind, key string) (ID, error) {
	err := errors.Join(checkKind(kind), valid.Key(key))
	if err != nil {
		return ID{}, err
	}
	return c.engine.Store.Find(ctx, store.JobKey{Namespace: c.namespace, Kind: kind, Key: key})
}

// SendByKey sends the signal to the job of a kind that holds a business key, and returns when it is
// durable. It starts no job: see SendOrStart. The errors are ErrNotFound, if no job has the key,
// and ErrConflict, if the job that had it last has finished.
func (s Signal[T]) SendByKey(ctx context.Context, c *Client, kind, key string, v T, opts ...SendOption) (SendResult, error) {
	if s.err != nil {
		return SendResult{}, s.err
	}
	data, err := encode("signal "+s.name, v)
	if err != nil {
		return SendResult{}, err
	}
	return c.SendSignalByKey(ctx, kind, key, s.name, data, opts...)
}

// SendSignalByKey does the same as Signal.SendByKey with a payload that is already JSON.
func (c *Client) SendSignalByKey(
	ctx context.Context, kind, key, signal string, payload json.RawMessage, opts ...SendOption,
) (SendResult, error) {
	id, err := c.FindKey(ctx, kind, key)
	for err == nil {
		result, sendErr := c.SendSignal(ctx, id, signal, payload, opts...)
		if !errors.Is(sendErr, ErrConflict) {
			return result, sendErr
		}
		// It has finished. Another job may hold the key by now.
		next, findErr := c.FindKey(ctx, kind, key)
		if findErr == nil && next == id {
			return result, sendErr
		}
		id, err = next, findErr
	}
	if r, _ := asked.Take(ctx); r != nil {
		// There is no such job, any more perhaps: a repeated request is answered as it was.
		if result, askErr := c.SendSignal(ctx, ID{}, signal, payload, opts...); r.Repeated {
			return result, askErr
		}
	}
	return SendResult{}, err
}
