package push

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// readerKind is the kind of the jobs that read.
	readerKind = "holdfast.webhook"
	// noteEvery is how often the position of a reader is written that has nothing to deliver.
	noteEvery = 10 * time.Second
	// lookWithin is how long a reader waits for events before it looks whether it is to go on.
	lookWithin = 2 * time.Second
	// again is after how long a reader goes on that could not read, as while the feed is off.
	again = 5 * time.Second
)

// reading are the args of a reader's job.
type reading struct {
	Webhook string             `json:"webhook"`
	ID      string             `json:"id"`
	After   store.FeedPosition `json:"after"`
}

// place is the checkpoint of a reader.
type place struct {
	After store.FeedPosition `json:"after"`
}

// readers are the jobs that read. Each goes on where the last attempt was. Only crashes count as
// attempts, and one that was in a thousand of them is retried (readOne).
var readers = holdfast.NewTask[reading](readerKind, holdfast.Queue(endpoint.DeliveryQueue), holdfast.Priority(1),
	holdfast.MaxAttempts(1000), holdfast.Backoff(time.Second, time.Minute))

// idOf is an id that is made of what it is for, at a time.
func idOf(at time.Time, parts ...string) (id holdfast.ID) {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	copy(id[:], h.Sum(nil))
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0F|0x70, id[8]&0x3F|0x80 // a UUIDv7
	return id
}

// readAll sees to it that each webhook that is enabled has a reader.
func (n *node) readAll(ctx context.Context, s *settings, log *slog.Logger) {
	for name, e := range s.webhooks {
		if e.Set.Disabled != "" {
			continue
		}
		if err := n.readOne(ctx, name, e); err != nil && ctx.Err() == nil {
			log.Warn("a webhook has no reader; it is tried again", "webhook", name, "error", err)
		}
	}
}

func (n *node) readOne(ctx context.Context, name string, e *endpoint.Entry[endpoint.Webhook]) error {
	id := idOf(e.CreatedAt, "reader", e.Set.ID, e.Set.After.String())
	info, err := n.client.Get(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		_, err = readers.Enqueue(ctx, n.client, reading{Webhook: name, ID: e.Set.ID, After: e.Set.After}, holdfast.JobID(id))
		return err
	case err != nil || !info.State.Finished():
		return err
	case info.State != store.Cancelled: // what has completed was ended by a server that knew less
		_, err = n.client.Retry(ctx, "a webhook has its reader for good", id)
		return err
	}
	return disable(ctx, n.client, e, fmt.Sprintf("job %s, which reads the events for it, has ended: %s", id, info.State))
}

// disable lets a webhook be told of nothing, unless it was changed to read from elsewhere.
func disable(ctx context.Context, client *holdfast.Client, e *endpoint.Entry[endpoint.Webhook], why string) error {
	_, err := endpoint.Update(ctx, client, e.Name, func(is *endpoint.Entry[endpoint.Webhook]) error {
		if is.Set.ID == e.Set.ID && is.Set.After == e.Set.After && is.Set.URL == e.Set.URL && is.Set.Disabled == "" {
			is.Set.Disabled = why
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// current is what is set of the webhook that a reader reads for, or nil if it is not to go on. What
// the node knows may be of a moment ago, or of long ago if it cannot look: a reader ends by what
// the database says alone.
func (n *node) current(ctx context.Context, r *reading) (*endpoint.Entry[endpoint.Webhook], error) {
	if e := n.now.Load().webhooks[r.Webhook]; e != nil && r.isOf(&e.Set) {
		return e, nil
	}
	e, err := endpoint.Get[endpoint.Webhook](ctx, n.client, r.Webhook)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !r.isOf(&e.Set):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &e, nil
}

// isOf reports whether the reader is that of a webhook, as it is set.
func (r *reading) isOf(w *endpoint.Webhook) bool {
	return w.ID == r.ID && w.After == r.After && w.Disabled == ""
}

// read is the handler of readers.
func (n *node) read(run *holdfast.Run, r reading) error {
	at := place{After: r.After}
	if _, err := run.LoadCheckpoint(&at); err != nil {
		return err
	}
	feed, _ := access.Engine(n.client)
	noted := time.Now()
	filter := where{log: run.Logger(nil).With("webhook", r.Webhook)}
	for {
		e, err := n.current(run, &r)
		if e == nil {
			return err
		}
		changes, next, err := n.look(run, feed, at.After)
		reset, isReset := errors.AsType[*store.FeedResetError](err)
		switch {
		case run.Err() != nil:
			return context.Cause(run)
		case n.leaving.Err() != nil:
			return holdfast.Snooze(time.Millisecond) // another node goes on
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case isReset:
			run.Logger(nil).Warn("events were missed: they are not kept any more", "after", at.After, "oldest", reset.Oldest)
			changes, next = nil, reset.Oldest
		case err != nil:
			run.Logger(nil).Warn("cannot read events; it is tried again", "error", err)
			n.rest(run)
			continue
		}
		at.After = next
		jobs, err := n.deliveriesOf(e, &filter, changes)
		if err == nil && (len(jobs) > 0 || isReset || time.Since(noted) >= noteEvery) {
			err = save(run, at, jobs)
			noted = time.Now()
		}
		if err != nil {
			return err
		}
	}
}

// rest waits until a reader tries again. It goes on with its run: each other one would leave a
// record.
func (n *node) rest(run *holdfast.Run) {
	ctx, stop := context.WithCancel(run)
	defer stop()
	defer context.AfterFunc(n.leaving, stop)()
	supervise.Sleep(ctx, again)
}

// look returns the changes that come after a position, for as long as a reader may wait for them.
func (n *node) look(run *holdfast.Run, e *engine.Engine, after store.FeedPosition) ([]store.Change, store.FeedPosition, error) {
	ctx, stop := context.WithTimeout(run, lookWithin)
	defer stop()
	defer context.AfterFunc(n.leaving, stop)()
	return e.Feed.After(ctx, after)
}

// save keeps the place, and enqueues what comes before it, at once.
func save(run *holdfast.Run, at place, jobs []*store.Job) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return access.SaveWith(run, data, jobs)
}

// deliveriesOf are the jobs that tell a webhook of changes.
func (n *node) deliveriesOf(
	e *endpoint.Entry[endpoint.Webhook], filter *where, changes []store.Change,
) (jobs []*store.Job, err error) {
	filter.is(e.Set.Filter.Where)
	for i := range changes {
		c := &changes[i]
		if !e.Set.Filter.Passes(e.Namespace, c) {
			continue
		}
		m := endpoint.MessageOf(c)
		if !filter.passes(&m) {
			continue
		}
		id := idOf(c.At, "delivery", e.Set.ID, c.Position.String())
		job, err := access.Job(n.client, endpoint.Deliver(e, id.String(), m))
		if err != nil {
			return nil, err
		}
		job.ID = id
		jobs = append(jobs, job)
	}
	return jobs, nil
}
