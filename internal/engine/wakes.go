package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// wakesOf lists the wake-ups of a committed batch: one for each queue that got an available job,
// one for the earliest due time, and one for the leader if there may be children to close. It uses
// the states and times that the store returned, not those that were requested.
func wakesOf(batch *store.Batch, now time.Time, poll time.Duration) []store.Wake {
	w := wakes{deferred: store.Wake{Kind: store.WakeDeferred}}
	for _, e := range batch.Enqueues {
		w.enqueued(e)
	}
	for _, a := range batch.Appends {
		if a.Err != nil {
			continue
		}
		for _, e := range a.Enqueues {
			w.enqueued(e)
		}
	}
	for _, o := range batch.Outcomes {
		w.ended(o, now)
	}
	if due := w.deferred.Due; !due.IsZero() && due.Before(now.Add(poll)) { // a poll finds what is due later
		w.list = append(w.list, w.deferred)
	}
	return w.list
}

type wakes struct {
	list     []store.Wake
	ready    map[place]bool
	deferred store.Wake
	leader   bool
}

type place struct{ namespace, queue string }

func (w *wakes) due(at time.Time) {
	if w.deferred.Due.IsZero() || at.Before(w.deferred.Due) {
		w.deferred.Due = at
	}
}

func (w *wakes) available(at place) {
	if w.ready[at] {
		return
	}
	if w.ready == nil {
		w.ready = map[place]bool{}
	}
	w.ready[at] = true
	w.list = append(w.list, store.Wake{Kind: store.WakeReady, Namespace: at.namespace, Queue: at.queue})
}

// enqueued adds the wake-ups of an enqueue. The state is unknown if the enqueue found a job of its
// own id, which may be a retry of the same enqueue, or replaced the args of another job, which may
// have moved it: then both wake-ups are sent.
func (w *wakes) enqueued(e *store.Enqueue) {
	at := place{e.Job.Namespace, e.Job.Queue}
	switch {
	case e.Err != nil, e.Result.State == store.Running:
	case e.Result.State == store.Waiting:
		w.lead() // to look at those after which it comes
	case e.Result.State == store.Scheduled:
		w.due(e.Result.RunAt)
	case e.Result.State == store.Available:
		w.available(at)
	case e.Result.Replaced || e.Result.ID == e.Job.ID:
		w.available(at)
		w.due(e.Result.RunAt)
	}
}

// lead adds the wake-up of the node that leads.
func (w *wakes) lead() {
	if !w.leader {
		w.leader = true
		w.list = append(w.list, store.Wake{Kind: store.WakeLeader})
	}
}

func (w *wakes) ended(o *store.Outcome, now time.Time) {
	switch {
	case o.Err != nil:
	case o.Final == store.Available:
		w.available(place{o.Namespace, o.Queue})
	case o.Final.Finished():
		if o.HasChildren || o.HasSuccessors {
			w.lead()
		}
	case !o.Due.IsZero():
		w.due(o.Due)
	case o.Repeat:
		w.due(now) // it may be due now
	}
}
