package crashtest

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// words checks that a job says what its last run said that was stored, and both halves of it: it is
// not behind what is known to be durable, and not that of a run that had lost its lease.
func (v *flowVerifier) words(j *flowJob) {
	v.wordsSeen(j)
	w, ok := v.spoken(j)
	switch {
	case !ok:
	case w.Job != j.ID: // a fork has what the other job had said, until it says something itself
		if j.fork == nil || j.State == store.Completed || len(j.told()) > 0 {
			v.wrongf(saidIsStored, j.ID, "says what job %s says: %s", w.Job, w.tag())
		}
	case !j.hasSaid(w):
		v.wrongf(saidIsStored, j.ID, "says %q, which no run of it has said", w.tag())
	case j.State == store.Completed && (w.At != theEnd || w.Gen != j.Gen || w.Lease != j.LeaseNumber):
		v.wrongf(saidIsStored, j.ID, "says %q, and has completed under lease %d", w.tag(), j.LeaseNumber)
	case j.isFlow():
		v.flowWords(j, w, j.told())
	default:
		v.errandWords(j, w)
	}
}

// spoken returns what a job says, if it says something.
func (v *flowVerifier) spoken(j *flowJob) (w words, ok bool) {
	if j.Metadata == nil && len(j.Tags) == 0 {
		if len(j.told()) > 0 || j.Talks && j.State == store.Completed || slices.ContainsFunc(j.traces, isKept) {
			v.wrongf(saidIsStored, j.ID, "says nothing, and %v was stored", j.told())
		}
		return w, false
	}
	if err := json.Unmarshal(j.Metadata, &w); err != nil || !slices.Equal(j.Tags, []string{w.tag()}) {
		v.wrongf(saidIsStored, j.ID, "has the metadata %s and the tags %q: %v", j.Metadata, j.Tags, err)
		return w, false
	}
	v.figures.spoken++
	return w, true
}

func isKept(e placed) bool { return e.Event == eventKept }

// hasSaid reports whether a run of the job has said something, stored or not.
func (j *flowJob) hasSaid(w words) bool {
	return slices.ContainsFunc(j.traces, func(e placed) bool {
		return e.Event == eventSays && e.Step == w.At && e.Gen == w.Gen && e.Lease == w.Lease
	})
}

// stored is something that a flow has said, and that its journal says is stored.
type stored struct {
	at    string
	order int   // a later one is said later
	lease int64 // under which it was stored; 0: unknown, as it may have been stored more than once
}

// told is what the journal says is stored of what a flow has said, in its present generation. What
// a fork was given was said by another job.
func (j *flowJob) told() (all []stored) {
	first, last := map[string]int64{}, map[string]int64{} // leases: of the first entry at a path, and of the end of a step
	for _, e := range j.journal.Entries {
		if _, ok := first[e.Path]; !ok {
			first[e.Path] = e.Lease
		}
		if e.Kind == "step" {
			last[e.Name] = e.Lease
		}
	}
	paths := places(j.Ops, "")
	for i, o := range j.Ops {
		name := o.name()
		lease, ok := first[paths[name]]
		if !ok { // several children have one each
			lease = first[paths[name]+".1"]
		}
		if lease > 0 && o.Says {
			if !o.beginsWithStep() {
				lease = 0
			}
			all = append(all, stored{name, 2 * i, lease})
		}
		if lease := last[name]; lease > 0 && o.Within {
			all = append(all, stored{within(name), 2*i + 1, lease})
		}
	}
	return append(all, j.toldUndoing()...)
}

// toldUndoing is told of what compensates, which comes after all else.
func (j *flowJob) toldUndoing() (all []stored) {
	says := map[string]bool{}
	for _, o := range j.Ops {
		says[o.undo()] = o.Says
	}
	for _, e := range j.journal.Entries {
		if e.Lease > 0 && e.Kind == "step" && isUndo(e) && says[e.Name] {
			all = append(all, stored{e.Name, 2*len(j.Ops) + int(e.Seq), 0})
		}
	}
	return all
}

