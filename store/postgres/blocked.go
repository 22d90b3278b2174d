package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// briefly is how long a batch waits for a lock: longer than any transaction of ours takes, and not so long that those would notice who
// wait behind it.
const briefly = "50ms"

// askAgain is how soon a batch looks again whether a key that a caller's transaction holds can be
// had, if others wait with it. Bodies are asked for each time: that waits for nobody.
const askAgain = 20 * time.Millisecond

// atOnce and longest bound how long a key is waited for that was found held.
const (
	atOnce  = 2 * time.Millisecond
	longest = 100 * time.Millisecond
)

// maxBlocked bounds what is remembered; what is forgotten costs a short wait once more.
const maxBlocked = 10_000

// blocked remembers which bodies and keys were found to be held by transactions of callers. What needs them is taken out of a batch
// before it is sent, so that only the first one that meets such a transaction waits, and that briefly.
type blocked struct {
	mu     sync.Mutex
	bodies map[store.ID]bool
	keys   map[string]blockedKey
}

// blockedKey tells when a key was first and last tried in vain.
type blockedKey struct{ since, tried time.Time }

// addBodies notes bodies that could not be had.
func (b *blocked) addBodies(ids []store.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bodies == nil || len(b.bodies) > maxBlocked {
		b.bodies = map[store.ID]bool{}
	}
	for _, id := range ids {
		b.bodies[id] = true
	}
}

// freeBodies notes bodies that can be had again.
func (b *blocked) freeBodies(ids []store.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.bodies, id)
	}
}

// suspects returns those of the bodies that were found held.
func (b *blocked) suspects(ids []store.ID) []store.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bodies) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return !b.bodies[id] })
}

// addKey notes that a key was tried in vain.
func (b *blocked) addKey(key string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys == nil || len(b.keys) > maxBlocked {
		b.keys = map[string]blockedKey{}
	}
	k := b.keys[key]
	if k.tried = now; k.since.IsZero() {
		k.since = now
	}
	b.keys[key] = k
}

func (b *blocked) freeKey(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// hasKey reports whether a key was found held.
func (b *blocked) hasKey(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, held := b.keys[key]
	return held
}

// isDue reports whether it is time to try a key again that was found held.
func (b *blocked) isDue(key string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.keys[key].tried) >= askAgain
}

// waits returns how long each key may be waited for: a moment, but for the one that has been wanted for longest, if nobody waits with
// them. A key that many want is held by one short transaction after the other; only who queues for it gets it.
func (b *blocked) waits(entries []*entry, alone bool, now time.Time) func(*entry) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var oldest *entry
	var age time.Duration
	for _, e := range entries {
		if k, ok := b.keys[e.key()]; ok && alone && now.Sub(k.since) > age {
			oldest, age = e, now.Sub(k.since)
		}
	}
	return func(e *entry) time.Duration {
		if e != oldest {
			return atOnce
		}
		return min(max(age/10, atOnce), longest)
	}
}

// grab locks those of the bodies that nobody holds, until the transaction ends, and returns the others.
func grab(ctx context.Context, t runner, ids []store.ID) (held map[store.ID]bool, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	held = map[store.ID]bool{}
	err = t.run(ctx, "grab_bodies", func(r row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		held[id.Bytes] = true
		return err
	}, uuidsOf(ids))
	return held, err
}

// parentsOf returns the parents that jobs answer when they end.
func parentsOf(ctx context.Context, t runner, ids []store.ID) (map[store.ID]store.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	parents := map[store.ID]store.ID{}
	err := t.run(ctx, "parents_of", func(r row) error {
		var id, parent pgtype.UUID
		err := r.Scan(&id, &parent)
		parents[id.Bytes] = parent.Bytes
		return err
	}, uuidsOf(ids))
	return parents, err
}

// grabFor locks the bodies of jobs, and of the parents that they answer, and returns the jobs of which it has got all.
func (s *Store) grabFor(ctx context.Context, t runner, ids []store.ID) (free []store.ID, err error) {
	parents, err := parentsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(ids)
	for _, parent := range parents {
		wanted = append(wanted, parent)
	}
	held, err := grab(ctx, t, wanted)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return held[id] || held[parents[id]] }), nil
}

