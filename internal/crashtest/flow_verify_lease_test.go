package crashtest

import (
	"encoding/json"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// graves checks that no node was declared dead before its time. One that was killed may be known to
// be dead at once.
func (v *flowVerifier) graves() {
	for node, d := range v.deaths {
		if (d.slow || !v.rules.killIsKnown) && d.silence < v.rules.dead-blink {
			v.wrongf(oneOwner, holdfast.ID{}, "node %d, %s, was declared dead after a silence of %v; its process lived: %t",
				node, d.name, d.silence, d.slow)
		}
	}
}

// leases checks that each lease was given to one run, that the leases grow, and that who has lost
// one writes nothing outside any more, but for a process that lived when its node was declared
// dead.
func (v *flowVerifier) leases(j *flowJob) {
	highest := int64(0)
	for _, e := range j.traces {
		first, ok := j.started[e.Lease]
		switch {
		case e.Event == eventStart && ok:
			v.wrongf(oneOwner, j.ID, "lease %d started twice, on %s and %s", e.Lease, first.By, e.By)
		case e.Event == eventStart:
			v.figures.runs++
			j.started[e.Lease] = e
		case !ok:
			v.wrongf(oneOwner, j.ID, "lease %d: %s without a start", e.Lease, e.Event)
		case first.Node != e.Node || first.By != e.By || first.Attempt != e.Attempt:
			v.wrongf(oneOwner, j.ID, "lease %d: %+v is not of the run that began as %+v", e.Lease, e.trace, first.trace)
		}
		if e.Lease < highest {
			v.figures.late++
			v.tooLate(j, e, highest)
		}
		highest = max(highest, e.Lease)
		if e.Event == eventLeave {
			j.left[e.Lease] = true
		}
		a, recorded := j.ended[e.Lease]
		switch {
		case e.Lease > j.LeaseNumber:
			v.wrongf(oneOwner, j.ID, "%s under lease %d, above the last one, %d", e.Event, e.Lease, j.LeaseNumber)
		case recorded && a.Node != e.Node:
			v.wrongf(oneOwner, j.ID, "%s under lease %d on node %d, on record is node %d", e.Event, e.Lease, e.Node, a.Node)
		case !recorded && j.Lease.Number == e.Lease && j.Lease.Node != e.Node:
			v.wrongf(oneOwner, j.ID, "%s under lease %d on node %d, whose it is says node %d", e.Event, e.Lease, e.Node, j.Lease.Node)
		}
	}
}

// tooLate checks what a run did when the next one had begun. A strand that its run has left behind,
// because that was paused, may still be within the function of a step.
func (v *flowVerifier) tooLate(j *flowJob, e placed, highest int64) {
	a := j.ended[e.Lease]
	if j.left[e.Lease] && e.Event != eventLeave && isInStrand(j.Ops, e.Step) {
		return
	}
	if !v.taken(a) || a.Reason != store.ReasonTerminated && !v.deaths[e.Node].slow {
		v.wrongf(oneOwner, j.ID, "%s %s under lease %d after lease %d had started; it ended with %q, node %d lived: %t",
			e.Event, e.Step, e.Lease, highest, a.Reason, e.Node, v.deaths[e.Node].slow)
	}
}

// isInStrand reports whether a step is one of a strand beside the handler.
func isInStrand(ops []op, step string) bool {
	for _, o := range ops {
		if o.Do != opStrands {
			continue
		}
		for _, leaf := range leaves([]op{o}) {
			if leaf.name() == step {
				return true
			}
		}
	}
	return false
}

// claims checks that jobs are taken from dead nodes only, and that each lease of an errand was
// ended by an attempt on record, or is the one that completed it: an errand does not park.
func (v *flowVerifier) claims(j *flowJob) {
	for lease, a := range j.ended {
		if a.Reason == store.ReasonNodeLost || a.Reason == store.ReasonCrashLoop {
			v.figures.lost++
			if d, dead := v.deaths[a.Node]; !dead || a.EndedAt.Before(d.at.Add(-v.rules.leeway)) {
				v.wrongf(oneOwner, j.ID, "lease %d was lost with node %d, which was not dead", lease, a.Node)
			}
		}
		if lease > j.LeaseNumber {
			v.wrongf(oneOwner, j.ID, "an attempt has lease %d, above the last one, %d", lease, j.LeaseNumber)
		}
	}
	if j.isFlow() || !j.State.Finished() {
		return
	}
	for lease := int64(1); lease <= j.LeaseNumber; lease++ {
		_, recorded := j.ended[lease]
		if last := lease == j.LeaseNumber && j.State == store.Completed; recorded == last {
			v.wrongf(oneOwner, j.ID, "lease %d of %d: recorded as an attempt: %t, completed the errand: %t",
				lease, j.LeaseNumber, recorded, last)
		}
	}
}

// lines checks that the entries of a journal are numbered without gaps, and were written by one run
// after the other, each of which began: none was accepted from a run that had lost its lease.
func (v *flowVerifier) lines(j *flowJob) {
	last := int64(0)
	for i, e := range j.journal.Entries {
		if e.Seq != j.journal.Entries[0].Seq+int64(i) || i == 0 && e.Seq != 1 && e.Kind != "continued" {
			v.wrongf(oneOwner, j.ID, "entry %d of the journal has number %d", i+1, e.Seq)
		}
		switch _, began := j.started[e.Lease]; {
		case e.Lease < last:
			v.wrongf(oneOwner, j.ID, "entry %d, %s %s, was written under lease %d, after one of lease %d", e.Seq, e.Kind, e.Name, e.Lease, last)
		case e.Lease == 0 && j.fork == nil:
			v.wrongf(oneOwner, j.ID, "entry %d, %s %s, was written without a lease", e.Seq, e.Kind, e.Name)
		case e.Lease > 0 && !began:
			v.wrongf(oneOwner, j.ID, "entry %d, %s %s, was written under lease %d, whose run never began", e.Seq, e.Kind, e.Name, e.Lease)
		}
		last = max(last, e.Lease)
	}
}

// text is the result of a step, which is a string.
func text(data json.RawMessage) string {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return strings.TrimSpace(string(data))
	}
	return s
}
