package crashtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
)

// messages checks that what was sent under a key arrived once, and was received once at the most.
func (v *flowVerifier) messages(j *flowJob) {
	arrived := map[sendTo]int64{}
	signals := map[int64]string{} // what messages say
	for _, m := range j.journal.Messages {
		if m.Kind != "signal" {
			continue
		}
		var said key
		if err := json.Unmarshal(m.Data, &said); err != nil {
			v.wrongf(oncePerKey, j.ID, "message %d says %s: %v", m.Seq, m.Data, err)
		}
		gen, err := strconv.Atoi(strings.TrimPrefix(m.Name, noteOf(0).Name()[:len("note.")]))
		if err != nil {
			v.wrongf(oncePerKey, j.ID, "message %d is %s, which nobody sends", m.Seq, m.Name)
		}
		to := sendTo{j.ID, gen, said.Number}
		if before, twice := arrived[to]; twice {
			v.wrongf(oncePerKey, j.ID, "key %d of %s arrived twice, as messages %d and %d", said.Number, m.Name, before, m.Seq)
		}
		arrived[to] = m.Seq
		signals[m.Seq] = keyValue(said.Number)
	}
	for to, s := range v.sends {
		if to.job == j.ID && j.Last == 0 { // keys are forgotten when a flow continues as new
			v.sent(j, to, s, arrived[to])
		}
	}
	v.received(j, signals)
}

// sent compares the answers to the sends of a message with the inbox.
func (v *flowVerifier) sent(j *flowJob, to sendTo, s *sends, arrived int64) {
	first := 0
	for _, a := range s.answers {
		v.figures.signals++
		if a.Message != arrived {
			v.wrongf(oncePerKey, j.ID, "key %d was sent as message %d, and is message %d of the inbox", to.key, a.Message, arrived)
		}
		if !a.Duplicate {
			first++
		}
	}
	if first > 1 {
		v.wrongf(oncePerKey, j.ID, "key %d was sent for the first time %d times", to.key, first)
	}
}

// received checks that each signal was received at one place, and that it is the one that the code was given.
func (v *flowVerifier) received(j *flowJob, signals map[int64]string) {
	places := map[int64]string{}
	for _, e := range j.journal.Entries {
		if e.Kind != "received" {
			continue
		}
		if before, twice := places[e.Message]; twice {
			v.wrongf(oncePerKey, j.ID, "message %d was received at %s and at %s", e.Message, before, e.Path)
		}
		places[e.Message] = e.Path
	}
	given := map[string]string{} // the keys that steps say were received
	for _, e := range j.journal.Entries {
		value := text(e.Data)
		if e.Kind != "step" || !strings.HasPrefix(value, "key ") {
			continue
		}
		if before, twice := given[value]; twice {
			v.wrongf(oncePerKey, j.ID, "%s and %s were both given %s", before, e.Name, value)
		}
		given[value] = e.Name
		found := false
		for seq, said := range signals {
			found = found || said == value && places[seq] == pathBefore(e.Path)
		}
		if !found {
			v.wrongf(oncePerKey, j.ID, "%s, at %s, was given %s, which the journal did not receive before it", e.Name, e.Path, value)
		}
	}
}

// pathBefore is the path of the operation before the one at a path.
func pathBefore(path string) string {
	dot := strings.LastIndexByte(path, '.') + 1
	place, err := strconv.Atoi(path[dot:])
	if err != nil {
		return ""
	}
	return path[:dot] + strconv.Itoa(place-1)
}

// children checks that the children that a journal names are there, that their answers have arrived, and that the
// code was given one of them.
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
	if m.State == holdfast.Completed {
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
	if child.State == holdfast.Completed {
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

// timers checks that nobody goes on from a sleep before it is over.
func (v *flowVerifier) timers(j *flowJob) {
	ends := map[string]time.Time{}
	for _, e := range j.journal.Entries {
		var timer struct {
			Until time.Time `json:"until"`
		}
		switch {
		case e.Kind == "timer":
			if err := json.Unmarshal(e.Data, &timer); err != nil {
				v.wrongf(everyDueThing, j.ID, "entry %d is no timer: %v", e.Seq, err)
			}
			ends[e.Path] = timer.Until
		case e.Kind == "step" && strings.HasPrefix(e.Name, string(opSleep)+" "):
			v.figures.sleeps++
			end, ok := ends[pathBefore(e.Path)]
			if early := end.Sub(e.At); !ok || early > v.rules.leeway {
				v.wrongf(everyDueThing, j.ID, "%s, at %s, was done %v before its time, which it had: %t", e.Name, e.Path, early, ok)
			}
		}
	}
	for _, a := range j.Attempts {
		// The first attempt that dies with its node is repeated at once, and so is what somebody wants at once.
		if next, ok := j.ended[a.LeaseNumber+1]; ok && a.Reason == "snoozed" && len(j.reopenings()) == 0 {
			if early := a.EndedAt.Add(snoozed).Sub(next.ClaimedAt); early > v.rules.leeway {
				v.wrongf(everyDueThing, j.ID, "lease %d was given %v before its time", next.LeaseNumber, early)
			}
		}
	}
}
