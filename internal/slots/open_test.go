package slots

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// openBed is a bed in virtual time whose node names the queues that may have jobs.
func openBed(t *testing.T, size int, queues ...store.QueueDemand) *bed {
	t.Helper()
	b := newBed(t, size, queues...)
	start := b.now
	b.elapsed = func() time.Duration { return b.now.Sub(start) }
	return b
}

// limitsOf are limits of so many queues.
func limitsOf(n, capacity int) (limits []store.Limit) {
	for i := range n {
		l := store.Limit{ID: int64(i + 1), Version: 1, Name: fmt.Sprint("queue:q", i)}
		l.Queues, l.Capacity = []string{fmt.Sprint("q", i)}, capacity
		limits = append(limits, l)
	}
	return limits
}

// queuesOf are the names of so many queues.
func queuesOf(prefix string, n int) (queues []string) {
	for i := range n {
		queues = append(queues, fmt.Sprint(prefix, i))
	}
	return queues
}

// grantAll answers an ask with all that it asks for.
func (b *bed) grantAll() (asked int) {
	b.t.Helper()
	asks := b.Asks(1, b.now)
	var answer []store.Grant
	for _, a := range asks {
		l := b.byID[a.Limit]
		slots := min(a.Want, l.Capacity)
		answer = append(answer, store.Grant{Limit: a.Limit, Slots: slots, Capacity: l.Capacity, Held: slots})
	}
	b.Granted(1, asks, answer)
	return len(asks)
}

// find looks which queues have jobs.
func (b *bed) find(queues ...string) {
	b.t.Helper()
	if !b.Demand(b.now).Look || !b.TakeLook() {
		b.t.Fatal("it is not to be looked which queues have jobs")
	}
	if b.Demand(b.now).Look || b.TakeLook() {
		b.t.Fatal("it is to be looked twice at once")
	}
	b.Found(busy(queues, ""), b.now)
}

// named are the queues of a demand of which jobs may be claimed.
func named(d Demand) (queues []string) {
	for _, q := range d.Queues {
		if q.Limit > 0 {
			queues = append(queues, q.Name)
		}
	}
	return queues
}

// TestManyLimitsCostWhatHasJobs: of twenty thousand queues with a limit each a node knows those
// that have jobs, asks for slots of theirs alone, and gives these back when nothing was heard for
// long.
func TestManyLimitsCostWhatHasJobs(t *testing.T) {
	b := openBed(t, 10)
	limits := limitsOf(20_000, 2)
	b.SetLimits(limits)
	if n := b.grantAll(); n > 0 {
		t.Errorf("it asks for slots of %d limits before it knows of jobs", n)
	}
	if d := b.Demand(b.now); d.Limit > 0 || d.Queues == nil || len(d.Queues) > 0 {
		t.Errorf("it may claim %d jobs of %v", d.Limit, d.Queues)
	}
	b.find("q7", "other")
	if n := b.grantAll(); n != 1 {
		t.Errorf("it asks for slots of %d limits, want that of q7", n)
	}
	if got := fmt.Sprint(named(b.Demand(b.now))); got != "[q7 other]" {
		t.Errorf("it claims of %s, want q7 and other", got)
	}
	b.empty()
	if d := b.Demand(b.now); d.Likely || d.Look {
		t.Errorf("after a claim that found nothing it claims again: %+v", d)
	}
	b.Heard("q9", b.now)
	b.grantAll()
	if d := b.Demand(b.now); !d.Likely || d.Queues[2].Name != "q9" || d.Queues[2].Limit != 2 {
		t.Errorf("after a wake-up for q9 it claims %+v", d.Queues)
	}
	b.empty()
	for range 5 {
		b.now = b.now.Add(idleFor)
		b.SetLimits(limits)
		b.grantAll()
	}
	if len(b.classes) > 0 || len(b.opened) > 0 || len(b.live) > 0 {
		t.Errorf("when nothing was heard for long %d classes and %d limits are left", len(b.classes), len(b.live))
	}
	if held := b.byID[8].held; held > 0 {
		t.Errorf("it still holds %d slots of q7", held)
	}
}

