package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/store"
)

// The verbs of EndTx.
const (
	VerbCompleteTx = misuse.VerbCompleteTx
	VerbFailTx     = misuse.VerbFailTx
)

// ownEnd is an end that a handler has written in a transaction of its own, or several of which at
// most one was committed. What the run would write next has the place that the end has if it was,
// so that no operation begins any more.
type ownEnd struct {
	last *store.Append // that was sent
	lost bool          // it was given up to find out about it
}

// EndTx ends the job from within its handler, in a transaction of the user's. If that commits the
// job ends so, whatever the handler does from then on. An end that fails a run with compensations
// decides that it fails.
func (s *Strand) EndTx(verb string, tx store.Tx, end journal.Ended) error {
	m, err := s.begin(verb, "")
	if err != nil {
		return err
	}
	defer s.end(m)
	if err := s.mayEnd(m); err != nil {
		return err
	}
	a := m.endWith(end)
	open := m.beginTx()
	open.wrote, open.ends = true, true
	m.mu.Unlock()
	err = s.run.host.AppendTx(s.run.life.Lasting(), tx, a)
	m.mu.Lock()
	m.endTx(open, a, errNothing)
	job := s.run.claimed.Job.ID
	switch {
	case m.concluded:
		return fmt.Errorf("%w: the run of job %s ended without waiting for %s", store.ErrLeaseLost, job, verb)
	case err != nil || a.Err == nil:
		m.own = &ownEnd{last: a}
		return store.About(job, "ending", err)
	case errors.Is(a.Err, store.ErrLeaseLost) && m.own != nil:
		return fmt.Errorf("%w: job %s has been ended by an earlier transaction, which was committed, or its lease is lost; "+
			"roll back, and return from the handler", store.ErrConflict, job)
	case errors.Is(a.Err, store.ErrLeaseLost):
		s.run.Cancel(store.ErrLeaseLost) // not here: the caller has a transaction to roll back
	}
	return store.About(job, "ending", a.Err)
}

// mayEnd tells why the run must not be ended here.
func (s *Strand) mayEnd(m *replayState) error {
	switch {
	case s != &s.run.main:
		return s.spoil(m, s.misuse("%s was called in a function of the run; call it in the handler itself", s.doing))
	case m.strands > 0 || len(m.abandoned) > 0:
		return s.spoil(m, s.misuse(
			"%s was called while functions started with holdfast.Go had not returned or were not awaited; await them first", s.doing))
	case m.Closed != nil:
		return s.mayBegin(m)
	}
	if what := m.notAskedFor(); what != "" {
		s.contradict(m, what)
	}
	return nil
}

// endWith makes the append of an end, with all that is to be stored before it. That stays pending:
// the transaction may be rolled back.
func (m *replayState) endWith(end journal.Ended) *store.Append {
	e := store.Entry{Kind: store.EntryEnded, Data: journal.Encode(end)}
	if end.State != store.Completed && m.hasToUndo() {
		e = m.closingEntry(&store.Outcome{State: end.State, Reason: end.Reason, Error: end.Error})
	}
	e.Data, e.Codec = journal.Pack(e.Data)
	a := &store.Append{Lease: m.run.claimed.Lease, Closing: e.Kind == store.EntryClosing, Meta: m.run.said.Words(&m.Memory).Meta()}
	a.Entries, a.Enqueues = m.Pending()
	a.Entries = append(a.Entries, e)
	for i := range a.Entries {
		a.Entries[i].Seq = m.Stored + int64(i) + 1
	}
	return a
}

// endedInTx is ownOutcome for callers that do not hold the lock.
func (r *Run) endedInTx() *store.Outcome {
	m := r.state.Load()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ownOutcome()
}

// ownOutcome is the outcome of a run whose end a transaction of its handler's has decided, of this
// run or of an earlier one; nil: none has. If that cannot be told yet the job goes to the next run,
// which can, when the transaction is over. So it does if there is something to undo first, but
// where compensate sees to that. It lets go of the lock meanwhile.
func (m *replayState) ownOutcome() *store.Outcome {
	if m.tx != nil && m.tx.ends { // it is given up in the middle of EndTx
		return outcome.Released()
	}
	if m.own != nil {
		e, known := m.askOwn()
		if !known {
			m.unwritten = true
			return outcome.Released()
		}
		m.own = nil
		if e != nil {
			m.Adopt(e)
			if m.Closed != nil {
				return outcome.Released()
			}
		}
	}
	if m.Ended == nil {
		return nil
	}
	var end journal.Ended
	if err := journal.Decode(m.Ended, &end); err != nil {
		return outcome.Unreadable(err)
	}
	return &store.Outcome{State: end.State, Reason: end.Reason, Error: end.Error, Result: end.Result}
}

// askOwn returns the end that the handler has written, if it was committed, once its transactions
// are over. It asks until it knows, but not beyond the run's life, nor for long after the handler's
// return. It lets go of the lock meanwhile.
func (m *replayState) askOwn() (e *store.Entry, known bool) {
	r, own := m.run, m.own
	if own.lost {
		return nil, false
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	ctx, stop := context.WithCancel(r.life.Lasting())
	defer stop()
	defer r.host.GiveUpLater(func() bool {
		waits := ctx.Err() == nil
		stop()
		return waits
	})()
	for try := 1; ; try++ {
		e, err := r.entryAt(ctx, own.last.LastSeq(), "the handler's end of the job", try)
		if err == nil {
			return e, true
		}
		if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			own.lost = true
			return nil, false
		}
	}
}
