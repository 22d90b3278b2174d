package slots

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func TestSlotGoesToTheJobThatWasClaimedFirst(t *testing.T) {
	b := newBed(t, 2, queue("a", 1), queue("b", 0))
	start := append(b.admit("b", 1), b.admit("a", 1)...)
	ofB, alsoOfB, ofA := b.claimed("b", 1), b.claimed("b", 1), b.claimed("a", 1)
	b.Admit(ofA)
	b.Admit(ofB)
	b.Admit(alsoOfB)
	for _, c := range []struct {
		ends, follows store.Claimed
		what          string
	}{
		{start[0], ofB[0], "first"}, // that of a is older in the buffer, and has no slot: its queue is full
		{start[1], alsoOfB[0], "second"},
		{ofB[0], ofA[0], "last"},
	} {
		following, ok := b.end(c.ends)
		if !ok || following.Job.ID != c.follows.Job.ID {
			t.Errorf("the %s slot goes to %v (%t), want %v", c.what, following.Job.ID, ok, c.follows.Job.ID)
		}
	}
	if following, ok := b.end(ofA[0]); ok {
		t.Errorf("a slot goes to %v, though none waits", following.Job.ID)
	}
	if n := b.Running(); n != 1 {
		t.Errorf("%d slots are in use, want 1", n)
	}
}

// TestAdmitStartsWhatItCan: jobs of a full queue wait, and those between them start.
func TestAdmitStartsWhatItCan(t *testing.T) {
	b := newBed(t, 4, queue("a", 1), queue("b", 0))
	jobs := b.claimed("a", 7)
	for _, i := range []int{3, 4, 6} {
		jobs[i].Job.Queue = "b"
	}
	start := b.Admit(jobs)
	if len(start) != 4 {
		t.Fatalf("%d jobs start, want 4", len(start))
	}
	for i, place := range []int{0, 3, 4, 6} {
		if start[i].Job.ID != jobs[place].Job.ID {
			t.Errorf("the %dth job to start is %v, want %v", i, start[i].Job.ID, jobs[place].Job.ID)
		}
	}
	if n := len(b.Jobs()); n != 7 {
		t.Errorf("%d jobs are here, want 7", n)
	}
	if taken := b.TakeBuffer(); len(taken) != 3 || taken[0].Job.ID != jobs[1].Job.ID || taken[2].Job.ID != jobs[5].Job.ID {
		t.Errorf("in the buffer are %v", taken)
	}
}

// TestEndOfAnEarlierRun: it gives its slot back, and leaves the run of the same job alone that has
// begun since.
func TestEndOfAnEarlierRun(t *testing.T) {
	b := newBed(t, 2)
	c := b.admit("", 1)[0]
	first := b.begin(c)
	b.Admit([]store.Claimed{c})
	second := b.begin(c)
	b.End(&c.Job, first, b.now)
	if !b.Jobs()[c.Job.ID] || b.Running() != 1 {
		t.Errorf("%d slots are in use; the job is here: %t", b.Running(), b.Jobs()[c.Job.ID])
	}
	b.Pause(c.Job.ID)
	if first.paused || !second.paused {
		t.Error("the earlier run was paused")
	}
	b.End(&c.Job, second, b.now)
	if b.Jobs()[c.Job.ID] || b.Running() != 0 {
		t.Errorf("%d slots are in use; the job is here: %t", b.Running(), b.Jobs()[c.Job.ID])
	}
}

// TestWhateverHappensNoLimitIsExceeded goes through random sequences of what may happen. After each
// step no more jobs have a slot than may, none waits for a slot that is free, and none is lost; and
// at the end nothing is counted any more.
func TestWhateverHappensNoLimitIsExceeded(t *testing.T) {
	names := []string{"a", "b", "c"}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		b := newBed(t, 5, queue("a", 1), queue("b", 3), queue("c", 0))
		var running []store.Claimed
		var reserved []*store.Enqueue
		began, left := 0, 0 // jobs that came, and those that went
		for range 300 {
			b.now = b.now.Add(time.Duration(random.IntN(10)) * time.Millisecond)
			switch name := names[random.IntN(3)]; random.IntN(7) {
			case 0, 1:
				d := b.Demand(b.now)
				jobs := b.claimed(name, random.IntN(d.Limit+1))
				began += len(jobs)
				running = append(running, b.Admit(jobs)...)
				b.Learn(d, d.Limit, jobs)
			case 2:
				more := []*store.Enqueue{{Job: store.Job{Queue: name}}, {Job: store.Job{Queue: "c"}}}
				b.empty()
				reserved = append(reserved, more[:b.Reserve(more, b.now)]...)
			case 3:
				jobs := b.claimed("", random.IntN(len(reserved)+1))
				for i := range jobs {
					jobs[i].Job.Queue = reserved[i].Job.Queue
				}
				began += len(jobs)
				running = append(running, b.AdmitReserved(reserved, jobs)...)
				reserved = nil
			case 4:
				left += len(b.TakeStale(b.now.Add(-20 * time.Millisecond)))
			default:
				if len(running) > 0 {
					i := random.IntN(len(running))
					following, ok := b.end(running[i])
					running = append(running[:i], running[i+1:]...)
					if left++; ok {
						running = append(running, following)
					}
				}
			}
			b.check(running, len(reserved), began-left)
		}
		b.AdmitReserved(reserved, nil)
		b.TakeBuffer()
		for _, c := range running {
			b.end(c)
		}
		b.now = b.now.Add(time.Minute)
		b.expect("when all is over", 5, 1, 3, 5)
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// check checks the slots against the jobs that run, and how many are here and reserved.
func (b *bed) check(running []store.Claimed, reserved, here int) {
	b.t.Helper()
	used := map[string]int{}
	for _, c := range running {
		used[c.Job.Queue]++
	}
	if b.Running() != len(running) || len(running) > b.size || b.reserved != reserved || len(b.Jobs()) != here {
		b.t.Errorf("%d of %d slots are in use for %d jobs, %d reserved of %d; %d jobs are here of %d",
			b.Running(), b.size, len(running), b.reserved, reserved, len(b.Jobs()), here)
	}
	for _, q := range b.shares {
		if used[q.queue] != q.running || q.running > q.limit {
			b.t.Errorf("%d slots of %d are in use for the %d jobs of %s", q.running, q.limit, used[q.queue], q.queue)
		}
		if len(q.buffer) > 0 && q.running < q.limit && len(running) < b.size {
			b.t.Errorf("jobs of %s wait, though a slot is free", q.queue)
		}
	}
}