// TestAQueueInUseStays: its classes are there, and its slots held, while a job of it runs.
func TestAQueueInUseStays(t *testing.T) {
	b := openBed(t, 10)
	limits := limitsOf(500, 2)
	b.SetLimits(limits)
	b.find("q7")
	b.grantAll()
	d := b.Claim(b.now)
	jobs := b.claimed("q7", 1)
	start := b.Admit(jobs)
	b.Learn(d, d.Limit, jobs)
	for range 5 {
		b.now = b.now.Add(idleFor)
		b.SetLimits(limits)
		b.grantAll()
	}
	if l := b.byID[8]; l.held == 0 || l.used != 1 || len(b.opened) != 1 {
		t.Errorf("while a job runs the node holds %d slots, %d of them in use, and knows %d queues", l.held, l.used, len(b.opened))
	}
	b.end(start[0])
}

// TestWakeUpsDuringALook: what is heard while it is looked which queues have jobs is not lost, nor
// is a look that fails.
func TestWakeUpsDuringALook(t *testing.T) {
	b := openBed(t, 10)
	b.SetLimits(limitsOf(500, 2))
	if !b.TakeLook() {
		t.Fatal("it is not to be looked")
	}
	b.Heard("", b.now)
	b.Found(nil, b.now)
	if !b.TakeLook() {
		t.Fatal("a wake-up for all queues during a look is lost")
	}
	b.NotFound()
	if !b.TakeLook() {
		t.Fatal("a look that failed is not repeated")
	}
	b.Heard("q3", b.now)
	b.Found(nil, b.now)
	b.grantAll()
	if !b.Demand(b.now).Likely {
		t.Error("a wake-up for a queue during a look is lost")
	}
}

// TestAnEnqueueStartsInAQueueThatIsNotKnown: nothing is known of jobs that would come before it,
// unless it is to be looked for.
func TestAnEnqueueStartsInAQueueThatIsNotKnown(t *testing.T) {
	b := openBed(t, 10)
	b.SetLimits(limitsOf(500, 2))
	jobs := []*store.Enqueue{{}}
	jobs[0].Job.Queue = "new"
	if b.MayStart(b.now) {
		t.Error("an enqueue may start before it is known which queues have jobs")
	}
	b.find()
	if !b.MayStart(b.now) || b.Reserve(jobs, b.now) != 1 {
		t.Error("an enqueue of a queue that has no jobs does not start")
	}
	b.AdmitReserved(jobs, nil)
	b.Heard("new", b.now)
	if b.MayStart(b.now) || b.Reserve(jobs, b.now) != 0 {
		t.Error("an enqueue starts before a job that was there")
	}
}

// TestManyQueuesWithJobsTakeTurns: a node that names some of them at a time comes to all.
func TestManyQueuesWithJobsTakeTurns(t *testing.T) {
	b := openBed(t, 10)
	b.mostNamed = 50
	b.SetLimits(limitsOf(500, 2))
	b.find(queuesOf("q", 500)...)
	seen := map[string]bool{}
	for range 500 {
		b.grantAll()
		d := b.Claim(b.now)
		if len(d.Queues) > 50 {
			t.Fatalf("a claim names %d queues", len(d.Queues))
		}
		var jobs []store.Claimed
		for _, q := range named(d) { // each has any number of jobs
			seen[q] = true
			jobs = append(jobs, b.claimed(q, 1)...)
		}
		start := b.Admit(jobs)
		b.Learn(d, d.Limit, jobs)
		for _, c := range start {
			b.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, b.now)
			b.end(c)
		}
		b.now = b.now.Add(windowEvery / 5)
	}
	if len(seen) < 500 {
		t.Errorf("claims have named %d of 500 queues that have jobs", len(seen))
	}
}

// TestQueuesAtTheirLimitLeaveRoom: queues whose limits are full do not keep a node from looking at
// others.
func TestQueuesAtTheirLimitLeaveRoom(t *testing.T) {
	b := openBed(t, 1000)
	b.mostNamed = 50
	b.SetLimits(limitsOf(500, 1))
	b.find(queuesOf("q", 500)...)
	for range 100 {
		b.grantAll()
		d := b.Claim(b.now)
		var jobs []store.Claimed
		for _, q := range named(d) {
			jobs = append(jobs, b.claimed(q, 1)...)
		}
		b.Admit(jobs) // none ends
		b.Learn(d, d.Limit, jobs)
	}
	if b.Running() != 500 {
		t.Errorf("%d jobs run, want one of each of 500 queues", b.Running())
	}
}

