package crashtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// work is what a job is to do: its args.
type work struct {
	N        int    `json:"n"`                // its place in the plan
	Millis   int    `json:"millis,omitempty"` // how long it takes
	Stages   int    `json:"stages,omitempty"` // the checkpoints that it saves
	Fails    int    `json:"fails,omitempty"`  // up to this attempt it ends with an error
	Snoozes  int    `json:"snoozes,omitempty"`
	Fatal    bool   `json:"fatal,omitempty"`    // it ends with a terminal error
	Child    int    `json:"child,omitempty"`    // the place of the job that it enqueues, under a unique key; 0: none
	Key      string `json:"key,omitempty"`      // its ordering key
	Priority int    `json:"priority,omitempty"` // 0: the default
	Delay    int    `json:"delay,omitempty"`    // in milliseconds, from the enqueue to the run time
	RunAt    int    `json:"run_at,omitempty"`   // the run time, in seconds since longAgo; 0: none
	Unique   bool   `json:"unique,omitempty"`
	Tx       bool   `json:"tx,omitempty"`     // it is enqueued in a transaction of the caller's
	Cancel   bool   `json:"cancel,omitempty"` // somebody asks to cancel it
	Again    bool   `json:"again,omitempty"`  // when it has failed or was cancelled, somebody retries it, once
	Holds    bool   `json:"holds,omitempty"`  // under its first lease it waits for the end of its context
	Waits    bool   `json:"waits,omitempty"`  // under every lease
}

// done is a job's result.
type done struct {
	Lease int64 `json:"lease"`
}

const (
	backoffBase = 10 * time.Millisecond
	backoffCap  = 200 * time.Millisecond
)

var crashWork = holdfast.NewKind[work, done]("crash.work",
	holdfast.MaxAttempts(1000), holdfast.Backoff(backoffBase, backoffCap))

// backoff is the least wait after an attempt that failed.
func backoff(attempt int) time.Duration {
	wait := backoffBase
	for n := 1; n < attempt && wait < backoffCap; n++ {
		wait *= 2
	}
	return min(wait, backoffCap)
}

// snooze is how long a job snoozes.
func (w work) snooze() time.Duration { return time.Duration(10*w.N%50) * time.Millisecond }

// longAgo is before any run time that a plan names: what has one is due.
var longAgo = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// items are the enqueues of jobs. A unique one may be enqueued again and again: its key counts for
// ever.
func items(jobs []work) []holdfast.BatchItem {
	list := make([]holdfast.BatchItem, len(jobs))
	for i, w := range jobs {
		list[i] = crashWork.Item(w, options(w)...)
	}
	return list
}

func options(w work) []holdfast.EnqueueOption {
	var opts []holdfast.EnqueueOption
	if w.Key != "" {
		opts = append(opts, holdfast.OrderingKey(w.Key))
	}
	if w.Unique {
		opts = append(opts, holdfast.Unique{ByFields: []string{"n"}, While: whileKept})
	}
	if w.Priority != 0 {
		opts = append(opts, holdfast.Priority(w.Priority))
	}
	if w.Delay != 0 {
		opts = append(opts, holdfast.Delay(time.Duration(w.Delay)*time.Millisecond))
	}
	if w.RunAt != 0 {
		opts = append(opts, holdfast.RunAt(longAgo.Add(time.Duration(w.RunAt)*time.Second)))
	}
	return opts
}

// whileKept lets a unique key count for as long as the job exists.
var whileKept = []store.State{store.Running, store.Retryable, store.Waiting, store.Completed, store.Failed, store.Cancelled}

// child is the job that a parent enqueues.
func child(parent work) work {
	return work{N: parent.Child, Millis: 1, Unique: true, Tx: true}
}

// The places of jobs that are not drawn.
const (
	firstChild  = 1_000_000
	firstUndone = 2_000_000 // those whose transaction is rolled back
	firstLast   = 3_000_000 // those that come when all is quiet
)

// planner makes plans.
type planner struct {
	random *rand.Rand
	last   int // the last place
}

// next plans n jobs, of which a fifth share ordering keys.
func (p *planner) next(n int) []work {
	plan := make([]work, n)
	for i := range plan {
		p.last++
		plan[i] = p.draw(p.last)
	}
	return plan
}

func (p *planner) draw(n int) work {
	chance := func(percent int) bool { return p.random.IntN(100) < percent }
	w := work{N: n, Millis: p.random.IntN(21)}
	if chance(20) {
		w.Key = fmt.Sprintf("key-%d", p.random.IntN(40))
		w.Millis /= 4 // they wait for each other
	}
	if chance(15) {
		w.Stages = 1 + p.random.IntN(4)
	}
	if chance(10) {
		w.Fails = 1 + p.random.IntN(2)
	}
	if chance(10) {
		w.Snoozes = 1 + p.random.IntN(2)
	}
	w.Fatal = chance(3)
	w.Again = chance(60)
	switch {
	case chance(5):
		w.Child = firstChild + w.N // and it has to be enqueued, so that the parent is not cancelled
	case chance(8):
		w.Cancel = true
		w.Waits = w.Key == "" && chance(25) // what waits for its turn is not what is tested
		w.Again = w.Again && !w.Waits
		w.Millis += p.random.IntN(100) // to be met while it runs
	}
	if w.Key != "" {
		return w // within a key the order is that of the plan, so that nothing else may decide over it
	}
	w.Unique, w.Tx = chance(12), chance(15)
	if w.Unique && w.Tx {
		w.Tx = false // it is enqueued by several
	}
	if chance(20) {
		w.Priority = 1 + p.random.IntN(4)
	}
	if chance(5) {
		w.Delay = 2200 + p.random.IntN(800) // more than the leeway of the rules
	}
	return w
}
