package views

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Queue is a queue with its job counts.
type Queue struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	CreatedAt timestamp        `json:"created_at"`
	Paused    bool             `json:"paused"`
	PausedAt  timestamp        `json:"paused_at"`
	PausedBy  Text             `json:"paused_by"`
	Counts    map[string]Count `json:"counts"`
	OldestDue timestamp        `json:"oldest_due"`
}

// Count is a number of jobs; if it is not exact, there are more.
type Count struct {
	Jobs  int  `json:"jobs"`
	Exact bool `json:"exact"`
}

// countedStates are the states of jobs that queues count.
var countedStates = []store.State{
	store.Available, store.Running, store.Scheduled, store.Retryable, store.Waiting,
}

// NewQueue returns the view of a queue.
func NewQueue(q *store.Queue) Queue {
	v := Queue{
		Namespace: q.Namespace, Name: q.Name, CreatedAt: timestamp(q.CreatedAt),
		Paused: !q.PausedAt.IsZero(), PausedAt: timestamp(q.PausedAt), PausedBy: Text(q.PausedBy),
		Counts: map[string]Count{}, OldestDue: timestamp(q.OldestDue),
	}
	for _, state := range countedStates {
		count := q.Counts[state]
		v.Counts[state.String()] = Count{Jobs: count.N, Exact: !count.More}
	}
	return v
}

// QueueHeader is the header of a table of queues.
var QueueHeader = []string{"NAME", "AVAILABLE", "RUNNING", "SCHEDULED", "RETRYABLE", "WAITING", "OLDEST", "PAUSED"}

// QueueRow formats a queue for a table.
func QueueRow(now time.Time, q *store.Queue) []string {
	row := []string{output.Clip(q.Name, output.MaxName)}
	for _, state := range countedStates {
		count := q.Counts[state]
		cell := strconv.Itoa(count.N)
		if count.More {
			cell += "+"
		}
		row = append(row, cell)
	}
	oldest, paused := "-", ""
	if !q.OldestDue.IsZero() {
		oldest = "due " + output.Ago(now, q.OldestDue)
	}
	if !q.PausedAt.IsZero() {
		paused = output.Ago(now, q.PausedAt) + " by " + q.PausedBy
	}
	return append(row, oldest, paused)
}
