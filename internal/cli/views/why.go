package views

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/why"
)

// Why says why a job does not start, continue or end.
type Why struct {
	ID    string  `json:"id"`
	State Text    `json:"state"`
	Why   []Cause `json:"why"`
}

// Identity implements output.Identified.
func (w Why) Identity() (kind, id string) { return "job", w.ID }

// NewWhy returns the view of an explanation.
func NewWhy(e *why.Explanation) Why {
	return Why{ID: e.Job.String(), State: Text(e.State.String()), Why: viewCauses(e.Causes)}
}

// PrintWhy prints it for people: a line for each cause.
func PrintWhy(out *output.Printer, now time.Time, e *why.Explanation) {
	t := out.NewTable(3)
	for i := range e.Causes {
		c := &e.Causes[i]
		text, until := c.Text, c.Until.UTC().Format(time.RFC3339)
		switch {
		case c.Until.IsZero(), c.Code == why.Scheduled: // the text says when
		case c.Code == why.Retry: // and this one how long that is
			text += " (at " + until + ")"
		default:
			text += " (until " + until + ", " + output.Ago(now, c.Until) + ")"
		}
		t.Add(string(c.Code), text)
	}
	t.Flush()
}
