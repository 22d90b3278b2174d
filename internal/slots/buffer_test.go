package slots

import (
	"testing"
	"time"
)

// waits reports whether JobsWait tells of a job.
func (b *bed) waits() bool {
	select {
	case <-b.JobsWait():
		return true
	default:
		return false
	}
}

// TestJobsThatStillWaitAreLookedAtAgain: a job that waits for a slot and is not given back yet, as
// when the clocks differ, is looked at once more.
func TestJobsThatStillWaitAreLookedAtAgain(t *testing.T) {
	b := newBed(t, 1)
	b.admit("", 1)
	if b.waits() {
		t.Error("a job waits that has a slot")
	}
	b.admit("", 1)
	for _, c := range []struct {
		before time.Time
		taken  int
	}{{b.now, 0}, {b.now.Add(time.Second), 1}} {
		if !b.waits() {
			t.Fatal("nobody looks at the job that waits")
		}
		if taken := b.TakeStale(c.before); len(taken) != c.taken {
			t.Errorf("%d jobs are given back, not %d", len(taken), c.taken)
		}
	}
	if b.waits() {
		t.Error("no job waits")
	}
}

// TestOnlyStaleJobsAreTaken: those that were claimed later keep their place.
func TestOnlyStaleJobsAreTaken(t *testing.T) {
	b := newBed(t, 1, queue("a", 0), queue("b", 0))
	runs := b.admit("a", 1)[0]
	old := b.claimed("a", 2)
	b.Admit(old)
	b.now = b.now.Add(time.Second)
	young := b.claimed("b", 2)
	b.Admit(young)
	taken := b.TakeStale(b.now)
	if len(taken) != 2 || taken[0].Job.ID != old[0].Job.ID || taken[1].Job.ID != old[1].Job.ID {
		t.Errorf("of the old jobs and the young ones %v are taken", taken)
	}
	if following, ok := b.end(runs); !ok || following.Job.ID != young[0].Job.ID {
		t.Errorf("the slot goes to %v (%t), want %v", following.Job.ID, ok, young[0].Job.ID)
	}
	if rest := b.TakeBuffer(); len(rest) != 1 || rest[0].Job.ID != young[1].Job.ID {
		t.Errorf("in the buffer are %v", rest)
	}
	if rest := b.TakeBuffer(); len(rest) != 0 {
		t.Errorf("in the empty buffer are %v", rest)
	}
	if n := b.Running(); n != 1 {
		t.Errorf("%d slots are in use, want 1", n)
	}
}
