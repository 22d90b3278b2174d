package crashtest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
)

// flowLoad is what the jobs of a storm are, as far as they are known, and what was asked about them
// and sent to them. Several goroutines add to it, while the test's own goroutine sees to the
// faults.
type flowLoad struct {
	c       *cluster
	planner *flowPlanner
	file    *os.File
	clients [3]*holdfast.Client
	caller  *caller

	mu       sync.Mutex
	enqueued map[holdfast.ID]int // which job is at which place of the plan
	forks    map[holdfast.ID]fork
	known    []holdfast.ID // all that was heard of, in the order in which it was
	heard    map[holdfast.ID]bool
	asks     []*ask
	replies  map[asking][]reply
	seen     map[holdfast.ID][]words // what jobs said, one thing after the other; not all of it
	looks    map[holdfast.ID][]look
	orders   map[int]task // the plan of what payments start
	payments []*payment
	sends    map[sendTo][]holdfast.SendResult // the answers, those left out that were lost or said that the job has finished
}

// fork is a job that an operator made of another one.
type fork struct {
	of   holdfast.ID
	from string // the step, or "" for the beginning
	sure bool   // the answer was not lost
}

func newFlowLoad(c *cluster, random *rand.Rand) *flowLoad {
	c.t.Helper()
	l := &flowLoad{
		c: c, planner: &flowPlanner{random: random, plan: map[int]task{}},
		enqueued: map[holdfast.ID]int{}, forks: map[holdfast.ID]fork{}, heard: map[holdfast.ID]bool{}, sends: map[sendTo][]holdfast.SendResult{},
		replies: map[asking][]reply{}, orders: map[int]task{}, seen: map[holdfast.ID][]words{}, looks: map[holdfast.ID][]look{},
	}
	for i := range l.clients {
		l.clients[i] = open(c.t, c.config.Database)
	}
	var err error
	if l.file, err = os.OpenFile(c.config.Effects, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		c.t.Fatal(err)
	}
	if l.caller, err = newCaller(c.config.Database); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = l.file.Close()
		_ = l.caller.db.Close()
	})
	return l
}

// hear notes jobs that somebody may ask something about. l.mu is held.
func (l *flowLoad) hear(ids ...holdfast.ID) {
	for _, id := range ids {
		if !l.heard[id] {
			l.heard[id] = true
			l.known = append(l.known, id)
		}
	}
}

const (
	// enough is how many unfinished jobs there are to be.
	enough = 40
	// some is how many are enqueued at once.
	some = 12
)

// keepBusy enqueues jobs until ctx ends, so that there is always something to do.
func (l *flowLoad) keepBusy(ctx context.Context) {
	client := l.clients[0]
	for spend(ctx, 50*time.Millisecond) == nil {
		page, err := client.List(ctx, unfinished, "", enough)
		if ctx.Err() != nil {
			return
		}
		if err != nil || len(page.Jobs) >= enough {
			l.c.allow(err)
			continue
		}
		l.enqueue(ctx, l.planner.next(some))
	}
}

// enqueue enqueues jobs under ids of their own, and repeats what got no answer until it has one:
// then they are there, and there once. What got none before ctx ends is known as perhaps enqueued,
// by not being known.
func (l *flowLoad) enqueue(ctx context.Context, tasks []task) {
	left := map[holdfast.ID]task{}
	for _, t := range tasks {
		left[holdfast.NewID()] = t
	}
	for len(left) > 0 && ctx.Err() == nil {
		ids := slices.Collect(maps.Keys(left))
		list := make([]holdfast.BatchItem, len(ids))
		for i, id := range ids {
			t := left[id]
			list[i] = t.kind().Item(t, holdfast.JobID(id))
		}
		bounded, stop := context.WithTimeout(ctx, patience)
		results, err := l.clients[0].EnqueueBatch(bounded, list)
		stop()
		l.c.allow(err)
		l.mu.Lock()
		for i, r := range results {
			if r.Err != nil {
				l.c.allow(r.Err)
				continue
			}
			if r.ID != ids[i] {
				l.c.t.Errorf("job %s was enqueued as job %s", ids[i], r.ID)
			}
			l.enqueued[r.ID] = left[ids[i]].N
			l.hear(r.ID)
			delete(left, ids[i])
		}
		l.mu.Unlock()
	}
}

// patience is how long a client waits for an answer: longer than the database is away.
const patience = 20 * time.Second

// allow reports an error that no fault explains.
func (c *cluster) allow(err error) {
	c.t.Helper()
	if err != nil && !isLost(err) {
		c.t.Errorf("an error that no fault explains: %v", err)
	}
}

// isLost reports whether an error leaves open whether what was asked for has happened.
func isLost(err error) bool {
	return errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
