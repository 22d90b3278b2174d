package slots

import (
	"cmp"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func TestRoomIsTheFreeSlots(t *testing.T) {
	b := newBed(t, 10)
	b.expect("at first", 10)
	b.admit("any", 4)
	b.expect("with 4 jobs", 6)
	b.admit("other", 6)
	b.expect("with 10 jobs", 0)
}

func TestRoomOfQueues(t *testing.T) {
	b := newBed(t, 10, queue("a", 3), queue("b", 0), queue("c", 20))
	b.expect("at first", 10, 3, 10, 10)
	if n := b.Most(); n != 10 {
		t.Errorf("the queues can use %d slots of 10", n)
	}
	a := b.admit("a", 3)
	b.expect("when a is full", 7, 0, 7, 7)
	b.admit("b", 6)
	b.expect("when one is free", 1, 0, 1, 1)
	b.end(a[0])
	b.expect("when a job of a has ended", 3, 2, 3, 3) // one more than are free, as another may end soon

	few := newBed(t, 10, queue("a", 2), queue("b", 3))
	few.expect("for two queues with limits", 5, 2, 3)
	if n := few.Most(); n != 5 {
		t.Errorf("the queues can use %d slots, want 5", n)
	}
}

func TestServes(t *testing.T) {
	all, some := newBed(t, 1), newBed(t, 1, queue("a", 0))
	for name, want := range map[string]bool{"": true, "a": true, "b": false} {
		if !all.Serves(name) || some.Serves(name) != want {
			t.Errorf("queue %q is served: %t by a node of all queues, %t by one of a", name, all.Serves(name), some.Serves(name))
		}
	}
}

// TestPrefetchFollowsWhatEnds: while jobs are short more are claimed than have a slot, and none
// when they are long.
func TestPrefetchFollowsWhatEnds(t *testing.T) {
	b := newBed(t, 1)
	b.admit("", 1)
	b.expect("when nothing has ended", 0)

	b = newBed(t, 1)
	b.endEach("", time.Millisecond, 10*prefetchHorizon)
	b.expect("behind jobs of 1 ms", 50)
	if start := b.admit("", 20); len(start) != 0 {
		t.Fatalf("%d more jobs have a slot", len(start))
	}
	b.expect("when 20 are prefetched", 30)
	b.now = b.now.Add(prefetchHorizon)
	b.expect("when none has ended for the horizon", 0)

	b = newBed(t, 1)
	b.endEach("", time.Minute, 10*time.Minute)
	b.expect("behind jobs of a minute", 1) // the one that has just ended
	b.now = b.now.Add(prefetchHorizon)
	b.expect("during a job of a minute", 0)
}

func TestPrefetchIsBounded(t *testing.T) {
	for _, c := range []struct{ size, limit int }{{100, MaxPrefetch - 100}, {1500, 1500}, {3000, 3000}} {
		b := newBed(t, c.size)
		b.endEach("", prefetchHorizon/10_000, 2*prefetchHorizon)
		b.admit("", c.size-1)
		b.expect("behind jobs of 5 µs", c.limit)
	}
	b := newBed(t, 100, queue("a", 1), queue("b", 1))
	b.endEach("a", prefetchHorizon/10_000, 2*prefetchHorizon)
	b.expect("of a queue with one slot", MaxPrefetch-100+1, MaxPrefetch-100, 1)
	for range 10_000 {
		b.now = b.now.Add(prefetchHorizon / 20_000)
		for _, c := range b.admit("b", 1) {
			b.end(c)
		}
	}
	b.expect("of two such queues", MaxPrefetch-100+99, MaxPrefetch-100, MaxPrefetch-100+1)
}

// TestFullQueueTakesNoRoomFromTheOthers: prefetched jobs that wait for a slot of their queue do not
// count, if that is not expected to be free soon.
func TestFullQueueTakesNoRoomFromTheOthers(t *testing.T) {
	b := newBed(t, 3, queue("a", 1), queue("b", 0))
	b.endEach("a", time.Millisecond, 2*prefetchHorizon)
	if start := b.admit("a", 40); len(start) != 0 {
		t.Fatal("a job has a slot of a full queue")
	}
	b.expect("while they are short", 12, 10, 3)
	b.now = b.now.Add(time.Second)
	b.expect("while one is long", 2, 0, 2)
	if start := b.admit("b", 2); len(start) != 2 {
		t.Errorf("%d jobs of the other queue have a slot", len(start))
	}
	b.expect("then", 0, 0, 0)
}

// TestPrefetchedJobsTakeRoomOfAllQueues: those that get the next slot, whichever it is.
func TestPrefetchedJobsTakeRoomOfAllQueues(t *testing.T) {
	b := newBed(t, 2, queue("a", 0), queue("b", 0))
	b.admit("b", 1)
	b.endEach("b", time.Millisecond, time.Millisecond)
	b.expect("when one job has ended", 1, 1, 1)
	b.admit("a", 1)
	b.expect("with a job that waits for the next slot", 0, 0, 0)
}

func TestLearn(t *testing.T) {
	const cut = 4 // a limit that cuts the demand short
	for name, c := range map[string]struct {
		do       func(b *bed) // before the claim
		limit    int          // 0: that of the demand
		a, b     int          // jobs that the claim has found
		inA, inB bool         // there may be more
		fails    bool
	}{
		"nothing":                     {},
		"less than a quarter":         {a: 1, b: 1},
		"a quarter":                   {a: 2, inA: true},
		"all":                         {a: 6, b: 6, inA: true, inB: true},
		"a cut one, in full":          {limit: cut, a: 4, inA: true, inB: true},
		"a cut one, a quarter of it":  {limit: cut, a: 1, inA: true},
		"nothing, b not asked for":    {do: func(b *bed) { b.admit("b", 8) }, inB: true},
		"nothing, b known to be done": {do: func(b *bed) { b.empty(); b.admit("b", 8) }},
		"it has failed":               {do: (*bed).empty, fails: true, inA: true, inB: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 16, queue("a", 8), queue("b", 8))
			if c.do != nil {
				c.do(b)
			}
			d := b.Demand(b.now)
			if c.fails {
				b.LearnNothing()
			} else {
				b.Learn(d, cmp.Or(c.limit, d.Limit), append(b.claimed("a", c.a), b.claimed("b", c.b)...))
			}
			for i, want := range []bool{c.inA, c.inB} {
				if q := b.classes[i]; q.mayHaveJobs() != want {
					t.Errorf("there may be jobs in %s: %t, want %t", q.lane.queue, q.mayHaveJobs(), want)
				}
			}
			hasRoom := d.Queues[1].Limit > 0
			d = b.Demand(b.now)
			if likely := c.inA || c.inB && hasRoom; d.Likely != likely || d.Waits != (c.inB && !hasRoom) {
				t.Errorf("there may be jobs for which there is room: %t; and none: %t", d.Likely, d.Waits)
			}
		})
	}
}

