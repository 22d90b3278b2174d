package crashtest

import (
	"github.com/holdfastdev/holdfast/store"
)

// cancels checks that who was asked to cancel does nothing new, and comes to an end.
func (v *flowVerifier) cancels(j *flowJob) {
	for _, a := range j.asks {
		if (a.action != store.ActionCancel && a.action != store.ActionTerminate) || !a.accepted {
			continue
		}
		if a.answer.Finished() && a.answer != store.Cancelled {
			continue // it came too late
		}
		until, again := j.until(a, func(b asked) bool { return b.reopens() })
		if again {
			continue
		}
		v.afterCancel(j, a, until)
		if until < 0 && j.State.Finished() && a.answer == store.Cancelled && j.State != store.Cancelled {
			v.wrongf(cancelArrives, j.ID, "was cancelled by ask %d, and is %s", a.number, j.State)
		}
	}
}

// afterCancel checks what was done between the answer to a cancel and the next time that somebody
// let the job go on, or the end of the file. The first run that begins in it may have been claimed
// before, and be told; one after it cannot.
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

// until is the place of the file at which the first of certain other asks came that was after the
// given one, or -1. It reports whether one came at the same time, or may yet come, so that nothing
// can be said.
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
