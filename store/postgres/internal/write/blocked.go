package write

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Blocked remembers which bodies and keys were found to be held by transactions of callers. What
// needs them is taken out of a batch before it is sent. While such a transaction is known, bodies
// are asked for before a batch waits for them, and keys are waited for no longer than a moment: so
// the first thing that it holds costs the others a short wait, and each further one next to
// nothing.
type Blocked struct {
	mu     sync.Mutex
	bodies map[store.ID]time.Time // since when
	keys   map[string]blockedKey

	bodiesMet, keysMet time.Time // when such a transaction was met last
}

// blockedKey tells when a key was first wanted and last tried in vain.
type blockedKey struct{ since, tried time.Time }

// askAgain is how soon a batch looks again whether a key that a caller's transaction holds can be
// had, if other operations wait with it. Bodies are tried each time, as that does not wait.
const askAgain = 20 * time.Millisecond

// longest bounds how long a key is queued for that has been wanted for long.
const longest = 100 * time.Millisecond

// cautiousFor is for how long batches are cautious after something was found held for longer than a
// transaction of ours takes: an operation that waits for it is tried again sooner than that.
const cautiousFor = time.Second

// maxBlocked bounds what is remembered; what is forgotten costs a short wait once more.
const maxBlocked = 10_000

// AddBodies notes bodies that could not be had.
func (b *Blocked) AddBodies(ids []store.ID) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bodies == nil || len(b.bodies) > maxBlocked {
		b.bodies = map[store.ID]time.Time{}
	}
	for _, id := range ids {
		if since, known := b.bodies[id]; !known {
			b.bodies[id] = now
		} else if now.Sub(since) >= Briefly {
			b.bodiesMet = now
		}
	}
}

// meetBodies notes that bodies could not be had for longer than a transaction of ours takes.
func (b *Blocked) meetBodies(ids []store.ID) {
	b.AddBodies(ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bodiesMet = time.Now()
}

// freeBodies notes bodies that can be had again.
func (b *Blocked) freeBodies(ids []store.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.bodies, id)
	}
}

// isCautious reports whether bodies are held by a transaction of a caller, as far as is known.
func (b *Blocked) isCautious() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.bodiesMet) < cautiousFor
}

// suspects returns those of the bodies that were found held.
func (b *Blocked) suspects(ids []store.ID) []store.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bodies) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool {
		_, held := b.bodies[id]
		return !held
	})
}

// patience is what a batch begins with.
func (b *Blocked) patience() patience {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.keysMet) < cautiousFor {
		return patience{wait: AtOnce, tries: MostTries}
	}
	return patience{wait: Briefly, tries: MostTries}
}

// addKeys notes keys that were tried in vain by a batch with that patience.
func (b *Blocked) addKeys(p patience, keys ...string) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		k := b.wanted(key, now)
		if k.tried = now; p.waited || now.Sub(k.since) >= Briefly {
			b.keysMet = now
		}
		b.keys[key] = k
	}
}

// suspectKeys notes keys that were not tried as the patience of the batch was over: they are first
// the next time.
func (b *Blocked) suspectKeys(entries []*Entry) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range entries {
		key := e.key()
		b.keys[key] = b.wanted(key, now)
	}
}

// wanted returns what is known of a key that is wanted. The mutex is held.
func (b *Blocked) wanted(key string, now time.Time) blockedKey {
	if b.keys == nil || len(b.keys) > maxBlocked {
		b.keys = map[string]blockedKey{}
	}
	k, known := b.keys[key]
	if !known {
		k.since = now
	}
	return k
}

// freeKeys forgets the keys of enqueues that were tried, and did not wait.
func (b *Blocked) freeKeys(entries []*Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.keys) == 0 {
		return
	}
	for _, e := range entries {
		if e.MayWait() && (e.Err == nil || errors.Is(e.Err, store.ErrConflict)) {
			delete(b.keys, e.key())
		}
	}
}

// hasKey reports whether a key was found held.
func (b *Blocked) hasKey(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, held := b.keys[key]
	return held
}

// isDue reports whether it is time to try a key again that was found held.
func (b *Blocked) isDue(key string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.keys[key].tried) >= askAgain
}

