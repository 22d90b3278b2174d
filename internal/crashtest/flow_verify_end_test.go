package crashtest

import (
	"encoding/json"
	"maps"
	"slices"

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
	v.families()
}

// families checks that jobs without a parent were enqueued once each, and that the others were
// called as planned.
func (v *flowVerifier) families() {
	type place struct {
		parent holdfast.ID
		of, n  int
	}
	called := map[place]int{}
	for id, j := range v.jobs {
		if j.fork != nil {
			continue
		}
		at := place{j.Parent, j.Of, j.N}
		called[at]++
		switch none := (holdfast.ID{}); {
		case j.Parent == none && called[at] > 1:
			v.wrongf(noLoss, id, "was enqueued once, as job %d, and is there %d times", j.N, called[at])
		case j.Parent != none && v.jobs[j.Parent] == nil:
			v.wrongf(noLoss, id, "is a child of job %s, which is not there", j.Parent)
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
				if gen == j.Gen && j.State != store.Completed {
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
	case j.State == store.Cancelled:
		if !ended {
			v.wrongf(noLoss, j.ID, "is cancelled (%s: %s), and nobody asked for it", j.Reason, j.Error)
		}
	case j.State == store.Failed && j.Once && j.Reason == store.ReasonCrashLoop:
	case j.State == store.Failed:
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

// wasClosed reports whether a child's parent may have ended it, by ending first. A parent that
// completes has waited for its children: one of them is open then only if somebody let it, or the
// parent, go on after it had ended.
func (v *flowVerifier) wasClosed(j *flowJob) bool {
	parent := v.jobs[j.Parent]
	if parent == nil {
		return false
	}
	return parent.State.Finished() && (parent.State != store.Completed || len(j.reopenings()) > 0) || len(parent.reopenings()) > 0
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
		if (e.Kind == "step" || e.Kind == "step failed") && !isReply(e) {
			got[e.Name] = e.Kind
		}
	}
	if !maps.Equal(want, got) {
		v.wrongf(noLoss, j.ID, "has completed with the steps %v, planned were %v", got, want)
	}
}