// insistently calls f for the jobs that a person wants to do something to, and again, a little later each time, for those that somebody
// else has at the moment. f returns these. It returns those that could not be had: a caller's transaction has them.
func insistently(ctx context.Context, ids []store.ID, f func(ids []store.ID) (moved []store.ID, err error)) ([]store.ID, error) {
	const tries = 8
	for wait, n := time.Millisecond, 1; len(ids) > 0; wait, n = 2*wait, n+1 {
		var err error
		if ids, err = f(ids); err != nil || len(ids) == 0 || n == tries {
			return ids, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
	return ids, nil
}

// one runs single statements, each in a transaction of its own.
type one struct{ store *Store }

func (o one) run(ctx context.Context, name string, each func(row) error, args ...any) error {
	return o.store.send(ctx, statement{name: name, args: args, each: each})
}

// errBlocked is the error of an operation that a caller's transaction is in the way of.
func errBlocked(what string) error {
	return fmt.Errorf("%w, to %s", store.ErrBusy, what)
}

// blocked is errBlocked for an enqueue.
func (e *entry) blocked() error {
	if len(e.Job.UniqueKey) > 0 {
		return errBlocked("enqueue job " + e.Job.ID.String() + ": its unique key")
	}
	return errBlocked("enqueue job " + e.Job.ID.String() + ": its id")
}

// bodies are the jobs whose bodies the batch needs: of those that are sent to, that park, are put
// back, or answer, and whose end is decided.
func (b *batch) bodies() []store.ID {
	var ids []store.ID
	for _, q := range b.sends {
		ids = append(ids, q.Job)
	}
	for _, a := range b.appends {
		if a.Closing {
			ids = append(ids, a.Lease.Job)
		}
	}
	for _, r := range b.runs {
		if !r.isPlain() {
			ids = append(ids, r.bodies()...)
		}
	}
	return ids
}

// bodies are those that the end of a run needs.
func (r *run) bodies() []store.ID {
	var ids []store.ID
	if r.needsBodies() {
		ids = append(ids, r.lease.Job)
	}
	if r.answers && r.parent != (store.ID{}) {
		ids = append(ids, r.parent)
	}
	return ids
}

// setAside takes the operations out of the batch that need what is held. What goes on in a job's
// run stays in its order: an outcome does not go before what is written with it.
func (b *batch) setAside(held map[store.ID]bool) {
	if len(held) == 0 {
		return
	}
	b.sends = slices.DeleteFunc(b.sends, func(q *store.Send) bool {
		if held[q.Job] {
			q.Err = errBlocked("send to job " + q.Job.String())
		}
		return held[q.Job]
	})
	b.appends = slices.DeleteFunc(b.appends, func(a *appending) bool {
		if a.Closing && held[a.Lease.Job] {
			a.Err = errBlocked("write the journal of job " + a.Lease.Job.String())
			return true
		}
		return false
	})
	isHeld := func(r *run) bool {
		if r.isPlain() {
			return false
		}
		return slices.ContainsFunc(r.bodies(), func(id store.ID) bool { return held[id] })
	}
	busy := map[*run]bool{}
	b.runs = slices.DeleteFunc(b.runs, func(r *run) bool {
		if busy[r] = isHeld(r); busy[r] {
			r.outcome.Err = errBlocked("end the run of job " + r.lease.Job.String())
		}
		return busy[r]
	})
	b.twins = slices.DeleteFunc(b.twins, func(r *run) bool {
		if busy[r.twin] {
			r.outcome.Err = r.twin.outcome.Err
		}
		return busy[r.twin]
	})
}

// setAsideKnown takes those operations out of the batch that need what was found held before and
// still is. Keys that it is time to try again are kept apart.
func (s *Store) setAsideKnown(ctx context.Context, b *batch) error {
	if ids := s.blocked.suspects(b.bodies()); len(ids) > 0 {
		held, err := grab(ctx, one{s}, ids)
		if err != nil {
			return err
		}
		s.blocked.freeBodies(slices.DeleteFunc(ids, func(id store.ID) bool { return held[id] }))
		b.setAside(held)
	}
	b.keepApart(func(e *entry) bool { return s.blocked.hasKey(e.key()) })
	if b.isEmpty() {
		b.alone = true
		return nil
	}
	now := time.Now()
	b.doubtful = slices.DeleteFunc(b.doubtful, func(e *entry) bool {
		due := s.blocked.isDue(e.key(), now)
		if !due {
			e.Err = e.blocked()
		}
		return !due
	})
	return nil
}

// keepApart takes enqueues out of the batch that may have to wait.
func (b *batch) keepApart(doubtful func(*entry) bool) {
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool {
		yes := doubtful(e)
		if yes {
			b.doubtful = append(b.doubtful, e)
		}
		return yes
	})
}

// key names what an enqueue may have to wait for.
func (e *entry) key() string {
	if len(e.Job.UniqueKey) > 0 {
		return "key " + string(e.Job.UniqueKey)
	}
	return "id " + string(e.Job.ID[:])
}