// oldest returns the key of enqueues that has been wanted for longest, and how long it is to be
// waited for; 0 is not at all. A key that many want is held by one short transaction after the
// other; only who queues for it gets it.
func (b *Blocked) oldest(entries []*Entry, now time.Time) (key string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var age time.Duration
	for _, e := range entries {
		if k, ok := b.keys[e.key()]; ok && now.Sub(k.since) > age {
			key, age = e.key(), now.Sub(k.since)
		}
	}
	if wait = min(age/10, longest); wait <= AtOnce {
		wait = 0
	}
	return key, wait
}

// sortByTry puts the enqueues first whose keys were not tried for longest.
func (b *Blocked) sortByTry(entries []*Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(entries, func(x, y *Entry) int { return b.keys[x.key()].tried.Compare(b.keys[y.key()].tried) })
}

// blocked is locks.ErrBlocked for an enqueue.
func (e *Entry) blocked() error {
	switch {
	case e.isNamed():
		return locks.ErrBlocked("enqueue job " + e.Job.ID.String() + ": its key")
	case len(e.Job.UniqueKey) > 0:
		return locks.ErrBlocked("enqueue job " + e.Job.ID.String() + ": its unique key")
	}
	return locks.ErrBlocked("enqueue job " + e.Job.ID.String() + ": its id")
}

