package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

// restPatience is how long a handler's slot waits for its queue to rest. After that its job alone
// waits; those that run next may ask again.
const restPatience = 5 * time.Second

// restKnown is how long a node need not ask again for a rest that it knows of, when many handlers
// of a queue ask at once. A person may have ended it since.
const restKnown = time.Second

// letRest lets the queue of a job rest, as its outcome asks, and makes it run again after that. It
// is a transaction of its own, before that of the outcome: if the node dies in between the queue
// rests, and the job is taken from the node as any other.
func (n *node) letRest(job *store.Job, o *store.Outcome) {
	now := n.store.Now()
	known := n.restOf(job.Queue)
	rest := known.Resting
	if now.Sub(known.asked) > restKnown || !rest.At(now) || rest.Until.Before(now.Add(o.Rest.For)) {
		p := *o.Rest
		p.Namespace, p.Queue = job.Namespace, job.Queue
		ctx, done := context.WithTimeout(context.Background(), restPatience) //nolint:forbidigo // also while the node stops
		defer done()
		var err error
		if rest, err = n.store.Rest(ctx, p); err != nil {
			n.lines.Say(slog.LevelError, logs.AboutJob(job),
				"queue does not rest, as a handler asks; its job alone waits", slog.Any(logs.KeyError, err))
			if p.Curve.Base > 0 {
				o.Delay = max(o.Delay, p.Curve.Delay(1))
			}
			return
		}
		n.rests.Store(job.Queue, askedRest{rest, now})
	}
	o.RunAt, o.Delay = rest.Until, 0
	for _, c := range n.slots.TakeQueue(job.Queue) {
		n.release(c)
	}
}

// askedRest is the rest of a queue as the store has told it at a time.
type askedRest struct {
	store.Resting

	asked time.Time
}

// restOf is what this node was told last of the rest of a queue.
func (n *node) restOf(queue string) (rest askedRest) {
	if known, ok := n.rests.Load(queue); ok {
		rest, _ = known.(askedRest)
	}
	return rest
}
