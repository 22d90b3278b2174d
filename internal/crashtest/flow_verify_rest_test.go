package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// spinning is a number of leases that no job needs in a round, but one that is tried again at once,
// for ever.
const spinning = 1000

// rest checks that what has not finished has a reason for it, of those that the plan and the
// operators explain.
func (v *flowVerifier) rest(j *flowJob) {
	why := v.restless(j)
	if why == "" && v.ended && !j.State.Finished() {
		why = "has not finished"
	}
	if why != "" {
		v.wrongf(nothingIsStuck, j.ID, "%s", why)
	}
}

// restless tells why a job ought to move, or does, or "" if it has finished or is at rest.
func (v *flowVerifier) restless(j *flowJob) string {
	switch {
	case j.LeaseNumber > spinning:
		return fmt.Sprintf("has run %d times, and is %s", j.LeaseNumber, j.State)
	case j.State.Finished():
		return ""
	case j.State == store.Running:
		return v.running(j)
	case j.State != store.Waiting:
		return fmt.Sprintf("is %s, and due at %v", j.State, j.RunAt)
	case j.Wait.Held:
		return v.held(j)
	case !j.Wait.Until.IsZero():
		return fmt.Sprintf("waits until %v", j.Wait.Until)
	}
	return v.waits(j)
}

// running tells what a job that runs is doing, as far as its process has told.
func (v *flowVerifier) running(j *flowJob) string {
	lease := j.Lease.Number
	_, dead := v.deaths[j.Lease.Node]
	switch {
	case dead:
		return fmt.Sprintf("is running under lease %d, of node %d, which is dead", lease, j.Lease.Node)
	case v.glances && j.Waits && !j.isFlow():
		return ""
	case j.left[lease]:
		return fmt.Sprintf("is running under lease %d, which its run has left, so that nobody works on it", lease)
	case j.started[lease].Event == "":
		return fmt.Sprintf("is running under lease %d, and no run has begun under it", lease)
	case j.Waits && !j.isFlow():
		return v.orphan(j)
	}
	return fmt.Sprintf("is running under lease %d", lease)
}

// held tells why a job that is held should not be.
func (v *flowVerifier) held(j *flowJob) string {
	switch j.Wait.Reason {
	case store.ReasonPaused:
		asks := j.asks
		if v.glances {
			asks = nil
			for _, a := range v.asks {
				if a.job == j.ID {
					asks = append(asks, asked{ask: a})
				}
			}
		}
		said := "is paused, and nobody asked for it"
		for _, a := range asks {
			switch {
			case a.action != store.ActionPause || !a.accepted && !a.lost:
			case a.lost || !j.resumedAfter(a):
				return ""
			default:
				said = fmt.Sprintf("is paused, although it was resumed after ask %d to pause it", a.number)
			}
		}
		return said
	case store.ReasonNondeterminism:
		if j.Contradicts || j.tripsAtItsEnd() {
			return ""
		}
	default: // nobody is held for anything else
	}
	return fmt.Sprintf("is held (%s: %s)", j.Wait.Reason, j.Wait.Error)
}

// tripsAtItsEnd reports whether the end of the flow is decided, and its second attempt, which a
// dead node may have left it, fails before it is where it had registered what is to be undone: a
// run that is held is not counted.
func (j *flowJob) tripsAtItsEnd() bool {
	isClosing := func(e holdfast.JournalEntry) bool { return e.Kind == "closing" }
	return j.Trips && j.Attempt == 1 && slices.ContainsFunc(j.journal.Entries, isClosing)
}

// resumedAfter reports whether somebody let the job go on after it was asked to pause, and was told
// so.
func (j *flowJob) resumedAfter(a asked) bool {
	return slices.ContainsFunc(j.asks, func(b asked) bool {
		return b.action == store.ActionResume && b.accepted && a.to > 0 && b.from > a.to
	})
}

// waits tells why a job that waits should not.
func (v *flowVerifier) waits(j *flowJob) string {
	var says struct {
		For []string `json:"waits_for"`
	}
	if err := json.Unmarshal(j.Wait.For, &says); err != nil {
		return fmt.Sprintf("waits for %q: %v", j.Wait.For, err)
	}
	reasons := 0
	for _, all := range says.For {
		for what := range strings.SplitSeq(strings.TrimPrefix(all, "the first of: "), ", ") {
			if strings.HasPrefix(what, "strand ") || what == "update "+question.Name() {
				continue
			}
			reasons++
			if why := v.comes(j, what); why != "" {
				return "waits for " + what + ", " + why
			}
		}
	}
	if reasons == 0 {
		return fmt.Sprintf("waits for nothing: %v", says.For)
	}
	return v.orphan(j)
}

// comes tells why what a job waits for comes, or has come.
func (v *flowVerifier) comes(j *flowJob, what string) string {
	if name, ok := strings.CutPrefix(what, "signal "); ok {
		for _, m := range j.journal.Messages {
			if m.Kind == "signal" && m.Name == name && m.Unread {
				return fmt.Sprintf("which has arrived as message %d", m.Seq)
			}
		}
		if name != neverSent.Name() {
			return "of which no other one comes"
		}
		return ""
	}
	if name, ok := strings.CutPrefix(what, "child "); ok {
		id, err := uuid.Parse(name[:min(len(name), 36)])
		if err != nil {
			return "which names nobody"
		}
		if child, there := v.find(id); !there || child.State.Finished() {
			return fmt.Sprintf("which is there: %t, and %s", there, child.State)
		}
		return ""
	}
	if strings.Contains(what, " children of kind ") {
		return v.anyChild(j)
	}
	return "which is no reason"
}

// anyChild tells why a job should not wait for some of its children: they have all finished.
func (v *flowVerifier) anyChild(j *flowJob) string {
	for _, e := range j.journal.Entries {
		var named struct {
			ID holdfast.ID `json:"id"`
		}
		if e.Kind != "child" || json.Unmarshal(e.Data, &named) != nil {
			continue
		}
		if child, there := v.find(named.ID); there && !child.State.Finished() {
			return ""
		}
	}
	return "which have all finished"
}

// orphan tells of a child whose parent has ended and which nobody has ended, although no person let
// it go on.
func (v *flowVerifier) orphan(j *flowJob) string {
	if j.Parent == (holdfast.ID{}) {
		return ""
	}
	parent, there := v.find(j.Parent)
	if !there || !parent.State.Finished() {
		return ""
	}
	for _, a := range v.asks {
		if a.job == j.ID && a.reopens() {
			return ""
		}
	}
	return fmt.Sprintf("is %s, and its parent, job %s, is %s", j.State, parent.ID, parent.State)
}
