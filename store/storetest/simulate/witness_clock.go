package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Promote implements store.Maintenance.
func (w *witness) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	w.begin("Promote")
	promoted, err := w.Store.Promote(ctx, limit)
	must("Promote", err)
	moved := 0
	for _, j := range w.order {
		if !j.deferred() || j.body.RunAt.After(w.now) {
			continue
		}
		// Which of those that are due, if there is a limit, the store has chosen.
		if promoted.More && w.read(ctx, j).State != store.Available {
			continue
		}
		w.enter(j, store.Available)
		moved++
	}
	if moved > limit || moved > promoted.Jobs && !promoted.More {
		play.Brokenf("EveryDueThing", "%d jobs became available by a promotion of at most %d that tells of %+v", moved, limit, promoted)
	}
	for _, j := range w.order {
		if j.deferred() && !promoted.NextDue.IsZero() && j.body.RunAt.Before(promoted.NextDue) {
			play.Brokenf("EveryDueThing", "%v is due at %v, and the next one is told to be due at %v", j, j.body.RunAt, promoted.NextDue)
		}
	}
	w.look(ctx)
	return promoted, nil
}

// SweepCancels implements store.Maintenance. Requests that jobs with a journal were asked stay with
// them until they have finished.
func (w *witness) SweepCancels(ctx context.Context) (store.Swept, error) {
	w.begin("SweepCancels")
	swept, err := w.Store.SweepCancels(ctx)
	must("SweepCancels", err)
	for _, j := range w.order {
		if (j.cancel || j.unsure && w.read(ctx, j).State == store.Cancelled) && !j.running() && !j.durable() {
			w.request(j)
		}
	}
	w.look(ctx)
	return swept, nil
}

// CloseChildren implements store.Maintenance.
func (w *witness) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	w.begin("CloseChildren")
	closed, err := w.Store.CloseChildren(ctx, limit)
	must("CloseChildren", err)
	for _, id := range slices.Concat(closed.Ended, closed.Running) {
		j := w.jobs[id]
		if j == nil || j.finished() || j.body.OnParentClose == store.AbandonChild || !w.bereft(j) {
			play.Brokenf("FinishedIsFinal", "%v is closed, whose parent is %v", j, w.jobs[j.body.Parent])
		}
		w.closeChild(j)
	}
	for _, j := range w.order {
		if w.bereft(j) && !j.finished() && j.body.OnParentClose != store.AbandonChild {
			w.sawBereft(ctx, j, w.orphan[j.body.Parent] && !closed.More && !j.spared)
		}
	}
	if !closed.More {
		clear(w.orphan)
	}
	w.look(ctx)
	return closed, nil
}

// sawBereft looks what became of a child whose parent has finished, and that was not named. due: it
// must have been closed by now.
func (w *witness) sawBereft(ctx context.Context, j *job, due bool) {
	switch {
	case j.cancel && j.body.OnParentClose != store.TerminateChild:
	case j.durable() && !j.running() && due && j.unsure && w.read(ctx, j).State == j.state:
		j.cancel, j.unsure = true, false // it was asked before
	case j.durable() && !j.running() && due:
		w.closeChild(j) // it is in no list: its run ends it
	case due:
		play.Brokenf("EveryDueThing", "%v is not closed, whose parent has finished", j)
	case j.durable() && w.read(ctx, j).State != j.state:
		w.closeChild(j)
	case j.durable() && j.state == store.Available:
		j.unsure = true
	}
}

// bereft reports whether the parent of a child has finished, or is gone.
func (w *witness) bereft(j *job) bool {
	parent := w.jobs[j.body.Parent]
	return j.body.Parent != store.ID{} && (parent == nil || parent.finished())
}

// closeChild does what the child's policy says.
func (w *witness) closeChild(j *job) {
	if j.body.OnParentClose == store.TerminateChild {
		w.terminate(j)
	} else {
		w.request(j)
	}
}

// Retain implements store.Maintenance.
func (w *witness) Retain(ctx context.Context, p store.Retention) (store.Retained, error) {
	w.lookAtAll(ctx) // before it is gone
	w.begin("Retain")
	retained, err := w.Store.Retain(ctx, p)
	must("Retain", err)
	keep := map[store.State]time.Duration{store.Completed: p.Completed, store.Failed: p.Failed, store.Cancelled: p.Cancelled}
	removed, left := 0, w.list(ctx)
	w.order = slices.DeleteFunc(w.order, func(j *job) bool {
		over := keep[j.state] > 0 && w.now.Sub(j.finishedAt) >= keep[j.state]
		_, kept := left[j.body.ID]
		switch {
		case kept && over && !retained.More:
			play.Brokenf("Retention", "%v is %v since %v, and kept at %v, by %+v", j, j.state, j.finishedAt, w.now, p)
		case kept:
			return false
		case !over:
			play.Brokenf("Retention", "%v is removed, which is %v since %v, at %v, by %+v", j, j.state, j.finishedAt, w.now, p)
		}
		removed++
		delete(w.jobs, j.body.ID)
		w.removed[j.body.ID] = true
		delete(w.orphan, j.body.ID)
		return true
	})
	if removed != retained.Jobs {
		play.Brokenf("Retention", "%d jobs are removed, and %+v is told", removed, retained)
	}
	return retained, nil
}
