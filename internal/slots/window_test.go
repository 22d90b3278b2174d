package slots

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestANodeWaitsForWhatItDoesNotLookAt: jobs of a queue that has no slot are waited for, also if
// the node knows so many queues that it does not look at that one until it has.
func TestANodeWaitsForWhatItDoesNotLookAt(t *testing.T) {
	for _, known := range []int{500, 1100} {
		for name, full := range map[string]func() (*bed, string){
			"share": func() (*bed, string) { return openBed(t, 100, queue("t-*", 1)), "t-" },
			"limit": func() (*bed, string) {
				b := openBed(t, 100)
				b.SetLimits(limitsOf(known, 1))
				return b, "q"
			},
		} {
			b, prefix := full()
			b.find()
			for i := range known {
				b.Heard(fmt.Sprint(prefix, i), b.now)
			}
			for range 20 { // until it knows that they have no jobs
				b.grantAll()
				d := b.Claim(b.now)
				b.Learn(d, d.Limit, nil)
				b.now = b.now.Add(windowEvery)
			}
			b.Heard(prefix+"7", b.now)
			b.grantAll()
			d := b.Claim(b.now)
			jobs := b.claimed(prefix+"7", 1)
			if start := b.Admit(jobs); len(start) != 1 {
				t.Fatalf("%s, %d queues: a job does not start", name, known)
			}
			b.Learn(d, d.Limit, jobs)
			if d := b.Demand(b.now); !d.Likely && !d.Waits {
				t.Errorf("%s, %d queues: other jobs wait for a slot, and the node does not wait for one", name, known)
			}
		}
	}
}

// TestWeighedQueuesTakeTurns: queues of a pattern with a weight, too many to be looked at together,
// all come to run jobs, and no claim is for nothing.
func TestWeighedQueuesTakeTurns(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &bed{t: t, now: start}
	b.Slots = New(Config{
		Size: 10, Queues: []store.QueueDemand{queue("t-*", 0)}, Shares: map[string]Share{"t-*": {Weight: 1}}, MaxAside: 10,
		Elapsed: func() time.Duration { return b.now.Sub(start) },
	})
	b.mostNamed = 20
	queues := queuesOf("t-", 60)
	b.find(queues...)
	served := map[string]bool{}
	for range 100 {
		d := b.Claim(b.now)
		if d.Limit == 0 {
			t.Fatal("slots are free, jobs wait, and none may be claimed")
		}
		var jobs []store.Claimed
		for _, q := range named(d) {
			served[q] = true
			jobs = append(jobs, b.claimed(q, 1)...)
		}
		running := b.Admit(jobs)
		b.Learn(d, d.Limit, jobs)
		b.now = b.now.Add(windowEvery / 2)
		for len(running) > 0 {
			c := running[0]
			running = running[1:]
			if next, ok := b.end(c); ok {
				running = append(running, next)
			}
		}
	}
	if len(served) < len(queues) {
		t.Errorf("jobs of %d of %d queues have run", len(served), len(queues))
	}
}

// TestTheQueueWithASlotIsLookedAt: of many queues with jobs whose slots are all in use, the one
// that has a slot again is looked at, at once.
func TestTheQueueWithASlotIsLookedAt(t *testing.T) {
	for name, full := range map[string]func() *bed{
		"share": func() *bed { return openBed(t, 1000, queue("q*", 1)) },
		"limit": func() *bed {
			b := openBed(t, 1000)
			b.SetLimits(limitsOf(200, 1))
			return b
		},
	} {
		b := full()
		b.mostNamed = 20
		b.find(queuesOf("q", 200)...)
		var running []store.Claimed
		for range 100 {
			b.grantAll()
			d := b.Claim(b.now)
			var jobs []store.Claimed
			for _, q := range named(d) {
				jobs = append(jobs, b.claimed(q, 1)...)
			}
			running = append(running, b.Admit(jobs)...)
			b.Learn(d, d.Limit, jobs)
		}
		if len(running) != 200 {
			t.Fatalf("%s: %d jobs run, want one of each queue", name, len(running))
		}
		for i, c := range []store.Claimed{running[150], running[3], running[77]} {
			b.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, b.now)
			b.end(c)
			b.now = b.now.Add(time.Second) // nothing is expected to end soon
			d := b.Demand(b.now)
			if got := named(d); !d.Likely || len(got) != i+1 {
				t.Errorf("%s: after the job of %s has ended jobs of %v may be claimed", name, c.Job.Queue, got)
			}
		}
	}
}
