//go:build soak

package crashtest

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
)

// lagging is a primary with a standby that is not waited for, and a cluster on them.
type lagging struct {
	*load

	primary, standby *pgtest.Cluster
	places           int
}

// put enqueues jobs and returns their ids.
func (l *lagging) put(jobs ...work) (ids []holdfast.ID) {
	l.c.t.Helper()
	for i := range jobs {
		l.places++
		jobs[i].N = l.places
		l.plan[jobs[i].N] = jobs[i]
	}
	l.c.insist(func() (err error) {
		enqueued, err := l.clients[0].EnqueueBatch(l.c.t.Context(), items(jobs))
		for i, r := range enqueued {
			if err == nil && r.Err != nil {
				l.c.t.Fatalf("job %d: %v", jobs[i].N, r.Err)
			}
			ids = append(ids, r.ID)
		}
		return err
	})
	return ids
}

// TestFailoverThatLoses kills PostgreSQL, whose standby is asynchronous and behind, and takes over:
// what was confirmed last is lost, and nothing else is; nothing is stuck, no slot is lost to a run
// that the new primary knows nothing of, and no reader of the feed takes other events for those
// that it has not seen.
func TestFailoverThatLoses(t *testing.T) {
	t.Parallel()
	primary := pgtest.Private(t)
	standby := primary.Standby(t, "second")
	config := workerConfig{
		Database: pgtest.Either(primary, standby), Slots: 2, Beat: 300 * time.Millisecond, Dead: 3 * time.Second, Outages: true,
	}
	c := newCluster(t, config, 1)
	l := &lagging{load: newLoad(c, newRandom(t)()), primary: primary, standby: standby}
	c.joined()
	if _, err := events.On(t.Context(), c.client); err != nil {
		t.Fatal(err)
	}
	kept := l.put(make([]work, 20)...)
	l.done(kept)
	const later = 3_600_000
	holders := l.put(work{Waits: true, Cancel: true, Delay: later}, work{Waits: true, Cancel: true, Delay: later})
	again := l.put(work{Delay: later})
	ended := l.put(work{Waits: true, Cancel: true})[0]
	c.until("it runs", func() bool { return l.begun(ended) > 0 })
	l.falls()

	// What happens now is not on the standby: jobs come and run, one ends that is running there,
	// and both slots are taken.
	lost := l.put(make([]work, 10)...)
	l.runs(again...)
	l.done(append(lost, again...))
	l.cancelled(ended)
	l.runs(holders...)
	c.until("the slots are taken", func() bool { return l.begun(holders[0]) > 0 && l.begun(holders[1]) > 0 })
	l.beats() // the node sees that one has ended
	before, err := events.Look(t.Context(), c.client)
	if err != nil {
		t.Fatal(err)
	}
	primary.Kill(t)
	standby.Promote(t)
	l.feedIsRefused(before.Newest)

	// The runs that hold both slots have lost their leases, or nothing would run any more. One of
	// the slots may go to the job whose end was lost, if that is found to run nowhere before.
	l.runs(append(holders, again...)...)
	c.until("the slots are taken again", func() bool {
		taken := 0
		for _, id := range append([]holdfast.ID{ended}, holders...) {
			if l.begun(id) > 1 {
				taken++
			}
		}
		return taken >= 2
	})
	next := l.put(make([]work, 10)...)
	l.cancelled(holders...)
	l.done(append(append(next, again...), kept...))
	for _, id := range lost {
		if _, err := c.client.Get(t.Context(), id); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("job %s was not to be on the standby: %v", id, err)
		}
	}
	c.until("what had ended runs again", func() bool { return l.begun(ended) > 1 })
	l.cancelled(ended)
	for _, id := range kept {
		if n := l.begun(id); n != 1 {
			t.Errorf("job %s, which had completed on both, has begun %d times", id, n)
		}
	}
	if n := l.begun(again[0]); n != 2 {
		t.Errorf("the job whose end was lost has begun %d times", n)
	}
	leases := map[int64]int{}
	for _, e := range c.effects(0) {
		if e.Job == again[0] && e.Event == eventStart {
			leases[e.Lease]++
		}
	}
	t.Logf("the leases of the job whose end was lost: %v", leases)
}

// runs makes jobs run now that were to run later.
func (l *lagging) runs(ids ...holdfast.ID) {
	l.c.t.Helper()
	var results []store.Result
	l.c.insist(func() (err error) {
		results, err = l.c.client.Retry(l.c.t.Context(), "as planned", ids...)
		return err
	})
	for _, r := range results {
		if r.Err != nil {
			l.c.t.Fatal(r.Err)
		}
	}
}

// beats waits until the node has beaten twice: the first beat may be under way.
func (l *lagging) beats() {
	l.c.t.Helper()
	for range 2 {
		last := l.c.members()[0].BeatAt
		l.c.until("the node beats", func() bool { return l.c.members()[0].BeatAt.After(last) })
	}
}

// cancelled cancels jobs, and waits until they are.
func (l *lagging) cancelled(ids ...holdfast.ID) {
	l.c.t.Helper()
	l.c.insist(func() error {
		_, err := l.c.client.Cancel(l.c.t.Context(), "as planned", ids...)
		return err
	})
	for _, id := range ids {
		l.c.until("it is cancelled", func() bool { return l.c.record(id).State == store.Cancelled })
	}
}

// done waits until jobs have completed.
func (l *lagging) done(ids []holdfast.ID) {
	l.c.t.Helper()
	for _, id := range ids {
		l.c.until("a job has completed", func() bool { return l.c.record(id).State == store.Completed })
	}
}

// begun is how often a job has begun.
func (l *lagging) begun(id holdfast.ID) (n int) {
	for _, e := range l.c.effects(0) {
		if e.Job == id && e.Event == eventStart {
			n++
		}
	}
	return n
}

// falls lets the standby fall behind, once it has all that there is.
func (l *lagging) falls() {
	l.c.t.Helper()
	l.c.until("the standby has all of it", func() bool {
		end := l.primary.Query(l.c.t, "SELECT pg_current_wal_insert_lsn()")
		return l.standby.Query(l.c.t, "SELECT coalesce(pg_last_wal_replay_lsn() >= '"+end+"', false)") == "t"
	})
	l.standby.Set(l.c.t, "primary_conninfo", "")
	l.c.until("the standby is behind", func() bool {
		return l.primary.Query(l.c.t, "SELECT count(*) FROM pg_stat_replication") == "0"
	})
}

// feedIsRefused checks that a position is refused which the new primary does not have.
func (l *lagging) feedIsRefused(at events.Position) {
	l.c.t.Helper()
	var err error
	l.c.until("the feed answers", func() bool {
		_, err = events.List(l.c.t.Context(), l.c.client, at, events.Filter{}, 1)
		return !errors.Is(err, holdfast.ErrUnavailable)
	})
	if !errors.Is(err, events.ErrReset) {
		l.c.t.Errorf("what comes after an event that is gone: %v", err)
	}
}
