package slots

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// enqueues returns an enqueue of a job in each of the queues.
func enqueues(queues ...string) (jobs []*store.Enqueue) {
	for _, name := range queues {
		jobs = append(jobs, &store.Enqueue{Job: store.Job{Queue: name}})
	}
	return jobs
}

// TestMayStart: jobs start with their enqueue only if no other job is known that could use the
// slot.
func TestMayStart(t *testing.T) {
	b := newBed(t, 1)
	for _, c := range []struct {
		when string
		do   func()
		may  bool
	}{
		{"at first", func() {}, false},
		{"after a claim of nothing", b.empty, true},
		{"after a wake-up", func() { b.Heard("", b.now) }, false},
		{"after a claim of nothing again", b.empty, true},
		{"without a slot", func() { b.admit("", 1) }, false},
	} {
		c.do()
		if may := b.MayStart(b.now); may != c.may {
			t.Errorf("%s jobs may start: %t, want %t", c.when, may, c.may)
		}
	}
}

// TestReserveStopsWhereAJobMustWait: jobs start in order.
func TestReserveStopsWhereAJobMustWait(t *testing.T) {
	for name, c := range map[string]struct {
		jobs  []*store.Enqueue
		heard string
		n     int
	}{
		"no jobs":                 {nil, "-", 0},
		"room for all":            {enqueues("b", "a", "b"), "-", 3},
		"the queue is full":       {enqueues("b", "a", "a", "b"), "-", 2},
		"the queue may have jobs": {enqueues("b", "b", "a", "b"), "a", 2},
		"the node is full":        {enqueues("b", "b", "b", "b", "b", "b"), "-", 4},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 4, queue("a", 1), queue("b", 0))
			b.empty()
			b.Heard(c.heard, b.now)
			if n := b.Reserve(c.jobs, b.now); n != c.n {
				t.Errorf("there is room for %d, want %d", n, c.n)
			}
			if d := b.Demand(b.now); d.Limit != 4-c.n {
				t.Errorf("after %d reservations of 4 slots there is room for %d", c.n, d.Limit)
			}
		})
	}
}

// TestReservationsBecomeSlotsOrAreReleased: the store has started some of the jobs.
func TestReservationsBecomeSlotsOrAreReleased(t *testing.T) {
	for claimed := range 4 {
		b := newBed(t, 4, queue("a", 3), queue("b", 0))
		b.empty()
		jobs := enqueues("a", "a", "a")
		if n := b.Reserve(jobs, b.now); n != 3 {
			t.Fatalf("there is room for %d, want 3", n)
		}
		b.expect("with 3 reservations", 1, 0, 1)
		if start := b.AdmitReserved(jobs, b.claimed("a", claimed)); len(start) != claimed {
			t.Errorf("%d of %d jobs have a slot", len(start), claimed)
		}
		b.expect("then", 4-claimed, 3-claimed, 4-claimed)
	}
}

// TestReservationsMayBePrefetched: there is room for what is expected to get a slot soon.
func TestReservationsMayBePrefetched(t *testing.T) {
	b := newBed(t, 1)
	b.endEach("", time.Millisecond, 2*prefetchHorizon)
	b.empty()
	jobs := enqueues("", "")
	if n := b.Reserve(jobs, b.now); n != 2 {
		t.Fatalf("there is room for %d, want 2", n)
	}
	b.expect("with 2 reservations", 48)
	if start := b.AdmitReserved(jobs, b.claimed("", 2)); len(start) != 0 {
		t.Errorf("%d jobs have a slot that is in use", len(start))
	}
	b.expect("with 2 prefetched jobs", 48)
}
