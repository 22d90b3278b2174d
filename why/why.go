// Package why explains why a job does not start, continue or end: see Client.Why.
//
// Codes are for programs and stay the same; texts are for people and may become clearer.
package why

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Explanation says what a job is doing, and what it waits for.
type Explanation struct {
	Job    store.ID    `json:"job"`
	State  store.State `json:"state"`
	Causes []Cause     `json:"causes"` // the nearest one first; never empty
}

// String returns the texts of the causes.
func (e Explanation) String() string {
	texts := make([]string, len(e.Causes))
	for i, c := range e.Causes {
		texts[i] = c.Text
	}
	return strings.Join(texts, "; ")
}

// Cause is one reason why a job has not finished, or what it is doing.
type Cause struct {
	Code Code `json:"code"`
	// Text is for people, such as "no live node serves the kind mail".
	Text string `json:"text"`
	// Until is the latest time at which the cause ends without intervention; zero if unknown.
	Until time.Time `json:"until,omitzero"`
	// Job is the awaited job: the child, the one after which it comes, or the one that has the turn
	// of the ordering key.
	Job store.ID `json:"job,omitzero"`
	// Node is the node that runs the job.
	Node int64 `json:"node,omitzero"`
	// Limit is the name of the limit that has no slots, or no permit, for the job, and Key the
	// job's key, if it is one per key; or the job's fair key.
	Limit string `json:"limit,omitzero"`
	Key   string `json:"key,omitzero"`
}

// Code is a cause as a code for programs.
type Code string

// The causes. Those of one job are listed in this order, but a silent node comes before what it
// runs.
const (
	Finished    Code = "finished"
	Running     Code = "running"      // on Node
	Paused      Code = "paused"       // a person paused the job
	Held        Code = "held"         // its code and its journal contradict each other
	Scheduled   Code = "scheduled"    // its time, Until, has not come
	Retry       Code = "retry"        // an attempt, or a step, failed; the next one is due at Until
	Timer       Code = "timer"        // a durable function sleeps until Until
	Signal      Code = "signal"       // it waits for a signal
	Callback    Code = "callback"     // it waits for an answer from outside
	HandedOver  Code = "handed_over"  // it waits to be completed or failed from outside
	Child       Code = "child"        // it waits for Job, or for several
	Waiting     Code = "waiting"      // it waits for one of several things
	CodecKey    Code = "codec_key"    // the node that took it lacks a key of its payloads; it is tried again at Until
	Dependency  Code = "dependency"   // it comes after Job, which has not finished, or has failed and is to be decided about
	Turn        Code = "turn"         // Job has the turn of its ordering key; the job itself, if it has failed and keeps it
	QueuePaused Code = "queue_paused" // a person paused its queue
	QueueRests  Code = "queue_rests"  // nothing of its queue starts until Until
	NoNode      Code = "no_node"      // no node runs in its namespace
	NoKind      Code = "no_kind"      // no live node serves its kind, or the version that it is bound to
	NoQueue     Code = "no_queue"     // no live node that serves its kind serves its queue
	SilentNode  Code = "silent_node"  // the nodes that serve it, or Node, which runs it, have been silent
	Limit       Code = "limit"        // a limit has no slots for it
	LimitKey    Code = "limit_key"    // as many jobs of its key run as a limit lets, one of them Job
	FairKey     Code = "fair_key"     // others of its fair key are before it
	Rate        Code = "rate"         // the rate of a limit lets it start later
	RateKey     Code = "rate_key"     // the rate of its key in a limit does, until Until
	QuietNode   Code = "quiet_node"   // people have made the nodes that serve it quiet, or drain them
	NoFreeSlot  Code = "no_free_slot" // no node that serves it has a free slot
	Ready       Code = "ready"        // nothing holds it up: a node takes it when its turn comes
)
