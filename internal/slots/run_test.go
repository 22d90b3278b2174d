package slots

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var errStop = errors.New("stop")

// TestRequestsReachTheRunOfTheJob, and no other.
func TestRequestsReachTheRunOfTheJob(t *testing.T) {
	b := newBed(t, 3)
	jobs := b.admit("", 3)
	one, other := b.begin(jobs[0]), b.begin(jobs[1])
	for _, id := range []store.ID{jobs[0].Job.ID, jobs[2].Job.ID, {}} { // one runs, one is about to, one is not here
		b.Cancel(id, errStop)
		b.Pause(id)
	}
	if !errors.Is(one.cause, errStop) || !one.paused {
		t.Errorf("the run was cancelled with %v, paused %t", one.cause, one.paused)
	}
	if other.cause != nil || other.paused {
		t.Errorf("another run was cancelled with %v, paused %t", other.cause, other.paused)
	}
	b.CancelAll(errStop)
	if !errors.Is(other.cause, errStop) {
		t.Errorf("not all runs were cancelled")
	}
}

func TestEndOfAMembershipConcernsItsJobsOnly(t *testing.T) {
	b := newBed(t, 2)
	var runs []*run
	for node := range int64(2) {
		jobs := b.claimed("", 1)
		jobs[0].Lease.Node = node
		b.Admit(jobs)
		runs = append(runs, b.begin(jobs[0]))
	}
	for node := range int64(2) {
		jobs := b.claimed("", 2)
		jobs[0].Lease.Node, jobs[1].Lease.Node = node, node
		b.Admit(jobs)
	}
	b.LoseAll(1)
	if runs[0].cause != nil || !errors.Is(runs[1].cause, store.ErrLeaseLost) {
		t.Errorf("the runs were cancelled with %v and %v", runs[0].cause, runs[1].cause)
	}
	left := b.TakeBuffer()
	if len(left) != 2 || left[0].Lease.Node != 0 || left[1].Lease.Node != 0 {
		t.Errorf("in the buffer are %v", left)
	}
}

func TestRunningSince(t *testing.T) {
	b := newBed(t, 3)
	jobs := b.admit("", 3) // the last one is about to start
	old := b.begin(jobs[0])
	b.now = b.now.Add(time.Second)
	b.begin(jobs[1])
	for before, want := range map[time.Duration]int{0: 2, time.Second: 1, 2 * time.Second: 0} {
		found := b.RunningSince(b.now.Add(-before))
		if len(found) != want || want == 1 && found[jobs[0].Job.ID] != Run(old) {
			t.Errorf("%v ago %v were running, want %d", before, found, want)
		}
	}
}

// TestWithout: of jobs, those stay that do not run here, or whose lease is lost.
func TestWithout(t *testing.T) {
	b := newBed(t, 3)
	jobs := b.admit("", 3)
	b.begin(jobs[0])
	b.begin(jobs[1]).ended = true
	ids := []store.ID{jobs[0].Job.ID, jobs[1].Job.ID, jobs[2].Job.ID, {}}
	if left := b.Without(slices.Clone(ids)); !slices.Equal(left, ids[1:]) {
		t.Errorf("of %v are left %v", ids, left)
	}
}

// TestOver: a job whose outcome is committed is not here any more, though its slot is still in use.
func TestOver(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *store.Outcome)
		here   bool
	}{
		"completed":     {func(*store.Outcome) {}, false},
		"refused":       {func(o *store.Outcome) { o.Err = store.ErrLeaseLost }, true},
		"to run again":  {func(o *store.Outcome) { o.Final = store.Retryable }, true},
		"another lease": {func(o *store.Outcome) { o.Lease.Number++ }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 1)
			job := b.admit("", 1)[0]
			o := job.Outcome(store.Completed)
			o.Final = store.Completed
			c.change(o)
			b.Over([]*store.Outcome{o}, b.now) // it has not begun
			if !b.Jobs()[job.Job.ID] {
				t.Error("a job is not here that is about to start")
			}
			r := b.begin(job)
			b.Over([]*store.Outcome{o}, b.now)
			if here := b.Jobs()[job.Job.ID]; here != c.here || b.Running() != 1 {
				t.Errorf("the job is here: %t, want %t; %d slots are in use", here, c.here, b.Running())
			}
			b.End(&job.Job, r, b.now)
			if b.Jobs()[job.Job.ID] || b.Running() != 0 {
				t.Error("the job is here after its run")
			}
		})
	}
}

// TestAsk: a request concerns jobs that run, are about to or wait for a slot. Unless the job runs,
// its run is told that there was a request, once.
func TestAsk(t *testing.T) {
	b := newBed(t, 2)
	jobs := b.admit("", 2)
	waiting, coming := b.claimed("", 1)[0], b.claimed("", 1)[0]
	b.Admit([]store.Claimed{waiting})
	b.begin(jobs[0])
	for _, c := range []struct {
		what        string
		job         store.Claimed
		ours, asked bool
	}{
		{"runs", jobs[0], true, false},
		{"is about to run", jobs[1], true, true},
		{"waits for a slot", waiting, true, true},
		{"is claimed just now", coming, false, true},
	} {
		if ours := b.Ask([]store.ID{{}, c.job.Job.ID}); ours != c.ours {
			t.Errorf("a request concerns a job that %s: %t, want %t", c.what, ours, c.ours)
		}
		for i := range 2 {
			if asked := b.Begin(c.job.Job.ID, &run{}); asked != (c.asked && i == 0) {
				t.Errorf("at begin %d of a job that %s there was a request: %t", i+1, c.what, asked)
			}
		}
	}
}

// TestRequestsAreRememberedForAThousandJobs, and not for ever.
func TestRequestsAreRememberedForAThousandJobs(t *testing.T) {
	for others, remembered := range map[uint64]bool{0: true, 1000: true, 3000: false} {
		b := newBed(t, 1)
		first := store.ID{15: 1}
		b.Ask([]store.ID{first})
		for i := range others {
			var id store.ID
			binary.BigEndian.PutUint64(id[:], i+1)
			b.Ask([]store.ID{id})
		}
		if asked := b.Begin(first, &run{}); asked != remembered {
			t.Errorf("behind %d other jobs a request is remembered: %t", others, asked)
		}
		if n := len(b.asked.young) + len(b.asked.old); n > 2000 {
			t.Errorf("requests for %d jobs are remembered", n)
		}
	}
}

// TestASecondRunOfAJob: when it begins the one before, which is still there, has lost its lease.
func TestASecondRunOfAJob(t *testing.T) {
	b := newBed(t, 3)
	claimed := b.claimed("", 1)
	b.Admit(claimed)
	first := b.begin(claimed[0])
	claimed[0].Lease.Claim++
	b.Admit(claimed)
	if first.cause != nil {
		t.Errorf("it was cancelled with %v before the second began", first.cause)
	}
	second := b.begin(claimed[0])
	if !errors.Is(first.cause, store.ErrLeaseLost) || second.cause != nil {
		t.Errorf("they were cancelled with %v and %v", first.cause, second.cause)
	}
	b.Admit(claimed)
	b.End(second.Job(), second, b.now) // before the third begins
	if third := b.begin(claimed[0]); second.cause != nil || third.cause != nil {
		t.Errorf("a run that had ended was cancelled with %v", second.cause)
	}
}
