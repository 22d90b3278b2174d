package crashtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// history is all that is known of a test when everything has finished.
type history struct {
	plan     map[int]work
	enqueued map[holdfast.ID]int // what the enqueues returned: which job is at which place of the plan
	effects  []effect            // in the order of the file
	records  map[holdfast.ID]holdfast.Record
	// slow are the nodes that were declared dead while their processes lived. Only their runs may go on after their jobs were taken from them.
	slow []string
}

// figures count what happened.
type figures struct {
	jobs, runs, effects, lost, late, refused int
	duplicates                               map[store.Reason]int // effects but the one that counts, by how their attempt ended
}

func (f figures) String() string {
	return fmt.Sprintf("%d jobs, %d runs, %d attempts lost with their node, %d effects, of which further ones of the same job %v; "+
		"%d late records, %d refused checkpoints", f.jobs, f.runs, f.lost, f.effects, f.duplicates, f.late, f.refused)
}

// verifier collects what is wrong.
type verifier struct {
	history
	figures
	problems []string
	byJob    map[holdfast.ID][]effect
}

// verify compares what was planned, what was done and what the database says.
func verify(h history) ([]string, figures) {
	v := &verifier{history: h, byJob: map[holdfast.ID][]effect{}}
	v.figures = figures{jobs: len(h.records), duplicates: map[store.Reason]int{}}
	for _, e := range h.effects {
		v.byJob[e.Job] = append(v.byJob[e.Job], e)
	}
	for id, n := range h.enqueued {
		if _, ok := h.records[id]; !ok {
			v.wrongf(n, "job %s was enqueued and is lost", id)
		}
	}
	for id, effects := range v.byJob {
		if _, ok := h.records[id]; !ok {
			v.wrongf(effects[0].N, "job %s ran and is lost", id)
		}
	}
	byPlace := map[int][]holdfast.ID{}
	for id, record := range h.records {
		var args work
		if err := json.Unmarshal(record.Args, &args); err != nil {
			v.wrongf(0, "job %s has args %q: %v", id, record.Args, err)
			continue
		}
		byPlace[args.N] = append(byPlace[args.N], id)
		if args != v.plan[args.N] {
			v.wrongf(args.N, "has args %+v, planned were %+v", args, v.plan[args.N])
		}
		v.job(args, record, v.byJob[id])
	}
	for n, w := range v.plan {
		if ids := byPlace[n]; len(ids) != 1 {
			v.wrongf(n, "is in the database as %d jobs, %v; unique %t", len(ids), ids, w.Unique)
		}
	}
	v.order(byPlace)
	slices.Sort(v.problems)
	return v.problems, v.figures
}

func (v *verifier) wrongf(n int, format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf("job %d: ", n)+fmt.Sprintf(format, args...))
}

// job checks one job.
func (v *verifier) job(w work, record holdfast.Record, effects []effect) {
	attempts := v.attempts(w, record)
	v.end(w, record, attempts)
	v.leases(w, record, attempts, effects)
	v.effect(w, record, attempts, effects)
	v.checkpoints(w, effects)
}

// attempts checks that every lease from the first to the last was ended by an attempt on record, or is the one that completed the job.
func (v *verifier) attempts(w work, record holdfast.Record) map[int64]holdfast.Attempt {
	byLease := map[int64]holdfast.Attempt{}
	for _, a := range record.Attempts {
		if _, twice := byLease[a.LeaseNumber]; twice {
			v.wrongf(w.N, "two attempts have lease %d", a.LeaseNumber)
		}
		byLease[a.LeaseNumber] = a
		planned := true
		switch a.Reason {
		case store.ReasonNodeLost:
			v.lost++
		case store.ReasonReleased: // claimed ahead and given back before it started
		case store.ReasonError:
			planned = a.Number <= w.Fails
		case store.ReasonSnoozed:
			planned = a.LeaseNumber <= int64(w.Snoozes)
		case store.ReasonTerminal:
			planned = w.Fatal
		default:
			planned = false
		}
		if !planned {
			v.wrongf(w.N, "the attempt under lease %d ended with %q: %s", a.LeaseNumber, a.Reason, a.Error)
		}
	}
	for lease := int64(1); lease <= record.Lease.Number; lease++ {
		_, recorded := byLease[lease]
		if last := lease == record.Lease.Number && record.State == holdfast.Completed; recorded == last {
			v.wrongf(w.N, "lease %d of %d: recorded as an attempt: %t, completed the job: %t", lease, record.Lease.Number, recorded, last)
		}
	}
	if len(byLease) > 0 && slices.Max(slices.Collect(maps.Keys(byLease))) > record.Lease.Number {
		v.wrongf(w.N, "an attempt has a lease above the last one, %d", record.Lease.Number)
	}
	return byLease
}

// end checks that the job finished as planned, and that the attempts are counted right.
func (v *verifier) end(w work, record holdfast.Record, attempts map[int64]holdfast.Attempt) {
	counted := 0
	for _, a := range attempts {
		if a.Outcome == holdfast.Retryable {
			counted++
		}
	}
	if record.Attempt != counted+1 {
		v.wrongf(w.N, "has counted %d attempts, on record are %d before the last", record.Attempt, counted)
	}
	if w.Fatal {
		if record.State != holdfast.Failed || record.Reason != store.ReasonTerminal {
			v.wrongf(w.N, "is %s (%s), not failed for good", record.State, record.Reason)
		}
		return
	}
	if record.State != holdfast.Completed {
		v.wrongf(w.N, "is %s (%s: %s), not completed", record.State, record.Reason, record.Error)
		return
	}
	var result done
	if err := json.Unmarshal(record.Result, &result); err != nil || result.Lease != record.Lease.Number {
		v.wrongf(w.N, "has the result %q, not that of lease %d", record.Result, record.Lease.Number)
	}
}

