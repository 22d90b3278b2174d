package crashtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast"
)

// work is what a job is to do: its args.
type work struct {
	N       int    `json:"n"`                // its place in the plan
	Millis  int    `json:"millis,omitempty"` // how long it takes
	Stages  int    `json:"stages,omitempty"` // the checkpoints that it saves
	Fails   int    `json:"fails,omitempty"`  // up to this attempt it ends with an error
	Snoozes int    `json:"snoozes,omitempty"`
	Fatal   bool   `json:"fatal,omitempty"` // it ends with a terminal error
	Child   int    `json:"child,omitempty"` // the place of the job that it enqueues, under a unique key; 0: none
	Key     string `json:"key,omitempty"`   // its ordering key
	Unique  bool   `json:"unique,omitempty"`
	Holds   bool   `json:"holds,omitempty"` // under its first lease it waits for the end of its context
}

// done is a job's result.
type done struct {
	Lease int64 `json:"lease"`
}

var crashWork = holdfast.NewKind[work, done]("crash.work",
	holdfast.MaxAttempts(1000), holdfast.Backoff(10*time.Millisecond, 200*time.Millisecond))

// item is the enqueue of a job. A unique one may be enqueued again and again: its key counts for ever.
func item(w work) holdfast.Item {
	return crashWork.Item(w, options(w)...)
}

func options(w work) []holdfast.EnqueueOption {
	var opts []holdfast.EnqueueOption
	if w.Key != "" {
		opts = append(opts, holdfast.OrderingKey(w.Key))
	}
	if w.Unique {
		opts = append(opts, holdfast.Unique(holdfast.ByFields("n"), whileKept))
	}
	return opts
}

// whileKept lets a unique key count for as long as the job exists.
var whileKept = holdfast.While(
	holdfast.Running, holdfast.Retryable, holdfast.Waiting, holdfast.Completed, holdfast.Failed, holdfast.Cancelled)

// child is the job that a parent enqueues.
func child(parent work) work {
	return work{N: parent.Child, Millis: 1, Unique: true}
}

// firstChild is above the place of any job that is not a child.
const firstChild = 1_000_000

// newPlan makes a plan of n jobs, of which a fifth share the ordering keys.
func newPlan(random *rand.Rand, n int) []work {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	plan := make([]work, n)
	for i := range plan {
		w := work{N: i + 1, Millis: random.IntN(21)}
		if chance(20) {
			w.Key = fmt.Sprintf("key-%d", random.IntN(n/50+1))
			w.Millis /= 4 // they wait for each other
		}
		if chance(15) {
			w.Stages = 1 + random.IntN(4)
		}
		if chance(10) {
			w.Fails = 1 + random.IntN(2)
		}
		if chance(10) {
			w.Snoozes = 1 + random.IntN(2)
		}
		if chance(5) {
			w.Child = firstChild + w.N
		}
		w.Fatal = chance(2)
		w.Unique = w.Key == "" && chance(10)
		plan[i] = w
	}
	return plan
}
