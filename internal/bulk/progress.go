package bulk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Counts say what became of the jobs of an operation.
type Counts struct {
	Matched int `json:"matched"` // jobs that the operation came to: the sum of the others
	Changed int `json:"changed"` // by it
	Already int `json:"already"` // were as they were to be
	Refused int `json:"refused"` // cannot be changed as they are
	Gone    int `json:"gone"`    // were removed, or did not match any more, before they were changed
}

// Refusal is a job that was not changed, and why.
type Refusal struct {
	Job   store.ID `json:"job"`
	Error string   `json:"error"`
}

// MaxRefusals is how many refusals are kept; of the others there is only the count.
const MaxRefusals = 20

// Progress is how far an operation is, as it is stored in the checkpoint of its job.
type Progress struct {
	Counts

	Refusals []Refusal `json:"refusals,omitempty"`
	// After is where the next page begins, behind the pending one.
	After string `json:"after,omitempty"`
	// Last: there is no further page.
	Last bool `json:"last,omitempty"`
	// Pending are the jobs that are being changed, and are not counted yet.
	Pending []store.ID `json:"pending,omitempty"`
}

// ProgressOf is the progress of an operation's job. Of one that has not begun there is none.
func ProgressOf(c *store.Checkpoint) (p Progress, err error) {
	if c == nil || len(c.Value) == 0 {
		return p, nil
	}
	return p, json.Unmarshal(c.Value, &p)
}

// refuse counts a job that was not changed.
func (p *Progress) refuse(id store.ID, err error) {
	p.Refused++
	if len(p.Refusals) < MaxRefusals {
		p.Refusals = append(p.Refusals, Refusal{Job: id, Error: err.Error()})
	}
}

// String says it in words.
func (c Counts) String() string {
	parts := []string{fmt.Sprintf("%d jobs: %d changed", c.Matched, c.Changed)}
	for _, of := range []struct {
		n    int
		what string
	}{{c.Already, "were so already"}, {c.Refused, "refused"}, {c.Gone, "gone"}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	return strings.Join(parts, ", ")
}
