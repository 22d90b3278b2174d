package durable

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// lost are the circumstances in which a run of the second attempt is lost, with its node or by it.
type lost struct {
	// grown: under the lease that is lost; ended: by an earlier run; last: no attempt is left.
	durable, grown, closing, cancelled, paused, last, ended bool

	deadline time.Duration // from the rescue; 0: none
	job      store.ID
}

func (l *lost) String() string {
	return fmt.Sprintf("durable %v, grown %v, closing %v, cancelled %v, paused %v, last %v, ended %v, deadline in %v",
		l.durable, l.grown, l.closing, l.cancelled, l.paused, l.last, l.ended, l.deadline)
}

func allLost() []*lost {
	var all []*lost
	for _, deadline := range []time.Duration{0, env.RescueBackoff / 2, env.RescueBackoff, time.Hour} {
		for bits := range 1 << 7 {
			l := &lost{
				durable: bits&1 != 0, grown: bits&2 != 0, closing: bits&4 != 0, cancelled: bits&8 != 0, paused: bits&16 != 0,
				last: bits&32 != 0, ended: bits&64 != 0, deadline: deadline,
			}
			if l.ended && (!l.durable || l.grown || l.closing) {
				continue
			}
			if l.durable || !l.grown && !l.closing {
				all = append(all, l)
			}
		}
	}
	return all
}

// want says where the job must go.
func (l *lost) want() end {
	wait := env.RescueBackoff
	if l.grown || l.ended {
		wait = 0 // as if it were the first attempt, since this one is not counted
	}
	late := l.deadline > 0 && !l.closing && l.deadline <= wait
	switch {
	case l.cancelled && !l.durable:
		return end{State: store.Cancelled, Reason: store.ReasonCancelled}
	case l.last && !l.grown && !l.closing && !l.ended:
		return end{State: store.Failed, Reason: store.ReasonCrashLoop}
	case l.cancelled: // the next run ends it in order, in its time
	case late && !l.durable:
		return end{State: store.Failed, Reason: store.ReasonDeadline}
	case l.paused:
		return end{State: store.Waiting, Reason: store.ReasonPaused, Held: true}
	case late:
		wait = l.deadline
	}
	return end{State: store.Retryable, Due: wait}
}

// beginLost makes a job for each of the circumstances, all of which run for the second time, and
// asks what was to be asked. It returns the node that is to lose them, and its runs.
func beginLost(e *env.Env, all []*lost) (int64, map[store.ID]store.Claimed) {
	e.Helper()
	first := &store.Batch{}
	for _, l := range all {
		q := e.Job(env.Attempts(9))
		if l.last {
			q.Job.MaxAttempts = 2
		}
		if l.deadline > 0 {
			q.Job.Options.Deadline = e.Clock.Now().Add(time.Second + l.deadline)
		}
		l.job = q.Job.ID
		first.Enqueues = append(first.Enqueues, q)
	}
	e.Apply(first)
	runs := e.ClaimRuns(e.Join())
	batch := &store.Batch{}
	for _, l := range all {
		run := runs[l.job]
		if l.durable {
			a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Closing: l.closing}
			if l.ended {
				a.Entries[0].Kind = store.EntryEnded
			}
			batch.Appends = append(batch.Appends, a)
		}
		batch.Outcomes = append(batch.Outcomes,
			env.Outcome(run, store.Retryable, func(o *store.Outcome) { o.Durable, o.Delay, o.Version = l.durable, 1000, "v1" }))
	}
	e.Apply(batch)
	e.Clock.Advance(time.Second)
	node := e.Join()
	runs = e.ClaimRuns(node, "send@v1")
	second := &store.Batch{}
	var cancels, pauses []store.ID
	for _, l := range all {
		if l.grown {
			second.Appends = append(second.Appends, &store.Append{Lease: runs[l.job].Lease, Entries: env.Steps(2, 2)})
		}
		if l.cancelled {
			cancels = append(cancels, l.job)
		}
		if l.paused {
			pauses = append(pauses, l.job)
		}
	}
	e.Apply(second)
	e.Cancel(cancels...)
	e.TryPause(pauses...)
	return node, runs
}

func endingLost(e *env.Env) {
	all := allLost()
	node, _ := beginLost(e, all)
	wantLostEnds(e, all, e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(node)}}))
}

// endingGivenUp: the runs end as if their node had died, although it lives.
func endingGivenUp(e *env.Env) {
	all := allLost()
	node, runs := beginLost(e, all)
	wantLostEnds(e, all, e.GiveUp(slices.Collect(maps.Values(runs))...))
	e.Beat(node)
}

// wantLostEnds checks where the jobs have gone.
func wantLostEnds(e *env.Env, all []*lost, taken []store.RescuedJob) {
	e.Helper()
	rescued := map[store.ID]store.RescuedJob{}
	for _, r := range taken {
		rescued[r.Job] = r
	}
	if len(rescued) != len(all) {
		e.Fatalf("%d jobs were rescued, want %d", len(rescued), len(all))
	}
	if n := e.Sweep(); n != 0 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	now := e.Clock.Now()
	told := map[store.ID]bool{}
	for _, l := range all {
		record, want := e.Get(l.job), l.want()
		got := end{State: record.State, Reason: record.Reason}
		if record.Wait != nil {
			got.Held, got.Reason = record.Wait.Held, record.Wait.Reason
		}
		if record.State == store.Retryable {
			got.Due = record.RunAt.Sub(now)
		}
		e.Equal(l.String(), got, want)
		r := rescued[l.job]
		if r.State != want.State || !want.Held && want.Due > 0 && !r.RunAt.Equal(now.Add(want.Due)) {
			e.Fatalf("%v: the rescue says %+v, want %+v", l, r, want)
		}
		counted := 2
		if (l.grown || l.ended) && !want.State.Finished() {
			counted = 1
		}
		reason := store.ReasonNodeLost
		if want.State.Finished() {
			reason = want.Reason
		}
		if n := len(record.Attempts); record.Attempt != counted || n != 2 || record.Attempts[1].Outcome != want.State ||
			record.Attempts[1].Reason != reason {
			e.Fatalf("%v: attempt %d of %+v", l, record.Attempt, record.Attempts)
		}
		if record.Version != "v1" || record.PauseRequested || want.State == store.Cancelled && record.Error != "not needed" {
			e.Fatalf("%v: %+v", l, record)
		}
		if !want.State.Finished() {
			told[l.job] = l.cancelled
		}
		if want.Held {
			e.GoOn(l.job)
		}
	}
	e.Clock.Advance(2 * time.Hour)
	wantTold(e, told, "send@v1")
}