// TestWakeUpDuringAClaimIsNotLost: what it finds is older than the wake-up.
func TestWakeUpDuringAClaimIsNotLost(t *testing.T) {
	for _, name := range []string{"", "a"} {
		b := newBed(t, 2, queue("a", 0), queue("b", 0))
		b.empty()
		d := b.Demand(b.now)
		if d.Likely {
			t.Fatal("there may be jobs after a claim that left none behind")
		}
		b.Heard(name, b.now)
		b.Learn(d, d.Limit, nil)
		if !b.Demand(b.now).Likely {
			t.Errorf("a wake-up of %q during a claim is forgotten", name)
		}
		if inB := b.classes[1].mayHaveJobs(); inB != (name == "") {
			t.Errorf("after a wake-up of %q there may be jobs in b: %t", name, inB)
		}
		b.empty()
		if b.Demand(b.now).Likely {
			t.Errorf("a wake-up of %q is never over", name)
		}

		all := newBed(t, 2)
		all.empty()
		all.Heard(name, b.now)
		if !all.Demand(b.now).Likely {
			t.Errorf("a node of all queues does not hear of %q", name)
		}
	}
}

func TestLag(t *testing.T) {
	b := newBed(t, 1)
	lag := func(what string, want time.Duration) {
		t.Helper()
		if got := b.Lag(b.now); got != want {
			t.Errorf("%s the lag is %v, want %v", what, got, want)
		}
	}
	learn := func(jobs []store.Claimed) {
		d := b.Demand(b.now)
		b.Learn(d, 1, jobs)
	}
	b.now = b.now.Add(time.Hour)
	lag("at first", 0)
	b.Heard("", b.now)
	b.now = b.now.Add(3 * time.Second)
	b.Heard("", b.now)
	lag("3 s after the first wake-up", 3*time.Second)

	late := b.claimed("", 1)
	late[0].Job.RunAt = b.now.Add(-2 * time.Second)
	learn(late)
	lag("after a claim of a job that is 2 s late", 2*time.Second)
	b.now = b.now.Add(time.Second)
	lag("a second later", 3*time.Second)

	learn(b.claimed("", 1))
	b.now = b.now.Add(time.Second)
	lag("a second after a claim of a job that was not late", 0)

	b.Heard("", b.now)
	d := b.Demand(b.now)
	b.now = b.now.Add(time.Second)
	b.Heard("", b.now)
	b.now = b.now.Add(time.Second)
	b.Learn(d, 1, nil)
	lag("after a claim of nothing, with a wake-up a second ago", time.Second)
	b.empty()
	lag("after a claim of nothing", 0)

	b.admit("", 2)
	b.now = b.now.Add(time.Minute)
	lag("with a prefetched job", time.Minute)
	b.now = b.now.Add(-time.Hour)
	lag("when the clock was set back", 0)
}
