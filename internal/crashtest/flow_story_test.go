package crashtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// story is what is known of a job, for who reads of a violation.
func story(h flowHistory, id holdfast.ID) string {
	r := h.records[id]
	head := teller{}
	head.addf("the story of job %s, %s %s", id, r.Kind, r.Args)
	head.addf("  %s (%s: %s), under lease %d on node %d, attempt %d, with the result %s; child of %s; finished at %v", r.State,
		r.Reason, r.Error, r.LeaseNumber, r.Lease.Node, r.Attempt, r.Result, r.Parent, r.FinishedAt)
	if w := r.Wait; w != nil {
		head.addf("  waits since %v until %v for %s; held %t (%s: %s)", w.Since, w.Until, w.For, w.Held, w.Reason, w.Error)
	}
	return strings.Join([]string{
		head.text(), attempts(r), actions(h, id), deeds(h, id), memories(h.journals[id]),
	}, "\n")
}

func attempts(r store.Record) string {
	t := teller{}
	for _, a := range r.Attempts {
		t.addf("  attempt %d under lease %d on node %d, from %v to %v: %s (%s: %s)", a.Number, a.LeaseNumber, a.Node,
			a.ClaimedAt, a.EndedAt, a.Outcome, a.Reason, a.Error)
	}
	return t.text()
}

func actions(h flowHistory, id holdfast.ID) string {
	t := teller{}
	for _, a := range h.records[id].Actions {
		t.addf("  at %v: %s, %s", a.At, a.Kind, a.Reason)
	}
	for _, a := range h.asks {
		if a.job == id {
			t.addf("  %+v", *a)
		}
	}
	return t.text()
}

func deeds(h flowHistory, id holdfast.ID) string {
	t := teller{}
	for at, e := range h.traces {
		if data, err := json.Marshal(e); err == nil && e.Job == id {
			t.addf("  %d %s", at, data)
		}
	}
	return t.text()
}

func memories(j holdfast.Journal) string {
	t := teller{}
	for _, e := range j.Entries {
		t.addf("  entry %d at %v: %s %s %s, message %d, lease %d, %s", e.Seq, e.At, e.Kind, e.Path, e.Name, e.Message, e.Lease, e.Data)
	}
	for _, m := range j.Messages {
		t.addf("  message %d at %v: %s %s of %s %s, unread %t, %s", m.Seq, m.At, m.Kind, m.Name, m.From, m.State, m.Unread, m.Data)
	}
	return t.text()
}

// teller keeps the beginning and the end of what it is told.
type teller struct{ lines []string }

func (t *teller) addf(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *teller) text() string {
	const half = 30
	lines := t.lines
	if left := len(lines) - 2*half; left > 0 {
		lines = append(append(lines[:half:half], fmt.Sprintf("  … %d more", left)), lines[len(lines)-half:]...)
	}
	return strings.Join(lines, "\n")
}
