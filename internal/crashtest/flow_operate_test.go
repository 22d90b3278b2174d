package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// ask is what an operator asked for, and what came of it.
type ask struct {
	number int
	action store.ActionKind
	job    holdfast.ID
	was    store.State // when the operator looked before, with the last lease then
	lease  int64

	lost     bool // the answer was, so that it may have happened, or may yet happen
	accepted bool
	answer   store.State

	// held: the operator looked afterwards, and it was held, or had finished, after the last lease
	// then.
	held      bool
	heldLease int64
}

// reopens reports whether a job that has finished may run again because of it.
func (a *ask) reopens() bool {
	return (a.action == store.ActionResume || a.action == store.ActionRetry) && (a.accepted || a.lost)
}

// operate asks something about some job, again and again, until ctx ends.
func (l *flowLoad) operate(ctx context.Context, client *holdfast.Client, random *rand.Rand) {
	for spend(ctx, time.Duration(random.IntN(200))*time.Millisecond) == nil {
		id, ok := l.pick(random)
		if !ok {
			continue
		}
		record, err := client.Get(ctx, id)
		if err != nil {
			l.c.allow(err)
			continue
		}
		l.ask(ctx, client, drawAction(random, &record), &record, random)
	}
}

// pick draws a job, of those that were heard of lately more likely.
func (l *flowLoad) pick(random *rand.Rand) (id holdfast.ID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) == 0 {
		return id, false
	}
	from := 0
	if random.IntN(5) > 0 {
		from = max(len(l.known)-2*enough, 0)
	}
	return l.known[from+random.IntN(len(l.known)-from)], true
}

// drawAction draws what to ask. Most of it makes sense.
func drawAction(random *rand.Rand, r *store.Record) store.ActionKind {
	type weights [6]int
	w := weights{35, 10, 22, 8, 10, 15} // of a job that is under way
	switch {
	case r.State == store.Completed:
		w = weights{10, 10, 10, 10, 50, 10}
	case r.State.Finished():
		w = weights{5, 30, 5, 5, 20, 35}
	case r.Wait != nil && r.Wait.Held:
		w = weights{5, 60, 15, 5, 10, 5}
	}
	at := random.IntN(100)
	for i, action := range [...]store.ActionKind{
		store.ActionPause, store.ActionResume, store.ActionCancel, store.ActionTerminate, store.ActionFork,
	} {
		if at -= w[i]; at < 0 {
			return action
		}
	}
	return store.ActionRetry
}

// ask asks for something and notes what came of it, in the file too: so it is known which runs
// began before and which after it.
func (l *flowLoad) ask(
	ctx context.Context, client *holdfast.Client, action store.ActionKind, r *store.Record, random *rand.Rand,
) *ask {
	a := &ask{action: action, job: r.ID, was: r.State, lease: r.LeaseNumber}
	l.mu.Lock()
	l.asks = append(l.asks, a)
	a.number = len(l.asks)
	l.mu.Unlock()
	bounded, stop := context.WithTimeout(ctx, patience)
	defer stop()
	l.tell(eventAsk, a)
	var err error
	a.answer, err = l.perform(bounded, client, a, random)
	switch {
	case err == nil:
		a.accepted = true
		l.look(bounded, client, a)
	case errors.Is(err, holdfast.ErrConflict):
	case isLost(err):
		a.lost = true
	default:
		l.c.t.Errorf("%s of job %s: %v", action, r.ID, err)
	}
	l.tell(eventAnswer, a)
	return a
}

func (l *flowLoad) tell(event string, a *ask) {
	if err := appendRecord(l.file, trace{Event: event, Job: a.job, Ask: a.number, Step: string(a.action)}); err != nil {
		l.c.t.Error(err)
	}
}

// look looks at what an ask has left, if nothing is to become of it by itself.
func (l *flowLoad) look(ctx context.Context, client *holdfast.Client, a *ask) {
	paused := a.action == store.ActionPause && a.answer == store.Waiting
	ended := a.action == store.ActionTerminate || a.action == store.ActionCancel && a.answer == store.Cancelled
	if !paused && !ended {
		return
	}
	record, err := client.Get(ctx, a.job)
	if err != nil {
		l.c.allow(err)
		return
	}
	if paused && record.Wait != nil && record.Wait.Held || ended && record.State.Finished() {
		a.held, a.heldLease = true, record.LeaseNumber
	}
}

// perform does what is asked for.
func (l *flowLoad) perform(
	ctx context.Context, client *holdfast.Client, a *ask, random *rand.Rand,
) (store.State, error) {
	why := fmt.Sprintf("ask %d", a.number)
	switch a.action {
	case store.ActionPause:
		results, err := client.Pause(ctx, why, a.job)
		if err != nil {
			return 0, err
		}
		return results[0].State, results[0].Err
	case store.ActionResume:
		results, err := client.Resume(ctx, why, a.job)
		if err != nil {
			return 0, err
		}
		return results[0].State, results[0].Err
	case store.ActionRetry:
		results, err := client.Retry(ctx, "", a.job)
		if err != nil {
			return 0, err
		}
		return results[0].State, results[0].Err
	case store.ActionFork:
		return 0, l.fork(ctx, client, a, why, random)
	default:
		call := client.Cancel
		if a.action == store.ActionTerminate {
			call = client.Terminate
		}
		results, err := call(ctx, why, a.job)
		if err != nil {
			return 0, err
		}
		return results[0].State, results[0].Err
	}
}

// fork makes a job of another one, from a step of it that succeeded or from the beginning.
func (l *flowLoad) fork(
	ctx context.Context, client *holdfast.Client, a *ask, why string, random *rand.Rand,
) error {
	journal, err := client.Journal(ctx, a.job)
	if err != nil {
		return err
	}
	steps := []string{""}
	for _, e := range journal.Entries {
		if e.Kind == "step" && !isUndo(e) {
			steps = append(steps, e.Name)
		}
	}
	from := steps[random.IntN(len(steps))]
	id := holdfast.NewID()
	_, err = client.Fork(ctx, why, a.job, holdfast.Fork{From: from, ID: id})
	if err != nil && errors.Is(err, holdfast.ErrNotFound) {
		return fmt.Errorf("%w: the step is gone: %w", holdfast.ErrConflict, err) // it has continued as new
	}
	if err == nil || isLost(err) {
		l.mu.Lock()
		l.forks[id] = fork{of: a.job, from: from, sure: err == nil}
		if err == nil {
			l.hear(id)
		}
		l.mu.Unlock()
	}
	return err
}

// isUndo reports whether an entry is one of what a flow does to undo what it did.
func isUndo(e holdfast.JournalEntry) bool { return strings.HasPrefix(e.Path, "~") }
