package crashtest

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// flowFigures count what a storm met.
type flowFigures struct {
	runs, lost, late                                   int
	effects, repeated, rows, compensated, sleeps       int
	signals, answers, forked, continued, paused, total int
	spoken, seen, looks                                int // jobs that say something, and what was seen of that
	replies, refused                                   int
	paid, keys                                         int // payments, and keys that were taken again

	states   map[store.State]int
	accepted map[store.ActionKind]int
}

func (f *flowFigures) String() string {
	return fmt.Sprintf("%d jobs (%v), of which %d forks, %d continued as new; %d runs, %d lost with their node, %d late records; "+
		"%d effects, %d of them repeated, %d rows, %d compensations, %d sleeps, %d signals, %d answers; accepted %v, %d held; "+
		"%d say something, of which %d changes and %d journals were seen; %d requests answered, %d refused; "+
		"%d payments, %d keys taken again",
		f.total, f.states, f.forked, f.continued, f.runs, f.lost, f.late,
		f.effects, f.repeated, f.rows, f.compensated, f.sleeps, f.signals, f.answers, f.accepted, f.paused,
		f.spoken, f.seen, f.looks, f.replies, f.refused, f.paid, f.keys)
}

// count counts a job.
func (v *flowVerifier) count(j *flowJob) {
	if v.figures.states == nil {
		v.figures.states, v.figures.accepted = map[store.State]int{}, map[store.ActionKind]int{}
	}
	v.figures.total++
	v.figures.states[j.State]++
	if j.fork != nil {
		v.figures.forked++
	}
	if j.Gen > 0 {
		v.figures.continued++
	}
}

// missed lists what a storm has not met that it is there for. It may have met little of what is
// rare.
func (f *flowFigures) missed() (missed []string) {
	asked := 0
	for _, n := range f.accepted {
		asked += n
	}
	for what, n := range map[string]int{
		"runs that were lost with their node": f.lost, "steps that were repeated": f.repeated, "rows": f.rows,
		"sleeps": f.sleeps, "signals": f.signals, "answers": f.answers, "asks that were accepted": asked,
		"jobs that say something": f.spoken, "requests that were answered": f.replies, "requests that were refused": f.refused,
		"payments": f.paid, // keys that are taken again are rare on a slow machine
	} {
		if n == 0 {
			missed = append(missed, what)
		}
	}
	slices.Sort(missed)
	return missed
}
