package crashtest

import (
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// finality checks that a job that has finished does not run again, unless somebody asked for it, and that nothing is
// written of it any more.
func (v *flowVerifier) finality(j *flowJob) {
	reopenings := j.reopenings()
	ends := 0
	for lease, a := range j.ended {
		if !a.Outcome.Finished() || lease == j.LeaseNumber {
			continue
		}
		ends++
		if !slices.ContainsFunc(reopenings, func(r asked) bool { return r.lease <= lease }) {
			v.wrongf(finishedIsFinal, j.ID, "was %s under lease %d, went on to lease %d, and nobody asked for it",
				a.Outcome, lease, j.LeaseNumber)
		}
	}
	if ends > len(reopenings) {
		v.wrongf(finishedIsFinal, j.ID, "went on %d times after it had finished, for which somebody asked %d times", ends, len(reopenings))
	}
	v.undoneForGood(j)
	if !j.State.Finished() {
		return
	}
	for _, e := range j.journal.Entries {
		if e.At.After(j.FinishedAt.Add(v.rules.leeway + blink)) {
			v.wrongf(finishedIsFinal, j.ID, "entry %d, %s %s, was written at %v, and the job had finished at %v",
				e.Seq, e.Kind, e.Name, e.At, j.FinishedAt)
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
	if before, ok := first[j.Gen]; ok && j.State == holdfast.Completed {
		v.wrongf(undone, j.ID, "%s was done under lease %d, and the run has completed", before.Step, before.Lease)
	}
}

// isUndoing reports whether a step is that of a compensation.
func isUndoing(step string) bool { return strings.HasPrefix(step, undoing) }

// audit checks that what is on record is what was asked for: nothing that nobody asked for, and all that certainly
// happened and is recorded in any case.
func (v *flowVerifier) audit(j *flowJob) {
	recorded, most, least := map[store.ActionKind]int{}, map[store.ActionKind]int{}, map[store.ActionKind]int{}
	for _, a := range j.Actions {
		recorded[a.Kind]++
	}
	for _, a := range j.asks {
		if a.accepted {
			v.figures.accepted[a.action]++
		}
		if a.action == store.ActionFork || !a.accepted && !a.lost {
			continue // a fork is recorded with the fork
		}
		most[a.action]++
		if a.action == store.ActionRetry && j.isFlow() {
			most[store.ActionResume]++ // that is what it is if the flow has finished
		}
		if a.accepted && a.action == store.ActionResume {
			least[a.action]++ // the others leave no record if they have changed nothing
		}
	}
	if j.fork != nil {
		most[store.ActionFork], least[store.ActionFork] = 1, 1
	}
	if len(j.Actions) == store.ActionBound {
		return
	}
	for _, kind := range []store.ActionKind{
		store.ActionPause, store.ActionResume, store.ActionCancel, store.ActionTerminate, store.ActionRetry, store.ActionFork,
	} {
		if n := recorded[kind]; n < least[kind] || n > most[kind] {
			v.wrongf(actionsAreRecorded, j.ID, "%s is on record %d times, and was done %d to %d times", kind, n, least[kind], most[kind])
		}
	}
}

// cancels checks that who was asked to cancel does nothing new, and comes to an end.
func (v *flowVerifier) cancels(j *flowJob) {
	for _, a := range j.asks {
		if (a.action != store.ActionCancel && a.action != store.ActionTerminate) || !a.accepted {
			continue
		}
		if a.answer.Finished() && a.answer != holdfast.Cancelled {
			continue // it came too late
		}
		until, again := j.until(a, func(b asked) bool { return b.reopens() })
		if again {
			continue
		}
		v.afterCancel(j, a, until)
		if until < 0 && j.State.Finished() && a.answer == holdfast.Cancelled && j.State != holdfast.Cancelled {
			v.wrongf(cancelArrives, j.ID, "was cancelled by ask %d, and is %s", a.number, j.State)
		}
	}
}

// afterCancel checks what was done between the answer to a cancel and the next time that somebody let the job go on,
// or the end of the file. The first run that begins in it may have been claimed before, and be told; one after it
// cannot.
func (v *flowVerifier) afterCancel(j *flowJob, a asked, until int) {
	first := int64(0)
	for _, e := range j.traces {
		if e.at < a.to || until >= 0 && e.at > until {
			continue
		}
		switch {
		case a.held && e.Event == eventStart && e.Lease > a.heldLease:
			v.wrongf(cancelArrives, j.ID, "lease %d began although ask %d had ended the job under lease %d", e.Lease, a.number, a.heldLease)
		case e.Event == eventStart && first == 0:
			first = e.Lease
		case e.Event == eventStart && e.Lease > first && !j.isFlow():
			v.wrongf(cancelArrives, j.ID, "lease %d began after lease %d, which began after ask %d to %s it", e.Lease, first, a.number, a.action)
		case e.Event == eventEffect && first > 0 && e.Lease > first && !isUndoing(e.Step):
			v.wrongf(cancelArrives, j.ID, "did %s under lease %d, although ask %d to %s it came before lease %d began",
				e.Step, e.Lease, a.number, a.action, first)
		}
	}
}

// until is the place of the file at which the first of certain other asks came that was after the given one, or -1. It
// reports whether one came at the same time, or may yet come, so that nothing can be said.
func (j *flowJob) until(a asked, counts func(asked) bool) (place int, again bool) {
	place = -1
	for _, b := range j.asks {
		switch {
		case b.number == a.number || !counts(b):
		case b.from > a.to:
			if place < 0 || b.from < place {
				place = b.from
			}
		case b.to > a.from, b.lost:
			again = true
		}
	}
	return place, again
}

// pauses checks that a job that is held does not run until somebody lets it go on, or ends it.
func (v *flowVerifier) pauses(j *flowJob) {
	for _, a := range j.asks {
		if a.action != store.ActionPause || !a.accepted || !a.held {
			continue
		}
		v.figures.paused++
		until, again := j.until(a, func(b asked) bool {
			return b.reopens() || (b.action == store.ActionCancel || b.action == store.ActionTerminate) && (b.accepted || b.lost)
		})
		if again || v.jobs[j.Parent] != nil { // the end of its parent may end it
			continue
		}
		for _, e := range j.traces {
			if e.Event == eventStart && e.Lease > a.heldLease && e.at > a.to && (until < 0 || e.at < until) {
				v.wrongf(pauseHolds, j.ID, "lease %d began, although it was held after lease %d by ask %d", e.Lease, a.heldLease, a.number)
			}
		}
	}
}

// once checks that an errand that is tried once, says its handler, is tried once.
func (v *flowVerifier) once(j *flowJob) {
	if most := 1 + len(j.reopenings()); j.Once && len(j.started) > most {
		v.wrongf(atMostOnce, j.ID, "ran %d times, for which there were %d reasons", len(j.started), most)
	}
}
