package crashtest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast"
)

// messages checks that what was sent under a key arrived once, and was received once at the most.
func (v *flowVerifier) messages(j *flowJob) {
	arrived := map[sendTo]int64{}
	signals := map[int64]string{} // what messages say
	for _, m := range j.journal.Messages {
		if m.Kind != "signal" || m.Name == paid.Name() {
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
	for to, answers := range v.sends {
		if to.job == j.ID && j.Last == 0 { // keys are forgotten when a flow continues as new
			v.sent(j, to, answers, arrived[to])
		}
	}
	v.received(j, signals)
}

// sent compares the answers to the sends of a message with the inbox.
func (v *flowVerifier) sent(j *flowJob, to sendTo, answers []holdfast.SendResult, arrived int64) {
	first := 0
	for _, a := range answers {
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

// received checks that each signal was received at one place, and that it is the one that the code
// was given.
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
