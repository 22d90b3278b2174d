package views

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Batch is a batch of jobs.
type Batch struct {
	ID        string      `json:"id"`
	Namespace string      `json:"namespace"`
	Name      Text        `json:"name"`
	State     string      `json:"state"`   // open, closed or done
	Counted   int64       `json:"counted"` // members that have ended, all together; from the close on
	Completed int64       `json:"completed"`
	Failed    int64       `json:"failed"`
	Cancelled int64       `json:"cancelled"`
	Calls     []BatchCall `json:"calls"`
	CreatedAt Timestamp   `json:"created_at"`
	ClosedAt  Timestamp   `json:"closed_at"`
	DoneAt    Timestamp   `json:"done_at"` // when the jobs for its end were enqueued
}

// BatchCall is a job that is enqueued at the end of a batch.
type BatchCall struct {
	When string `json:"when"` // ended, succeeded or failed
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// CancelledBatch is a batch that was cancelled.
type CancelledBatch struct {
	Namespace string `json:"namespace"`
	Batch     string `json:"batch"`
	Asked     int    `json:"asked"` // members that had not finished
}

var batchEnds = map[store.BatchEnd]string{store.BatchEnded: "ended", store.BatchSucceeded: "succeeded", store.BatchFailed: "failed"}

// NewBatch returns the view of a batch.
func NewBatch(b *store.JobBatch) Batch {
	v := Batch{
		ID: b.ID.String(), Namespace: b.Namespace, Name: Text(b.Name), State: "open", Counted: b.Counts.Total(),
		Completed: b.Counts.Completed, Failed: b.Counts.Failed, Cancelled: b.Counts.Cancelled, Calls: []BatchCall{},
		CreatedAt: Timestamp(b.CreatedAt), ClosedAt: Timestamp(b.ClosedAt), DoneAt: Timestamp(b.DoneAt),
	}
	switch {
	case !b.DoneAt.IsZero():
		v.State = "done"
	case !b.ClosedAt.IsZero():
		v.State = "closed"
	}
	for _, c := range b.Calls {
		v.Calls = append(v.Calls, BatchCall{batchEnds[c.When], c.ID.String(), c.Job.Kind})
	}
	return v
}

// BatchHeader is the header of a table of batches.
var BatchHeader = []string{"ID", "NAME", "STATE", "COUNTED", "COMPLETED", "FAILED", "CANCELLED", "CREATED"}

// BatchRow formats a batch for a table.
func BatchRow(now time.Time, b *store.JobBatch) []string {
	v := NewBatch(b)
	return []string{
		v.ID, output.Clip(b.Name, output.MaxName), v.State, strconv.FormatInt(v.Counted, 10), strconv.FormatInt(v.Completed, 10),
		strconv.FormatInt(v.Failed, 10), strconv.FormatInt(v.Cancelled, 10), output.Ago(now, b.CreatedAt),
	}
}

// PrintBatch prints a batch for people.
func PrintBatch(out *output.Printer, now time.Time, b *store.JobBatch) {
	p := jobPrint{out.NewTable(3), now}
	v := NewBatch(b)
	p.line("id", v.ID)
	p.line("namespace", b.Namespace)
	p.line("name", b.Name)
	p.line("state", v.State)
	p.at("created", b.CreatedAt)
	p.at("closed", b.ClosedAt)
	p.at("called back", b.DoneAt)
	if !b.ClosedAt.IsZero() {
		so := "counted so far"
		if !b.DoneAt.IsZero() {
			so = "in all"
		}
		p.line("members", fmt.Sprintf("%d %s: %d completed, %d failed, %d cancelled", v.Counted, so, v.Completed, v.Failed, v.Cancelled))
	}
	for _, c := range v.Calls {
		p.line("if it has "+c.When, "job "+c.ID+" of kind "+c.Kind)
	}
	p.Flush()
}

// Member is a job that was added to a batch.
type Member struct {
	Namespace string `json:"namespace"`
	Batch     string `json:"batch"`
	ID        string `json:"id"`
	Existing  bool   `json:"existing"` // it was there already
}

// BatchResult is how the members of a batch have ended.
type BatchResult struct {
	ID        string `json:"id"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"`
	Cancelled int64  `json:"cancelled"`
}

// newBatchResult returns that of a job that was enqueued at the end of a batch; nil for others.
func newBatchResult(r store.BatchResult) *BatchResult {
	if r == (store.BatchResult{}) {
		return nil
	}
	return &BatchResult{r.ID.String(), r.Completed, r.Failed, r.Cancelled}
}
