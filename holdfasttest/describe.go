package holdfasttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// described bounds how many jobs a message lists.
const described = 10

// describe says of each job why it has not finished, in a line.
func (e *Env) describe(jobs []store.Record) string {
	if len(jobs) == 0 {
		return " none"
	}
	nodes := e.nodes()
	var text strings.Builder
	for i := range jobs {
		if i == described {
			fmt.Fprintf(&text, "\n\t… and %d more", len(jobs)-i)
			break
		}
		fmt.Fprintf(&text, "\n\t%s %s: %s", jobs[i].Kind, jobs[i].ID, e.obstacle(nodes, &jobs[i]))
	}
	return text.String()
}

// obstacle says why a job has not finished.
func (e *Env) obstacle(nodes []store.Node, r *store.Record) string {
	var text string
	switch {
	case r.State == store.Running:
		text = fmt.Sprintf("running for %v", e.since(r.ClaimedAt))
	case r.State == store.Available && r.Blocked:
		text = "waits for the turn of its ordering key"
	case r.State == store.Available && e.isPaused(r.ID):
		text = fmt.Sprintf("its queue, %s, is paused; call Client.ResumeQueue", r.Queue)
	case r.State == store.Available && r.Version != "":
		text = fmt.Sprintf("due, but only for version %s of the code", r.Version)
	case r.State == store.Available && !isServed(nodes, r):
		text = "due, but no node serves it; register a handler of its kind, and call Start"
	case r.State == store.Waiting && r.Wait.Held:
		text = "held, until Client.Resume: " + r.Wait.Error
	case r.State == store.Waiting:
		text = "parked, waits for " + waitsFor(r.Wait)
	default:
		text = r.State.String()
	}
	if !r.RunAt.IsZero() && r.RunAt.After(e.world.memory.Now()) {
		text += fmt.Sprintf(", due in %v", -e.since(r.RunAt))
	}
	if r.State == store.Retryable && r.Error != "" {
		text += ", after: " + r.Error
	}
	return text
}

func (e *Env) since(t time.Time) time.Duration { return e.world.memory.Now().Sub(t) }

// waitsFor says what a parked job waits for.
func waitsFor(w *store.WaitInfo) string {
	var what struct {
		For []string `json:"waits_for"`
	}
	if err := json.Unmarshal(w.For, &what); err != nil || len(what.For) == 0 {
		return "a message"
	}
	return strings.Join(what.For, ", ")
}
