package crashtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// attempts checks that every lease from the first to the last was ended by an attempt on record, or
// is the one that completed the job.
func (v *verifier) attempts(j *jobHistory) {
	for _, a := range j.Attempts {
		if _, twice := j.ended[a.LeaseNumber]; twice {
			v.wrongf(j.N, "two attempts have lease %d", a.LeaseNumber)
		}
		j.ended[a.LeaseNumber] = a
		v.attempt(j, a)
	}
	for lease := int64(1); lease <= j.LeaseNumber; lease++ {
		_, recorded := j.ended[lease]
		if last := lease == j.LeaseNumber && j.State == store.Completed; recorded == last {
			v.wrongf(j.N, "lease %d of %d: recorded as an attempt: %t, completed the job: %t", lease, j.LeaseNumber, recorded, last)
		}
	}
	for lease := range j.ended {
		if lease > j.LeaseNumber {
			v.wrongf(j.N, "an attempt has lease %d, above the last one, %d", lease, j.LeaseNumber)
		}
	}
}

// attempt checks that an attempt ended in a way that was planned or that a kill explains, and that
// the job became what that makes of it.
func (v *verifier) attempt(j *jobHistory, a store.Attempt) {
	var became store.State
	explained := true
	switch a.Reason {
	case store.ReasonNodeLost:
		v.lost++
		became = store.Retryable
		if d, dead := v.deaths[a.Node]; !dead || a.EndedAt.Before(d.at.Add(-v.rules.leeway)) {
			v.wrongf(j.N, "the attempt under lease %d was lost with node %d, which was not dead", a.LeaseNumber, a.Node)
		}
	case store.ReasonReleased: // claimed ahead and given back before it started
		became = store.Available
	case store.ReasonError:
		became, explained = store.Retryable, a.Number <= j.Fails
	case store.ReasonSnoozed:
		became, explained = store.Scheduled, a.LeaseNumber <= int64(j.Snoozes)
	case store.ReasonTerminal:
		became, explained = store.Failed, j.Fatal
	case store.ReasonCancelled:
		v.stopped++
		became, explained = store.Cancelled, j.cancel != nil
	default:
		explained = false
	}
	switch {
	case !explained:
		v.wrongf(j.N, "the attempt under lease %d ended with %q: %s", a.LeaseNumber, a.Reason, a.Error)
	case a.Outcome != became:
		v.wrongf(j.N, "the attempt under lease %d ended with %q and left the job %s", a.LeaseNumber, a.Reason, a.Outcome)
	}
	if last := j.LeaseNumber; a.Outcome.Finished() && a.LeaseNumber != last && (j.retry == nil || a.LeaseNumber != j.retry.lease) {
		v.wrongf(j.N, "the job had finished under lease %d, and went on to lease %d", a.LeaseNumber, last)
	}
}

// numbers checks that attempts are counted right: those that failed or were lost count, and a retry
// starts over.
func (v *verifier) numbers(j *jobHistory) {
	number, retried := 1, j.retry == nil
	for _, lease := range slices.Sorted(maps.Keys(j.ended)) {
		if !retried && lease > j.retry.lease {
			number, retried = 1, true
		}
		a := j.ended[lease]
		if a.Number != number {
			v.wrongf(j.N, "the attempt under lease %d has number %d, not %d", lease, a.Number, number)
		}
		if a.Outcome == store.Retryable {
			number++
		}
	}
	if !retried {
		number = 1
	}
	if j.State == store.Cancelled && j.Lease.Number == 0 {
		number-- // it did not run when it was cancelled
	}
	if j.Attempt != number {
		v.wrongf(j.N, "has counted %d attempts, on record are %d", j.Attempt, number)
	}
}

