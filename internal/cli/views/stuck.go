package views

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// StuckKey is an ordering key whose turn a failed job keeps.
type StuckKey struct {
	Namespace string    `json:"namespace"`
	Queue     string    `json:"queue"`
	Key       string    `json:"key"`
	Job       string    `json:"job"`
	Since     Timestamp `json:"since"`
	Reason    Text      `json:"reason"`
	Waiting   Count     `json:"waiting"`
}

// NewStuckKey returns the view of a stuck key of a queue.
func NewStuckKey(namespace, queue string, k *store.StuckKey) StuckKey {
	return StuckKey{
		Namespace: namespace, Queue: queue, Key: k.Key, Job: k.Job.String(), Since: Timestamp(k.Since), Reason: Text(k.Reason),
		Waiting: NewCount(k.Waiting),
	}
}

// StuckHeader is the header of a table of stuck keys.
var StuckHeader = []string{"QUEUE", "KEY", "JOB", "FAILED", "REASON", "WAITING"}

// StuckRow formats a stuck key for a table.
func StuckRow(now time.Time, queue string, k *store.StuckKey) []string {
	waiting := strconv.Itoa(k.Waiting.N)
	if k.Waiting.More {
		waiting += "+"
	}
	return []string{
		output.Clip(queue, output.MaxName), output.Clip(k.Key, output.MaxName), k.Job.String(),
		output.Ago(now, k.Since), string(k.Reason), waiting,
	}
}