// leases checks that each lease was given once, to one node, and that they grow.
func (v *verifier) leases(w work, record holdfast.Record, attempts map[int64]holdfast.Attempt, effects []effect) {
	started := map[int64]effect{}
	highest := int64(0)
	for _, e := range effects {
		node := record.Lease.Node
		attempt, ended := attempts[e.Lease]
		if ended {
			node = attempt.Node
		}
		lost := attempt.Reason == store.ReasonNodeLost
		switch first, ok := started[e.Lease]; {
		case e.Event == eventStart && ok:
			v.wrongf(w.N, "lease %d started twice, on %s and %s", e.Lease, first.By, e.By)
		case e.Event == eventStart:
			v.runs++
			started[e.Lease] = e
		case !ok:
			v.wrongf(w.N, "lease %d: %s without a start", e.Lease, e.Event)
		case first.Node != e.Node || first.By != e.By || first.Attempt != e.Attempt:
			v.wrongf(w.N, "lease %d: %+v is not of the run that began as %+v", e.Lease, e, first)
		}
		switch {
		case e.Lease != record.Lease.Number && !ended:
			v.wrongf(w.N, "%s under lease %d, which is not on record; the last is %d", e.Event, e.Lease, record.Lease.Number)
		case e.Node != node:
			v.wrongf(w.N, "%s under lease %d on node %d, on record is node %d", e.Event, e.Lease, e.Node, node)
		case ended && attempt.Number != e.Attempt:
			v.wrongf(w.N, "%s under lease %d in attempt %d, on record is attempt %d", e.Event, e.Lease, e.Attempt, attempt.Number)
		}
		if e.Event == eventRefused {
			v.refused++
			if !lost {
				v.wrongf(w.N, "a checkpoint under lease %d was refused, which was not lost", e.Lease)
			}
		}
		if e.Lease < highest {
			v.late++
			if slow := slices.Contains(v.slow, e.By); !lost || !slow {
				v.wrongf(w.N, "%s under lease %d after lease %d had started (its node was lost: %t, but lived: %t)",
					e.Event, e.Lease, highest, lost, slow)
			}
		}
		highest = max(highest, e.Lease)
	}
}

// effect checks that the run that finished the job has its effect on file, and that every further effect is explained.
func (v *verifier) effect(w work, record holdfast.Record, attempts map[int64]holdfast.Attempt, effects []effect) {
	counts := 0
	for _, e := range effects {
		if e.Event != eventEffect {
			continue
		}
		v.figures.effects++
		if e.Lease == record.Lease.Number {
			counts++
			continue
		}
		reason := attempts[e.Lease].Reason
		v.duplicates[reason]++
		if reason != store.ReasonNodeLost && reason != store.ReasonError && reason != store.ReasonSnoozed {
			v.wrongf(w.N, "a second effect, under lease %d, is not explained by its attempt: %q", e.Lease, reason)
		}
	}
	if counts != 1 {
		v.wrongf(w.N, "has %d effects of the run that finished it, lease %d", counts, record.Lease.Number)
	}
}

// checkpoints checks that what was saved under a lease is there under every later one, and nothing that no run wrote.
func (v *verifier) checkpoints(w work, effects []effect) {
	byLease := slices.SortedStableFunc(slices.Values(effects), func(a, b effect) int { return cmp.Compare(a.Lease, b.Lease) })
	saved := 0
	for _, e := range byLease {
		switch e.Event {
		case eventStart:
			// One more than was reported may have been saved: the process died in between.
			if e.Stage < saved || e.Stage > saved+1 {
				v.wrongf(w.N, "lease %d began at stage %d, saved was stage %d", e.Lease, e.Stage, saved)
			}
			saved = max(saved, e.Stage)
		case eventCheckpoint:
			saved = max(saved, e.Stage)
		case eventEffect:
			if e.Stage != w.Stages {
				v.wrongf(w.N, "lease %d had its effect at stage %d of %d", e.Lease, e.Stage, w.Stages)
			}
		}
	}
}

// order checks that no job of an ordering key starts before the one before it has had the effect that counts.
func (v *verifier) order(byPlace map[int][]holdfast.ID) {
	first, final := map[holdfast.ID]int{}, map[holdfast.ID]int{} // places in the file
	for i, e := range v.history.effects {
		if _, ok := first[e.Job]; !ok && e.Event == eventStart {
			first[e.Job] = i
		}
		if e.Event == eventEffect && e.Lease == v.records[e.Job].Lease.Number {
			final[e.Job] = i
		}
	}
	before := map[string]int{} // the job before, by key
	for _, n := range slices.Sorted(maps.Keys(v.plan)) {
		key := v.plan[n].Key
		if key == "" || len(byPlace[n]) != 1 {
			continue
		}
		if prior, ok := before[key]; ok && first[byPlace[n][0]] < final[byPlace[prior][0]] {
			v.wrongf(n, "of %s started before job %d had finished", key, prior)
		}
		before[key] = n
	}
}