// TestPatterns: each queue that matches has so many slots, and is there while it is of use.
func TestPatterns(t *testing.T) {
	b := openBed(t, 10, queue("mail", 0), queue("tenant-*", 2), queue("tenant-big-*", 4))
	for name, want := range map[string]bool{"mail": true, "mails": false, "tenant-1": true, "tenant-big-1": true, "tenant": false, "": true} {
		if b.Serves(name) != want {
			t.Errorf("it serves %q: %t, want %t", name, !want, want)
		}
	}
	b.find("tenant-1", "tenant-big-1", "unknown")
	b.expect("with three queues", 10, 10, 2, 4)
	start := b.admit("tenant-1", 3)
	if len(start) != 2 {
		t.Fatalf("%d jobs of a queue with 2 slots start", len(start))
	}
	if others := b.admit("tenant-2", 2); len(others) != 2 {
		t.Errorf("%d of 2 jobs of another queue that matches start", len(others))
	}
	if following, ok := b.end(start[0]); !ok || following.Job.Queue != "tenant-1" {
		t.Error("the slot of a job does not go to the next one of its queue")
	}
	b.empty()
	for range 3 {
		b.now = b.now.Add(idleFor)
		b.SetLimits(nil)
	}
	if n := len(b.shares); n != 3 {
		t.Errorf("there are %d shares, want that of mail and two with jobs", n)
	}
	b.Heard("tenant-3", b.now)
	if d := b.Demand(b.now); !d.Likely {
		t.Errorf("after a wake-up for a queue that matches nothing is claimed: %+v", d)
	}
}

// TestPatternsOnly: a node that serves nothing else claims nothing until it knows of a queue.
func TestPatternsOnly(t *testing.T) {
	b := openBed(t, 10, queue("tenant-*", 0))
	if d := b.Demand(b.now); d.Limit != 0 || d.Queues == nil || !d.Look || !b.Names() {
		t.Errorf("before it knows of a queue it claims %+v", d)
	}
	b.find()
	b.Heard("mail", b.now)
	if d := b.Demand(b.now); d.Likely {
		t.Errorf("it claims of a queue that it does not serve: %+v", d)
	}
	b.Heard("tenant-1", b.now)
	b.expect("of one queue", 10, 10)
}

// TestALimitOfOtherQueues: when a limit no longer counts jobs of a node's queues, the node gives
// back what it holds, and then forgets it.
func TestALimitOfOtherQueues(t *testing.T) {
	b := openBed(t, 10, queue("q0", 0))
	limits := limitsOf(1, 4)
	b.SetLimits(limits)
	b.grantAll()
	if b.byID[1].held == 0 {
		t.Fatal("it holds no slots")
	}
	limits[0].Version, limits[0].Queues = 2, []string{"other"}
	b.SetLimits(limits)
	asks := b.Asks(1, b.now)
	if len(asks) != 1 || asks[0].Keep != 0 || asks[0].Want != 0 {
		t.Fatalf("it asks %+v, want that it keeps none", asks)
	}
	b.Granted(1, asks, []store.Grant{{Limit: 1, Capacity: 4}})
	b.SetLimits(limits)
	if len(b.limits) > 0 || len(b.Asks(1, b.now)) > 0 {
		t.Error("it knows of the limit when it holds nothing of it")
	}
}

// TestAQueueIsNotForgottenDuringAClaim: what the claim tells of it is not lost.
func TestAQueueIsNotForgottenDuringAClaim(t *testing.T) {
	b := openBed(t, 10)
	limits := limitsOf(500, 2)
	b.SetLimits(limits)
	b.find("q7")
	b.grantAll()
	b.empty()
	b.SetLimits(limits) // from now on it is idle
	b.now = b.now.Add(idleFor)
	d := b.Claim(b.now)
	b.SetLimits(limits)
	jobs := b.claimed("q7", 2)
	b.Admit(jobs)
	b.Learn(d, d.Limit, jobs)
	if !b.groupOf("q7").mayHaveJobs() {
		t.Error("a claim took all that it may of a queue, and the node takes it for empty")
	}
}

// TestSlotsStayWhenAQueueIsHeardOfAgain: those that were about to be given back.
func TestSlotsStayWhenAQueueIsHeardOfAgain(t *testing.T) {
	b := openBed(t, 10)
	limits := limitsOf(500, 2)
	b.SetLimits(limits)
	b.find("q7")
	b.grantAll()
	b.empty()
	for range 4 {
		b.SetLimits(limits)
		b.now = b.now.Add(idleFor)
	}
	if l := b.byID[8]; !l.unneeded || l.held == 0 {
		t.Fatalf("the node holds %d slots, and needs none: %t", l.held, l.unneeded)
	}
	b.Heard("q7", b.now)
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("it asks %+v, and has jobs for the slots that it holds", asks)
	}
}
