package views

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/operation"
)

// Operation is a change of all jobs that a filter selects.
type Operation struct {
	ID         string             `json:"id"`
	Namespace  string             `json:"namespace"`
	Action     string             `json:"action"`
	Filter     json.RawMessage    `json:"filter"`
	Actor      Text               `json:"actor"`
	Note       Text               `json:"note"`
	State      string             `json:"state"` // of its job
	Reason     Text               `json:"reason"`
	Error      Text               `json:"error"`
	Expected   int                `json:"expected"` // 0: any number
	Matched    int                `json:"matched"`
	Changed    int                `json:"changed"`
	Already    int                `json:"already"`
	Refused    int                `json:"refused"`
	Gone       int                `json:"gone"`
	Refusals   []OperationRefusal `json:"refusals"`
	CreatedAt  Timestamp          `json:"created_at"`
	FinishedAt Timestamp          `json:"finished_at"`
}

// OperationRefusal is a job that an operation could not change.
type OperationRefusal struct {
	Job   string `json:"job"`
	Error string `json:"error"`
}

// NewOperation returns the view of an operation.
func NewOperation(o *operation.Info) Operation {
	v := Operation{
		ID: o.ID.String(), Namespace: o.Filter.Namespace, Action: o.Action.String(), Filter: o.FilterJSON(), Actor: Text(o.Actor),
		Note: Text(o.Note), State: o.State.String(), Reason: Text(o.Reason), Error: Text(o.Error), Expected: o.Expected,
		Matched: o.Counts.Matched, Changed: o.Counts.Changed, Already: o.Counts.Already, Refused: o.Counts.Refused, Gone: o.Counts.Gone,
		Refusals: []OperationRefusal{}, CreatedAt: Timestamp(o.CreatedAt), FinishedAt: Timestamp(o.FinishedAt),
	}
	for _, r := range o.Refusals {
		v.Refusals = append(v.Refusals, OperationRefusal{r.Job.String(), r.Error})
	}
	return v
}

// OperationHeader is the header of a table of operations.
var OperationHeader = []string{"ID", "ACTION", "STATE", "MATCHED", "CHANGED", "REFUSED", "ACTOR", "CREATED"}

// OperationRow formats an operation for a table.
func OperationRow(now time.Time, o *operation.Info) []string {
	return []string{
		o.ID.String(), output.Clip(o.Action.String(), output.MaxName), o.State.String(), strconv.Itoa(o.Counts.Matched),
		strconv.Itoa(o.Counts.Changed), strconv.Itoa(o.Counts.Refused), output.Clip(o.Actor, output.MaxName), output.Ago(now, o.CreatedAt),
	}
}

// PrintOperation prints an operation for people.
func PrintOperation(out *output.Printer, now time.Time, o *operation.Info) {
	p := jobPrint{out.NewTable(3), now}
	p.line("id", o.ID.String())
	p.line("namespace", o.Filter.Namespace)
	p.line("action", output.OneLine(o.Action.String()))
	p.line("filter", output.OneLine(string(o.FilterJSON())))
	p.line("started by", o.Actor)
	p.line("note", o.Note)
	if o.Expected > 0 {
		p.line("expected", strconv.Itoa(o.Expected)+" jobs")
	}
	p.line("state", o.State.String())
	p.line("reason", string(o.Reason))
	p.line("error", output.OneLine(o.Error))
	p.line("so far", o.Counts.String())
	p.at("created", o.CreatedAt)
	p.at("finished", o.FinishedAt)
	for _, r := range o.Refusals {
		p.line("refused", r.Job.String()+": "+output.OneLine(r.Error))
	}
	p.Flush()
}
