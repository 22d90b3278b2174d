package views

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Copied is what a copy of all jobs and schedules has found at its end.
type Copied struct {
	From      string   `json:"from"`
	To        string   `json:"to"`
	Source    int64    `json:"source"` // all jobs
	Target    int64    `json:"target"`
	States    []Copies `json:"states"`
	Schedules int64    `json:"schedules"` // in the source, and in the target
	Limits    int      `json:"limits"`    // the same
}

// Copies are the jobs of a state in the source and in the target of a copy.
type Copies struct {
	State  string `json:"state"`
	Source int64  `json:"source"`
	Target int64  `json:"target"`
}

// NewCopied returns the view of a copy.
func NewCopied(from, to store.Source, source, target map[store.State]int64) Copied {
	v := Copied{From: from.String(), To: to.String(), States: []Copies{}}
	for _, state := range store.States {
		if source[state] == 0 && target[state] == 0 {
			continue
		}
		v.States = append(v.States, Copies{state.String(), source[state], target[state]})
		v.Source += source[state]
		v.Target += target[state]
	}
	return v
}

// Backup is a backup that was made.
type Backup struct {
	Database string `json:"database"`
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Jobs     int64  `json:"jobs"`
}

// Health says whether jobs of a namespace are worked on.
type Health struct {
	Database  string   `json:"database"`
	Namespace string   `json:"namespace"`
	Healthy   bool     `json:"healthy"`
	Problems  []string `json:"problems"`
	Warnings  []string `json:"warnings"` // what is wrong and may mend itself
	// Schema is the version that the database has; 0 if it did not answer.
	Schema int `json:"schema"`
	Nodes  int `json:"nodes"` // that are alive and serve the namespace
	// Lag is that of the queue whose oldest available job has waited longest, and Queue its name.
	Lag   Span `json:"lag"`
	Queue Text `json:"queue"`
}

// SetLag sets the lag and its queue.
func (v *Health) SetLag(lag time.Duration, queue string) { v.Lag, v.Queue = Span(lag), Text(queue) }

// SilentText says that a node which serves a namespace has been silent for several beats; "" if not
// so. It may count as alive.
func SilentText(n *store.Node, namespace string, now time.Time) string {
	if !n.IsLate(now) || n.Info.Namespace != "" && n.Info.Namespace != namespace {
		return ""
	}
	text := fmt.Sprintf("node %d (%s) has sent no heartbeat for %v", n.ID, n.Info.Name, now.Sub(n.BeatAt).Round(time.Second))
	if left := n.LeasedUntil().Sub(now); left > 0 {
		text += fmt.Sprintf("; it counts as alive, and its jobs as running, for at least %v more", left.Round(time.Second))
	}
	return text
}

// Serves reports whether a node is alive, as far as one can tell, and claims jobs of a namespace.
func Serves(n *store.Node, namespace string, now time.Time) bool {
	return isAlive(n, now) && (n.Info.Namespace == "" || n.Info.Namespace == namespace)
}