// end checks that the job finished as planned, or was cancelled.
func (v *verifier) end(j *jobHistory) {
	planned := store.Completed
	switch {
	case j.Waits:
		planned = store.Cancelled
	case j.Fatal:
		planned = store.Failed
	}
	possible := []store.State{planned}
	switch c := j.cancel; {
	case c == nil:
	case c.state == store.Running:
		possible = append(possible, store.Cancelled) // or its outcome came first
	case c.state == store.Cancelled:
		possible = []store.State{store.Cancelled}
	case c.state != planned:
		v.wrongf(j.N, "its cancel was answered with %s", c.state)
	}
	if j.retry != nil {
		if !slices.Contains(possible, j.retry.state) {
			v.wrongf(j.N, "was %s when it was retried, not %v", j.retry.state, possible)
		}
		possible = []store.State{planned}
	}
	if !slices.Contains(possible, j.State) {
		v.wrongf(j.N, "is %s (%s: %s), not %v", j.State, j.Reason, j.Error, possible)
		return
	}
	var result done
	switch j.State {
	case store.Failed:
		if j.Reason != store.ReasonTerminal {
			v.wrongf(j.N, "failed with %q, not for good", j.Reason)
		}
	case store.Cancelled:
		if j.Reason != store.ReasonCancelled {
			v.wrongf(j.N, "was cancelled with %q", j.Reason)
		}
	default:
		if err := json.Unmarshal(j.Result, &result); err != nil || result.Lease != j.LeaseNumber {
			v.wrongf(j.N, "has the result %q, not that of lease %d", j.Result, j.LeaseNumber)
		}
	}
}

// due checks that no lease was given before the job's time had come, by the database's clock.
func (v *verifier) due(j *jobHistory) {
	before := store.Attempt{EndedAt: j.CreatedAt}
	for lease := int64(1); lease <= j.LeaseNumber; lease++ {
		a, ended := j.ended[lease]
		claimed := a.ClaimedAt
		if !ended {
			claimed = j.ClaimedAt
		}
		wait := j.wait(before)
		if j.retry != nil && j.retry.lease == lease-1 {
			wait = 0 // somebody wanted it at once
		}
		if early := before.EndedAt.Add(wait).Sub(claimed); early > v.rules.leeway {
			v.wrongf(j.N, "lease %d was given %v before its time; lease %d had ended with %q", lease, early, lease-1, before.Reason)
		}
		before = a
	}
}

// wait is how long a job has to wait at least after an attempt; after none, from its enqueue on.
func (j *jobHistory) wait(after store.Attempt) time.Duration {
	switch {
	case after.LeaseNumber == 0:
		return time.Duration(j.Delay) * time.Millisecond
	case after.Reason == store.ReasonError:
		return backoff(after.Number)
	case after.Reason == store.ReasonNodeLost && after.Number > 1:
		return backoff(after.Number - 1)
	case after.Reason == store.ReasonSnoozed:
		return j.snooze()
	}
	return 0
}

