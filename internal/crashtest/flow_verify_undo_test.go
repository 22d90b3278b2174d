package crashtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// compensations checks that a run that failed or was cancelled has undone what it remembers to have
// done, in reverse order within each strand, and each once; and that one that completed has undone
// nothing.
func (v *flowVerifier) compensations(j *flowJob) {
	if !j.isFlow() {
		return
	}
	done, compensated := map[string]bool{}, map[string]int64{}
	closing := int64(0)
	last := map[string]string{} // of each strand the path of the last one
	pledges := j.pledges()
	for _, e := range j.journal.Entries {
		strand, _, nested := strings.Cut(e.Path, ".")
		switch {
		case e.Kind == "closing":
			if closing > 0 {
				v.wrongf(undone, j.ID, "entries %d and %d both decide its end", closing, e.Seq)
			}
			closing = e.Seq
		case isUndo(e) && closing == 0:
			v.wrongf(undone, j.ID, "entry %d, %s %s, compensates before the end was decided", e.Seq, e.Kind, e.Name)
		case !isUndo(e) && closing > 0:
			if !isDecision(e) {
				v.wrongf(undone, j.ID, "entry %d, %s %s, was written after its end was decided", e.Seq, e.Kind, e.Name)
			}
		case e.Kind == "received" && pledges[e.Path] != "":
			done[pledges[e.Path]] = true
		case e.Kind == "step" && strings.HasPrefix(e.Name, string(opCharge)+" "):
			done[undoing+e.Name] = true
		case !isUndo(e), nested:
		case e.Kind == "compensated" || e.Kind == "step failed":
			v.figures.compensated++
			if compensated[e.Name] > 0 {
				v.wrongf(undone, j.ID, "%s was done twice: entries %d and %d", e.Name, compensated[e.Name], e.Seq)
			}
			compensated[e.Name] = e.Seq
			of := strand[:strings.LastIndexAny(strand, "~/")+1]
			if before, ok := last[of]; ok && !comesBefore(strand, before) {
				v.wrongf(undone, j.ID, "%s, at %s, was done after %s", e.Name, strand, before)
			}
			last[of] = strand
		}
	}
	v.compensatedAll(j, done, compensated)
}

// pledges are the compensations that the arrival of a message calls for, by the path at which it is
// received.
func (j *flowJob) pledges() map[string]string {
	pledges := map[string]string{}
	paths := places(j.Ops, "")
	for _, o := range leaves(j.Ops) {
		if o.Do == opPledge {
			pledges[paths[o.name()]] = o.undo()
		}
	}
	return pledges
}

// isDecision reports whether an entry says only what the code was told, which does nothing: a run
// that is ending may still be told of what has come meanwhile.
func isDecision(e holdfast.JournalEntry) bool {
	switch e.Kind {
	case "received", "timeout", "selected", "timer", "value", "patched":
		return true
	}
	return false
}

// comesBefore compares the numbers of two compensations of a strand.
func comesBefore(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

func (v *flowVerifier) compensatedAll(j *flowJob, done map[string]bool, compensated map[string]int64) {
	for name, seq := range compensated {
		if !done[name] {
			v.wrongf(undone, j.ID, "%s, entry %d, undoes what the journal does not say was done", name, seq)
		}
	}
	if j.State == store.Completed && len(compensated) > 0 {
		v.wrongf(undone, j.ID, "has completed, and has compensated %v", slices.Sorted(maps.Keys(compensated)))
	}
	if j.State != store.Failed && j.State != store.Cancelled || j.Reason == store.ReasonTerminated {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(done)) {
		if compensated[name] == 0 {
			v.wrongf(undone, j.ID, "is %s (%s), and has not done %s", j.State, j.Reason, name)
		}
	}
}

// undoneForGood checks that a run that has undone something does not go on with anything else.
func (v *flowVerifier) undoneForGood(j *flowJob) {
	first := map[int]placed{} // by generation
	for _, e := range j.traces {
		before, ok := first[e.Gen]
		if e.Event == eventRemembered && isUndoing(e.Step) && (!ok || e.Lease < before.Lease) {
			first[e.Gen] = e
		}
	}
	for _, e := range j.traces {
		if before, ok := first[e.Gen]; ok && e.Event == eventEffect && !isUndoing(e.Step) && e.Lease > before.Lease {
			v.wrongf(undone, j.ID, "%s was done under lease %d, and %s under lease %d", before.Step, before.Lease, e.Step, e.Lease)
		}
	}
	if before, ok := first[j.Gen]; ok && j.State == store.Completed {
		v.wrongf(undone, j.ID, "%s was done under lease %d, and the run has completed", before.Step, before.Lease)
	}
}

// isUndoing reports whether a step is that of a compensation.
func isUndoing(step string) bool { return strings.HasPrefix(step, undoing) }
