package crashtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// identities checks that the jobs that were enqueued, forked or called are there, and nobody else.
func (v *flowVerifier) identities() {
	for id, n := range v.enqueued {
		if j := v.jobs[id]; j == nil || j.N != n {
			v.wrongf(noLoss, id, "was enqueued as job %d, and is not there", n)
		}
	}
	for id, f := range v.forks {
		if v.jobs[id] == nil && f.sure {
			v.wrongf(noLoss, id, "was forked of job %s, and is not there", f.of)
		}
	}
	type place struct {
		parent holdfast.ID
		of, n  int
	}
	called := map[place]int{}
	for id, j := range v.jobs {
		if j.Parent != (holdfast.ID{}) {
			called[place{j.Parent, j.Of, j.N}]++
			if v.jobs[j.Parent] == nil {
				v.wrongf(noLoss, id, "is a child of job %s, which is not there", j.Parent)
			}
		}
	}
	for id, j := range v.jobs {
		if j.fork != nil {
			continue // its first children are those of another job
		}
		for _, o := range leaves(j.Ops) {
			if o.Child == nil {
				continue
			}
			for gen := range j.Gen + 1 {
				n := called[place{id, gen, o.Child.N}]
				least := o.Count
				if gen == j.Gen && j.State != holdfast.Completed {
					least = 0
				}
				if n < least || n > o.Count {
					v.wrongf(noLoss, id, "%s of generation %d has called %d children, planned were %d", o.name(), gen, n, o.Count)
				}
			}
		}
	}
}

// end checks that a job ended as it was planned, or as somebody asked.
func (v *flowVerifier) end(j *flowJob) {
	if !j.State.Finished() {
		return
	}
	ended := j.wasAsked(store.ActionCancel, store.ActionTerminate) || v.wasClosed(j)
	switch {
	case j.State == holdfast.Cancelled:
		if !ended {
			v.wrongf(noLoss, j.ID, "is cancelled (%s: %s), and nobody asked for it", j.Reason, j.Error)
		}
	case j.State == holdfast.Failed && j.Once && j.Reason == store.ReasonCrashLoop:
	case j.State == holdfast.Failed:
		if !j.Fatal || j.Reason != store.ReasonTerminal {
			v.wrongf(noLoss, j.ID, "failed with %s (%s), planned was that it fails: %t", j.Reason, j.Error, j.Fatal)
		}
	case j.Fatal || j.Waits || j.Contradicts || j.Gen != j.Last:
		v.wrongf(noLoss, j.ID, "has completed in generation %d, against the plan", j.Gen)
	default:
		v.completed(j)
	}
}

// wasAsked reports whether somebody asked for one of the actions, and it may have been done.
func (j *flowJob) wasAsked(actions ...store.ActionKind) bool {
	return slices.ContainsFunc(j.asks, func(a asked) bool {
		return slices.Contains(actions, a.action) && (a.accepted || a.lost)
	})
}

// wasClosed reports whether a child's parent may have ended it, by ending first.
func (v *flowVerifier) wasClosed(j *flowJob) bool {
	parent := v.jobs[j.Parent]
	if parent == nil {
		return false
	}
	return parent.State.Finished() && parent.State != holdfast.Completed || len(parent.reopenings()) > 0
}

// completed checks that a job that has completed did what was planned, each step of it.
func (v *flowVerifier) completed(j *flowJob) {
	var result done
	if err := json.Unmarshal(j.Result, &result); err != nil || result.Lease != j.LeaseNumber {
		v.wrongf(noLoss, j.ID, "has the result %q, not that of lease %d", j.Result, j.LeaseNumber)
	}
	if !j.isFlow() {
		n := 0
		for _, e := range j.traces {
			if e.Event == eventEffect && e.Lease == j.LeaseNumber {
				n++
			}
		}
		if n != 1 {
			v.wrongf(noLoss, j.ID, "has %d effects of the run that completed it", n)
		}
		return
	}
	want, got := map[string]string{}, map[string]string{}
	for _, o := range leaves(j.Ops) {
		want[o.name()] = "step"
		if o.Do == opBroken {
			want[o.name()] = "step failed"
		}
	}
	for _, e := range j.journal.Entries {
		if e.Kind == "step" || e.Kind == "step failed" {
			got[e.Name] = e.Kind
		}
	}
	if !maps.Equal(want, got) {
		v.wrongf(noLoss, j.ID, "has completed with the steps %v, planned were %v", got, want)
	}
}