// leases checks that each lease was given once, to one node, and that they grow.
func (v *verifier) leases(j *jobHistory) {
	started := map[int64]effect{}
	highest := int64(0)
	for _, e := range j.effects {
		node := j.Lease.Node
		attempt, ended := j.ended[e.Lease]
		if ended {
			node = attempt.Node
		}
		switch first, ok := started[e.Lease]; {
		case e.Event == eventStart && ok:
			v.wrongf(j.N, "lease %d started twice, on %s and %s", e.Lease, first.By, e.By)
		case e.Event == eventStart:
			v.figures.runs++
			started[e.Lease] = e
		case !ok:
			v.wrongf(j.N, "lease %d: %s without a start", e.Lease, e.Event)
		case first.Node != e.Node || first.By != e.By || first.Attempt != e.Attempt:
			v.wrongf(j.N, "lease %d: %+v is not of the run that began as %+v", e.Lease, e, first)
		}
		switch {
		case e.Lease != j.LeaseNumber && !ended:
			v.wrongf(j.N, "%s under lease %d, which is not on record; the last is %d", e.Event, e.Lease, j.LeaseNumber)
		case e.Node != node:
			v.wrongf(j.N, "%s under lease %d on node %d, on record is node %d", e.Event, e.Lease, e.Node, node)
		case ended && attempt.Number != e.Attempt:
			v.wrongf(j.N, "%s under lease %d in attempt %d, on record is attempt %d", e.Event, e.Lease, e.Attempt, attempt.Number)
		case !ended && j.Attempt != e.Attempt:
			v.wrongf(j.N, "%s under lease %d in attempt %d, completed was attempt %d", e.Event, e.Lease, e.Attempt, j.Attempt)
		}
		taken := v.taken(attempt)
		if e.Event == eventRefused {
			v.refused++
			if !taken {
				v.wrongf(j.N, "a checkpoint under lease %d was refused, which was not lost", e.Lease)
			}
		}
		if e.Lease < highest {
			v.late++
			if slow := v.deaths[e.Node].slow; !taken || !slow {
				v.wrongf(j.N, "%s under lease %d after lease %d had started (its node was lost: %t, but lived: %t)",
					e.Event, e.Lease, highest, taken, slow)
			}
		}
		highest = max(highest, e.Lease)
		if c := j.cancel; c != nil && e.Event == eventStart && e.Lease > c.lease && (j.retry == nil || e.Lease <= j.retry.lease) {
			v.wrongf(j.N, "lease %d started after the job was cancelled under lease %d", e.Lease, c.lease)
		}
	}
}

// runs checks that the runs did what their ends tell: the one that finished the job, and those that
// ended as planned, have their effect on file, each once; one that was given back had not begun.
// Only what was cut short may have had its effect or not.
func (v *verifier) runs(j *jobHistory) {
	counts, started := map[int64]int{}, map[int64]bool{}
	for _, e := range j.effects {
		started[e.Lease] = started[e.Lease] || e.Event == eventStart
		if e.Event != eventEffect {
			continue
		}
		v.figures.effects++
		counts[e.Lease]++
		if a := j.ended[e.Lease]; e.Lease != j.LeaseNumber {
			v.duplicates[a.Reason]++
		}
	}
	for lease := int64(1); lease <= j.LeaseNumber; lease++ {
		a, ended := j.ended[lease]
		switch n := counts[lease]; {
		case !ended && n != 1:
			v.wrongf(j.N, "has %d effects of the run that finished it, lease %d", n, lease)
		case !ended:
		case a.Reason == store.ReasonReleased && started[lease]:
			v.wrongf(j.N, "lease %d was given back before it started, and had started", lease)
		case a.Reason == store.ReasonReleased:
		case a.Reason == store.ReasonNodeLost || a.Reason == store.ReasonCancelled:
			if n > 1 {
				v.wrongf(j.N, "has %d effects under lease %d, which was cut short (%s)", n, lease, a.Reason)
			}
		case n != 1:
			v.wrongf(j.N, "has %d effects under lease %d, which ended with %q", n, lease, a.Reason)
		}
	}
}

// checkpoints checks that what was saved under a lease is there under every later one, and nothing
// that no run wrote.
func (v *verifier) checkpoints(j *jobHistory) {
	byLease := slices.SortedStableFunc(slices.Values(j.effects), func(a, b effect) int { return cmp.Compare(a.Lease, b.Lease) })
	saved := 0
	for _, e := range byLease {
		switch e.Event {
		case eventStart:
			// One more than was reported may have been saved: the process died in between.
			if e.Stage < saved || e.Stage > saved+1 {
				v.wrongf(j.N, "lease %d began at stage %d, saved was stage %d", e.Lease, e.Stage, saved)
			}
			saved = max(saved, e.Stage)
		case eventCheckpoint:
			saved = max(saved, e.Stage)
		case eventEffect:
			if e.Stage != j.Stages {
				v.wrongf(j.N, "lease %d had its effect at stage %d of %d", e.Lease, e.Stage, j.Stages)
			}
		}
	}
}
