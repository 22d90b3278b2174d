package crashtest

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// finality checks that a job that has finished does not run again, unless somebody asked for it,
// and that nothing is written of it any more.
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

// audit checks that what is on record is what was asked for: nothing that nobody asked for, and all
// that certainly happened and is recorded in any case.
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
