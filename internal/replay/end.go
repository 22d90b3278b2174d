package replay

import (
	"errors"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// incomplete tells what keeps a run from being completed whose handler has returned no error: a
// strand that has panicked and was not awaited, or a journal that has more than the code asks for.
func (r *Run) incomplete() (*usercode.PanicError, *store.Outcome) {
	m := r.state.Load()
	if m == nil {
		return nil, nil
	}
	if p := m.abandonedPanic(); p != nil {
		return p, nil
	}
	if what := m.unvisited(); what != "" {
		return nil, outcome.Contradiction(what)
	}
	return nil, nil
}

// left reports whether the run has left the handler's goroutine by itself, since it is parked, or
// over for this process, and with which outcome; nil: there is nothing to write.
func (r *Run) left() (o *store.Outcome, left bool) {
	m := r.state.Load()
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outcome, m.exiting
}

// decided is the outcome of a run whose end is decided, and that has nothing to do before it, or
// nil.
func (r *Run) decided() *store.Outcome {
	m := r.state.Load()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.decided == nil || m.hasToUndo() {
		return nil
	}
	o := *m.decided
	return &o
}

// FinishJournal ends the operations of the run, waits for a write that is under way, and stores all
// that is pending but the last portion, which it returns to be stored together with the outcome. It
// completes the outcome with what the run knows, and makes it that of a failed attempt if a portion
// cannot be stored. remembers is false if the function has used no operation.
func (r *Run) FinishJournal(o *store.Outcome) (a *store.Append, remembers bool) {
	m := r.state.Load()
	if m == nil {
		o.Meta = r.main.Unsaid(nil).Meta()
		if r.claimed.Durable && o.State.Finished() {
			const late = "its journal was not read in time, so that it is unknown what there is to undo"
			outcome.Replace(o, outcome.Unreadable(errors.New(late))) //nolint:err113 // for people
		}
		return nil, false
	}
	return m.finishJournal(o), true
}

// finishJournal is FinishJournal of a run that has used operations.
func (m *replayState) finishJournal(o *store.Outcome) *store.Append {
	m.mu.Lock()
	defer m.mu.Unlock()
	// From now on no strand of the run begins an operation.
	m.exiting, m.concluded = true, true
	m.tellAbandoned()
	m.wakeAll()
	if m.lingering != nil {
		m.lingering.Stop()
	}
	if end := m.ownOutcome(); end != nil {
		outcome.Replace(o, end)
	}
	over := o.State.Finished() || o.Continue != nil
	if over && m.tx != nil {
		// A strand is in a transaction of the user's still: what it writes comes before the end, or
		// not at all.
		m.run.endMain(ErrClosing)
		defer m.leaveTxLater()()
	}
	for m.flushing && (over || m.tx == nil) {
		m.flushed.Wait()
	}
	o.HasChildren = m.Children
	if o.Wait != nil && o.Wait.HandedOver {
		o.Wait.Compensates = m.hasToUndo()
	}
	// What is pending is kept if the job is over, or continues from exactly here, and it is known
	// where the journal ends. The rest is decided again next time: nothing went on from there.
	keeps := (over || o.State == store.Waiting || m.pausesHere) && !m.unwritten
	if !keeps || m.tx != nil {
		m.dropUnsaved(o)
	}
	if keeps && !over && len(m.undos) > 0 && m.IsEmpty() {
		// A job without a journal would be cancelled without being called.
		m.Record(store.Entry{Kind: store.EntryRegistered, Path: journal.UndoPrefix})
	}
	if o.Continue != nil {
		o.Continue.Data = journal.Encode(m.Next())
		m.GiveUp("the run continued as new before the request was handled to its end")
	}
	// All but the last portion is stored before the outcome. A run whose journal cannot be
	// completed has failed: an attempt like any other.
	for !m.IsLast() {
		if err := m.writeLast(); err != nil {
			m.DropAll()
			m.unwritten = true
			outcome.Replace(o, m.run.failed(store.About(m.run.claimed.Job.ID, unwritten, err)))
		}
	}
	var a *store.Append
	if !m.IsSaved() {
		a = m.take()
	}
	inTx := m.tx != nil || m.own != nil
	o.Meta = m.run.said.Words(&m.Memory).Meta()
	o.Durable, o.InTx = m.Stored > 0 || a != nil && len(a.Entries) > 0 || inTx || m.unwritten, inTx
	return a
}

// dropUnsaved drops what is to be stored when a run ends that cannot go on from it. After an
// attempt that has failed, the signals that did not decode are received all the same.
func (m *replayState) dropUnsaved(o *store.Outcome) {
	if o.State != store.Retryable || m.tx != nil || m.unwritten || m.fault.err != nil {
		m.DropAll()
		return
	}
	m.KeepRefusals()
}

// isBehind reports whether the run failed before its code had come past all that the journal holds.
// Then it does not know yet what it would have to undo.
func (r *Run) isBehind() bool {
	m := r.state.Load()
	return m != nil && m.unvisited() != ""
}

// SawCancel reports whether the run knew that a cancel of its job was requested when it decided how
// it ends. One that comes after that is for the next run.
func (r *Run) SawCancel() bool { return r.claimed.CancelRequested || r.sawCancel.Load() }

// seeCancel notes that how the run ends is decided because of this.
func (r *Run) seeCancel(cause error) {
	if errors.Is(cause, usercode.ErrCancelled) {
		r.sawCancel.Store(true)
	}
}