// bodies are the jobs whose bodies the batch needs: of those that are sent to, that park, are put
// back, or are answered, whose end is decided, or of which something is said.
func (b *batch) bodies() []store.ID {
	var ids []store.ID
	for _, q := range b.sends {
		ids = append(ids, q.Job)
	}
	for _, a := range b.appends {
		if a.needsBody() {
			ids = append(ids, a.Lease.Job)
		}
	}
	for _, c := range b.checkpoints {
		if !c.Meta.IsEmpty() {
			ids = append(ids, c.Lease.Job)
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
func (r *Run) bodies() []store.ID {
	var ids []store.ID
	if r.needsBody() {
		ids = append(ids, r.Lease.Job)
	}
	if r.Answers && r.Parent != (store.ID{}) {
		ids = append(ids, r.Parent)
	}
	return ids
}

// setAside takes the operations out of the batch that need bodies which cannot be had. What goes on
// in a job's run stays in its order: an outcome does not go before what is written with it.
func (b *batch) setAside(unavailable map[store.ID]bool) {
	if len(unavailable) == 0 {
		return
	}
	b.sends = slices.DeleteFunc(b.sends, func(q *store.Send) bool {
		if unavailable[q.Job] {
			q.Err = locks.ErrBlocked("send to job " + q.Job.String())
		}
		return unavailable[q.Job]
	})
	b.appends = slices.DeleteFunc(b.appends, func(a *appending) bool {
		if a.needsBody() && unavailable[a.Lease.Job] {
			a.Err = locks.ErrBlocked("write the journal of job " + a.Lease.Job.String())
			return true
		}
		return false
	})
	b.checkpoints = slices.DeleteFunc(b.checkpoints, func(c *store.CheckpointWrite) bool {
		blocked := !c.Meta.IsEmpty() && unavailable[c.Lease.Job]
		if blocked {
			c.Err = locks.ErrBlocked("write the metadata or tags of job " + c.Lease.Job.String())
		}
		return blocked
	})
	b.setAsideRuns(func(r *Run) bool {
		if r.isPlain() {
			return false
		}
		return slices.ContainsFunc(r.bodies(), func(id store.ID) bool { return unavailable[id] })
	})
}

// setAsideRuns takes the ends of runs out of the batch that are held.
func (b *batch) setAsideRuns(isHeld func(*Run) bool) {
	busy := map[*Run]bool{}
	b.runs = slices.DeleteFunc(b.runs, func(r *Run) bool {
		if busy[r] = isHeld(r); busy[r] {
			r.outcome.Err = locks.ErrBlocked("end the run of job " + r.Lease.Job.String())
		}
		return busy[r]
	})
	b.twins = slices.DeleteFunc(b.twins, func(r *Run) bool {
		if busy[r.twin] {
			r.outcome.Err = r.twin.outcome.Err
		}
		return busy[r.twin]
	})
}

// setAsideKnown takes those operations out of the batch that need what was found held before and
// still is. Keys that it is time to try again are kept apart.
func (s *Store) setAsideKnown(ctx context.Context, b *batch) error {
	if err := s.setAsideBodies(ctx, b); err != nil {
		return err
	}
	b.keepApart(func(e *Entry) bool { return !e.Required && e.MayWait() && s.Blocked.hasKey(e.key()) })
	now := time.Now()
	b.entries = slices.DeleteFunc(b.entries, func(e *Entry) bool {
		held := e.Required && e.MayWait() && s.Blocked.hasKey(e.key()) && !s.Blocked.isDue(e.key(), now)
		if held {
			e.Err = e.blocked()
		}
		return held
	})
	b.setAsideAppends(func(e *Entry) bool { return s.Blocked.hasKey(e.key()) && !s.Blocked.isDue(e.key(), now) })
	if b.isEmpty() {
		b.alone = b.patient
		return nil
	}
	b.recheck = slices.DeleteFunc(b.recheck, func(e *Entry) bool {
		due := s.Blocked.isDue(e.key(), now)
		if !due {
			e.Err = e.blocked()
		}
		return !due
	})
	return nil
}

// setAsideBodies asks which bodies can be had before the batch waits for them: those that were
// found held, and all of them while a transaction of a caller is known, for that may hold any
// number.
func (s *Store) setAsideBodies(ctx context.Context, b *batch) error {
	cautious := s.Blocked.isCautious()
	if cautious {
		if err := b.findParents(ctx, pg.One{DB: s.DB}); err != nil {
			return err
		}
	}
	ids := b.bodies()
	if !cautious {
		ids = s.Blocked.suspects(ids)
	}
	if len(ids) == 0 {
		return nil
	}
	unavailable, err := locks.Grab(ctx, pg.Light{DB: s.DB}, ids)
	if err != nil {
		return err
	}
	s.Blocked.AddBodies(slices.Collect(maps.Keys(unavailable)))
	s.Blocked.freeBodies(slices.DeleteFunc(ids, func(id store.ID) bool { return unavailable[id] }))
	b.setAside(unavailable)
	return nil
}

// setAsideAppends takes appends out of the batch with children whose ids are held, and what comes
// after them in their runs; unless there is nothing else that would wait with them.
func (b *batch) setAsideAppends(isHeld func(*Entry) bool) {
	busy := map[store.ID]bool{}
	for _, a := range b.appends {
		if slices.ContainsFunc(a.entries, func(e *Entry) bool { return e.MayWait() && isHeld(e) }) {
			busy[a.Lease.Job] = true
		}
	}
	if len(busy) == 0 {
		return
	}
	of := func(job store.ID) bool { return busy[job] }
	if len(b.checkpoints)+len(b.sends)+len(b.invalid)+len(b.entries) == 0 &&
		!slices.ContainsFunc(b.appends, func(a *appending) bool { return !of(a.Lease.Job) }) &&
		!slices.ContainsFunc(b.runs, func(r *Run) bool { return !of(r.Lease.Job) }) {
		return
	}
	b.appends = slices.DeleteFunc(b.appends, func(a *appending) bool {
		if of(a.Lease.Job) {
			a.putAside()
		}
		return of(a.Lease.Job)
	})
	b.setAsideRuns(func(r *Run) bool { return of(r.Lease.Job) })
}

// keepApart takes enqueues out of the batch that may have to wait.
func (b *batch) keepApart(mayWait func(*Entry) bool) {
	b.entries = slices.DeleteFunc(b.entries, func(e *Entry) bool {
		yes := mayWait(e)
		if yes {
			b.recheck = append(b.recheck, e)
		}
		return yes
	})
}

// key names what an enqueue may have to wait for.
func (e *Entry) key() string {
	switch {
	case e.isNamed():
		key := e.Job.Key()
		return "name " + key.Namespace + "\x00" + key.Kind + "\x00" + key.Key
	case len(e.Job.UniqueKey) > 0:
		return "key " + string(e.Job.UniqueKey)
	}
	return "id " + string(e.Job.ID[:])
}