// transactions checks that a StepTx has written its row exactly once: the journal has the step if and only if the
// table has the row, both of the same lease.
func (v *flowVerifier) transactions(j *flowJob) {
	type written struct {
		gen  int
		step string
	}
	rows := map[written][]row{}
	for _, r := range j.rows {
		v.figures.rows++
		rows[written{r.gen, r.step}] = append(rows[written{r.gen, r.step}], r)
	}
	entries := map[string]holdfast.JournalEntry{}
	for _, e := range j.journal.Entries {
		if e.Kind == "step" {
			entries[e.Name] = e
		}
	}
	for at, list := range rows {
		if len(list) > 1 {
			v.wrongf(exactlyOnce, j.ID, "%s of generation %d has written %d rows: %+v", at.step, at.gen, len(list), list)
		}
		if e, ok := entries[at.step]; at.gen == j.Gen && (!ok || e.Lease != list[0].lease) {
			v.wrongf(exactlyOnce, j.ID, "%s has written %+v, the journal has %+v", at.step, list[0], e)
		}
	}
	first := 0
	if j.fork != nil { // of a generation that it did not begin some rows are another job's
		first = v.firstGen(j)
	}
	for _, o := range leaves(j.Ops) {
		for gen := first; gen < j.Gen && o.Do == opRow; gen++ {
			if len(rows[written{gen, o.name()}]) == 0 {
				v.wrongf(exactlyOnce, j.ID, "%s of generation %d, which is over, has written no row", o.name(), gen)
			}
		}
		e, ok := entries[o.name()]
		if o.Do == opRow && ok && e.Lease > 0 && len(rows[written{j.Gen, o.name()}]) == 0 {
			v.wrongf(exactlyOnce, j.ID, "%s is in the journal, under lease %d, and has written no row", o.name(), e.Lease)
		}
	}
}

// firstGen is the first generation that a fork has done the whole of.
func (v *flowVerifier) firstGen(j *flowJob) int {
	for _, e := range j.traces {
		return e.Gen + 1
	}
	return j.Gen
}

// compensations checks that a run that failed or was cancelled has undone what it remembers to have done, in reverse
// order within each strand, and each once; and that one that completed has undone nothing.
func (v *flowVerifier) compensations(j *flowJob) {
	if !j.isFlow() {
		return
	}
	done, compensated := map[string]bool{}, map[string]int64{}
	closing := int64(0)
	last := map[string]string{} // of each strand the path of the last one
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
		case !isUndo(e):
			if closing > 0 {
				v.wrongf(undone, j.ID, "entry %d, %s %s, was written after its end was decided", e.Seq, e.Kind, e.Name)
			}
			if e.Kind == "step" && strings.HasPrefix(e.Name, string(opCharge)) {
				done[undoing+e.Name] = true
			}
		case nested:
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

// comesBefore compares the numbers of two compensations of a strand.
func comesBefore(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

func (v *flowVerifier) compensatedAll(j *flowJob, done map[string]bool, compensated map[string]int64) {
	for name, seq := range compensated {
		if !done[name] {
			v.wrongf(undone, j.ID, "%s, entry %d, undoes what the journal does not say was done", name, seq)
		}
	}
	if j.State == holdfast.Completed && len(compensated) > 0 {
		v.wrongf(undone, j.ID, "has completed, and has compensated %v", slices.Sorted(maps.Keys(compensated)))
	}
	if j.State != holdfast.Failed && j.State != holdfast.Cancelled || j.Reason == store.ReasonTerminated {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(done)) {
		if compensated[name] == 0 {
			v.wrongf(undone, j.ID, "is %s (%s), and has not done %s", j.State, j.Reason, name)
		}
	}
}
