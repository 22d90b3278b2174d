package slots

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// bed is the slots of a node in virtual time, which stands still unless a test sets now.
type bed struct {
	*Slots
	t     *testing.T
	now   time.Time
	claim int64 // number of the last claim
}

func newBed(t *testing.T, size int, queues ...store.QueueDemand) *bed {
	t.Helper()
	return &bed{
		Slots: New(Config{Size: size, Queues: queues, MaxAside: 10}), t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// queue is a queue of the node, with a limit unless it is 0.
func queue(name string, limit int) store.QueueDemand {
	return store.QueueDemand{Name: name, Limit: limit}
}

// claimed returns n jobs of a queue that one claim has taken now, when they were due.
func (b *bed) claimed(queue string, n int) []store.Claimed {
	b.claim++
	jobs := make([]store.Claimed, n)
	for i := range jobs {
		c := &jobs[i]
		binary.BigEndian.PutUint32(c.Job.ID[:], uint32(b.claim))
		binary.BigEndian.PutUint32(c.Job.ID[4:], uint32(i))
		c.Job.Queue, c.Job.RunAt, c.ClaimedAt = queue, b.now, b.now
		c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: 1, Claim: b.claim, Slot: i}
	}
	return jobs
}

// admit claims n jobs of a queue and returns those that have a slot.
func (b *bed) admit(queue string, n int) []store.Claimed { return b.Admit(b.claimed(queue, n)) }

// begin begins the run of a job.
func (b *bed) begin(c store.Claimed) *run {
	r := &run{slots: b.Slots, lease: c.Lease, started: b.now}
	b.Begin(c.Job.ID, r)
	return r
}

// end ends a job that has a slot and has not begun.
func (b *bed) end(c store.Claimed) (following store.Claimed, ok bool) {
	return b.End(&c.Job, &run{}, b.now)
}

// endEach runs a job of a queue after the other in one slot for the time given, and then one more,
// which does not end. Each takes as long.
func (b *bed) endEach(queue string, each, total time.Duration) {
	b.t.Helper()
	for range total / each {
		start := b.admit(queue, 1)
		if len(start) != 1 {
			b.t.Fatal("there is no slot")
		}
		b.now = b.now.Add(each)
		b.end(start[0])
	}
	if len(b.admit(queue, 1)) != 1 {
		b.t.Fatal("there is no slot")
	}
}

// empty notes that a claim has left no job in any queue.
func (b *bed) empty() {
	d := b.Demand(b.now)
	b.Learn(d, d.Limit, nil)
}

// expect checks how many jobs may be claimed, in all and of each queue.
func (b *bed) expect(what string, limit int, queues ...int) {
	b.t.Helper()
	d := b.Demand(b.now)
	if d.Limit != limit {
		b.t.Errorf("%s there is room for %d jobs, want %d", what, d.Limit, limit)
	}
	if len(d.Queues) != len(queues) {
		b.t.Fatalf("%s the demand has the queues %v, want %d", what, d.Queues, len(queues))
	}
	for i, n := range queues {
		if d.Queues[i].Limit != n {
			b.t.Errorf("%s there is room for %d jobs of %s, want %d", what, d.Queues[i].Limit, d.Queues[i].Name, n)
		}
	}
}

// run is a run that does nothing but note what it is told.
type run struct {
	slots   *Slots
	queue   string
	job     *store.Job
	lease   store.Lease
	started time.Time
	ended   bool
	cause   error
	paused  bool
}

// Job is the job of the run, as far as a test has said what it is.
func (r *run) Job() *store.Job {
	if r.job != nil {
		return r.job
	}
	return &store.Job{ID: r.lease.Job, Queue: r.queue}
}

func (r *run) Lease() store.Lease { return r.lease }
func (r *run) Started() time.Time { return r.started }
func (r *run) HasEnded() bool     { return r.ended }

// Cancel calls the slots, as the end of a run may.
func (r *run) Cancel(cause error) { r.slots.Running(); r.cause = cause }

// Pause calls the slots, as the end of a run may.
func (r *run) Pause() { r.slots.Running(); r.paused = true }
