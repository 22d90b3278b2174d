package crashtest

import (
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
)

// stepOf names a step of a generation of a flow.
type stepOf struct {
	gen  int
	step string
}

// memory checks that a step that is remembered never executes again, that what is remembered is
// what was done, and that it stays.
func (v *flowVerifier) memory(j *flowJob) {
	if !j.isFlow() {
		return
	}
	known := map[stepOf][]placed{}   // whenever it was known to be remembered, in the order of the file
	effects := map[stepOf][]placed{} // in the order of the file
	for _, e := range j.traces {
		at := stepOf{e.Gen, e.Step}
		switch e.Event {
		case eventRemembered:
			if first := append(known[at], e)[0]; first.Value != e.Value {
				v.wrongf(remembered, j.ID, "%s was %q under lease %d, and %q under lease %d", e.Step, first.Value, first.Lease, e.Value, e.Lease)
			}
			known[at] = append(known[at], e)
		case eventEffect:
			v.figures.effects++
			if len(effects[at]) > 0 {
				v.figures.repeated++
			}
			effects[at] = append(effects[at], e)
		}
	}
	for at, all := range known {
		for _, e := range effects[at] {
			v.again(j, e, all)
		}
	}
	v.entries(j, known, effects)
}

// again checks that nobody had said that a step is remembered before it executed, but for runs with
// later leases: one that has lost its lease may still execute what it began, and a frozen one may
// read in the journal what a later one has left there, so that the lease alone says nothing. What
// was stored and not yet said is found in the journal.
func (v *flowVerifier) again(j *flowJob, e placed, known []placed) {
	for _, was := range known {
		if was.Lease <= e.Lease && was.at < e.at {
			v.wrongf(remembered, j.ID, "%s of generation %d ran again under lease %d, and was remembered under lease %d",
				e.Step, e.Gen, e.Lease, was.Lease)
			return
		}
	}
}

// entries compares the journal with what was done.
func (v *flowVerifier) entries(j *flowJob, known, effects map[stepOf][]placed) {
	held := map[string]bool{}
	for _, e := range j.journal.Entries {
		if e.Kind != "step" && e.Kind != "step failed" || strings.HasPrefix(e.Path, "~") && !strings.Contains(e.Path, ".") {
			continue // of compensations as a whole, see there
		}
		if held[e.Name] {
			v.wrongf(remembered, j.ID, "%s is in the journal twice", e.Name)
		}
		held[e.Name] = true
		v.entry(j, e, effects[stepOf{j.Gen, e.Name}])
	}
	for at, all := range known {
		if at.gen == j.Gen && !held[at.step] {
			v.wrongf(remembered, j.ID, "%s was remembered under lease %d, and is not in the journal", at.step, all[0].Lease)
		}
	}
}

// entry compares the end of a step with what was done by its function.
func (v *flowVerifier) entry(j *flowJob, e holdfast.JournalEntry, effects []placed) {
	did := false
	for _, effect := range effects {
		switch {
		case effect.Lease > e.Lease:
			v.wrongf(remembered, j.ID, "%s ran under lease %d, although lease %d had left it in the journal", e.Name, effect.Lease, e.Lease)
		case effect.Lease == e.Lease && (e.Kind != "step" || effect.Value == text(e.Data)):
			did = true
		}
	}
	switch {
	case e.Lease > 0 && !did:
		v.wrongf(remembered, j.ID, "the journal says that %s was done under lease %d, with %s, and it was not", e.Name, e.Lease, e.Data)
	case e.Lease == 0 && j.fork != nil && e.Kind == "step" && !v.gave(*j.fork, stepOf{j.Gen, e.Name}, text(e.Data)):
		v.wrongf(remembered, j.ID, "was given that %s was done, with %s, and job %s has not done that", e.Name, e.Data, j.fork.of)
	}
}

// gave reports whether the job of which a fork was made did a step that the fork remembers; or the
// one before it.
func (v *flowVerifier) gave(f fork, step stepOf, value string) bool {
	of := v.jobs[f.of]
	if of == nil {
		return false
	}
	return of.fork != nil && v.gave(*of.fork, step, value) || slices.ContainsFunc(of.traces, func(did placed) bool {
		return did.Event == eventEffect && stepOf{did.Gen, did.Step} == step && did.Value == value
	})
}
