package crashtest

import (
	"encoding/json"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// children checks that the children that a journal names are there, that their answers have
// arrived, and that the code was given one of them.
func (v *flowVerifier) children(j *flowJob) {
	told := map[string]bool{}
	for _, m := range j.journal.Messages {
		if m.Kind == "child" {
			told[v.told(j, m)] = true
		}
	}
	for _, e := range j.journal.Entries {
		value := text(e.Data)
		switch {
		case e.Kind == "child":
			v.child(j, e)
		case e.Kind == "step" && (strings.HasPrefix(e.Name, string(opChild)+" ") || strings.HasPrefix(e.Name, string(opFan)+" ")):
			for one := range strings.SplitSeq(value, answers) {
				v.figures.answers++
				if !told[one] {
					v.wrongf(childrenAnswer, j.ID, "%s was given %q, which no child answered", e.Name, one)
				}
			}
		}
	}
}

// told is what a child's answer says, which is compared with the child.
func (v *flowVerifier) told(j *flowJob, m holdfast.JournalMessage) string {
	var result done
	if m.State == store.Completed {
		if err := json.Unmarshal(m.Data, &result); err != nil {
			v.wrongf(childrenAnswer, j.ID, "child %s answered %q: %v", m.From, m.Data, err)
		}
	}
	said := answer(m.From, m.State, result.Lease)
	child := v.jobs[m.From]
	if child == nil {
		return said
	}
	is := answer(child.ID, child.State, 0)
	if child.State == store.Completed {
		is = answer(child.ID, child.State, child.LeaseNumber)
	}
	if said != is && len(child.reopenings()) == 0 {
		v.wrongf(childrenAnswer, j.ID, "was told %q, and it is %q", said, is)
	}
	return said
}

// child checks that a child that a journal names is there, and has answered if it has finished.
func (v *flowVerifier) child(j *flowJob, e holdfast.JournalEntry) {
	var named struct {
		ID holdfast.ID `json:"id"`
	}
	if err := json.Unmarshal(e.Data, &named); err != nil {
		v.wrongf(noLoss, j.ID, "entry %d names no child: %v", e.Seq, err)
		return
	}
	child := v.jobs[named.ID]
	switch {
	case child == nil:
		v.wrongf(noLoss, j.ID, "child %s, of entry %d, is not there", named.ID, e.Seq)
		return
	case e.Lease > 0 && child.Parent != j.ID:
		v.wrongf(childrenAnswer, j.ID, "child %s, of entry %d, has parent %s", named.ID, e.Seq, child.Parent)
	}
	n := 0
	for _, m := range j.journal.Messages {
		if m.Kind == "child" && m.From == child.ID {
			n++
		}
	}
	if e.Lease == 0 {
		return // it answers to the job that this one is a fork of
	}
	most := 1 + len(child.reopenings())
	least := 0
	if child.State.Finished() {
		least = 1
	}
	if n < least || n > most {
		v.wrongf(childrenAnswer, j.ID, "child %s is %s, and has answered %d times, not %d to %d times", child.ID, child.State, n, least, most)
	}
}