// beginsWithStep reports whether the first thing that an operation does is its step.
func (o op) beginsWithStep() bool {
	switch o.Do {
	case opStep, opFlaky, opBroken, opCharge, opRow:
		return true
	default:
		return false
	}
}

// flowWords checks what a flow says that has not completed, or does so correctly.
func (v *flowVerifier) flowWords(j *flowJob, w words, told []stored) {
	if w.Gen != j.Gen {
		if w.Gen > j.Gen || len(told) > 0 {
			v.wrongf(saidIsStored, j.ID, "says %q, in generation %d, and the journal has stored %v", w.tag(), j.Gen, told)
		}
		return
	}
	order, known := j.order(w, told)
	for _, s := range told {
		switch {
		case !known && s.lease > w.Lease: // else it was stored with the end of a run, after all of these
			v.wrongf(saidIsStored, j.ID, "says %q, and the journal has stored %v", w.tag(), s)
		case known && s.order > order:
			v.wrongf(saidIsStored, j.ID, "says %q, and the journal has stored %v, which comes later", w.tag(), s)
		case known && s.order == order && s.lease > 0 && s.lease != w.Lease:
			v.wrongf(saidIsStored, j.ID, "says %q, and the journal has stored it under lease %d", w.tag(), s.lease)
		}
	}
}

// order is when something is said, compared with others; known: by the journal, or by the plan.
func (j *flowJob) order(w words, told []stored) (order int, known bool) {
	if i := slices.IndexFunc(told, func(s stored) bool { return s.at == w.At }); i >= 0 {
		return told[i].order, true
	}
	for i, o := range j.Ops {
		switch w.At {
		case o.name():
			return 2 * i, true
		case within(o.name()):
			return 2*i + 1, true
		}
	}
	return math.MaxInt, false
}

// wordsSeen checks that what a job said was never behind what it had said before, or what its
// journal had stored.
func (v *flowVerifier) wordsSeen(j *flowJob) {
	if len(j.reopenings()) > 0 {
		return
	}
	seen := v.seen[j.ID]
	for i := range max(len(seen)-1, 0) {
		v.figures.seen++
		a, b := seen[i], seen[i+1]
		if b.Gen < a.Gen || b.Lease < a.Lease || b.Gen == a.Gen && j.rank(b.At) < j.rank(a.At) && (j.isFlow() || b.Lease == a.Lease) {
			v.wrongf(saidIsStored, j.ID, "said %q, and %q after that", a.tag(), b.tag())
		}
	}
	for _, g := range v.looks[j.ID] {
		v.figures.looks++
		then := *j
		then.Gen = g.gen
		if g.words.Job != j.ID {
			v.wrongf(saidIsStored, j.ID, "said %q, and the journal had stored %v", g.words.tag(), g.told)
			continue
		}
		v.flowWords(&then, g.words, g.told)
	}
}

// rank is when something is said: what comes later has a higher one, but for compensations among
// each other.
func (j *flowJob) rank(at string) int {
	for i, o := range j.Ops {
		switch at {
		case o.name():
			return 2 * i
		case within(o.name()):
			return 2*i + 1
		}
	}
	switch at {
	case theBeginning:
		return 0
	case theEnd:
		return 2 * len(j.Ops)
	}
	return 2*len(j.Ops) + 1
}

// errandWords checks what an errand says: it stores that with checkpoints and ends of runs.
func (v *flowVerifier) errandWords(j *flowJob, w words) {
	for _, e := range j.traces {
		a, ended := j.ended[e.Lease]
		switch {
		case e.Event == eventKept && e.Lease > w.Lease:
			v.wrongf(saidIsStored, j.ID, "says %q, and lease %d has stored its checkpoint", w.tag(), e.Lease)
		case e.Event == eventSays && e.Step == theEnd && ended && !v.taken(a) && (e.Lease > w.Lease || e.Lease == w.Lease && w.At != theEnd):
			v.wrongf(saidIsStored, j.ID, "says %q, and lease %d, which said %s, ended with %q", w.tag(), e.Lease, e.Step, a.Reason)
		}
	}
}
