package replay

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/tries"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// OnFailure registers a compensation. Those that are registered when the run fails or is cancelled
// run in reverse order.
func (s *Strand) OnFailure(name string, f func(*Strand) error) error {
	m, err := s.begin("run.OnFailure", name)
	if err != nil {
		return err
	}
	defer s.end(m)
	if s.undo {
		return s.spoil(m, s.misuse("%s was called in a compensation, which cannot be undone itself; call it in the handler", s.doing))
	}
	s.undos++
	path := journal.UndoPrefix + strings.ReplaceAll(s.prefix, ".", "/") + strconv.Itoa(int(s.undos))
	m.undos = append(m.undos, undo{path, name, f})
	return nil
}

// hasToUndo reports whether there is something to do before the run may fail or be cancelled:
// compensations, or children to be waited for.
func (m *replayState) hasToUndo() bool { return len(m.undos) > 0 || m.AwaitsChildren() }

// endStrands ends the strands that the handler left behind, each at its next operation, and waits
// for them: what they have done is to be undone, too. One that waits for another comes as far as
// that lets it.
func (m *replayState) endStrands() {
	if m.ending == nil {
		m.ending = ErrClosing
	}
	m.run.endMain(m.ending)
	m.active-- // so that it is seen when all of them wait
	m.wakeAll()
	for m.strands > 0 && !m.exiting {
		m.strandEnded.Wait()
	}
	m.active++
	m.hopeless = true
	if m.exiting {
		m.exit()
	}
}

// catchUp lets the strands of a run that is ending come to where they were, if they have not: its
// handler may have returned with the first of them, and what it is to undo is known when they have.
//
// It is for the goroutine of the handler, which has returned. The node, when it gives up a stuck
// run, asks isBehind alone: what the run is stuck in never ends.
func (r *Run) catchUp() {
	if !r.isBehind() {
		return
	}
	m := r.state.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endStrands()
}

// keepPromised drops the compensations that were not registered when the end was decided, and
// returns the path of one that was and is not any more. Nil: nothing was said.
func (m *replayState) keepPromised(paths []string) (missing string) {
	if paths == nil {
		return ""
	}
	m.undos = slices.DeleteFunc(m.undos, func(u undo) bool { return !slices.Contains(paths, u.path) })
	for _, path := range paths {
		if !slices.ContainsFunc(m.undos, func(u undo) bool { return u.path == path }) {
			return path
		}
	}
	return ""
}

// undoPolicy is how a compensation that fails is repeated before it is given up.
var undoPolicy = StepPolicy{Attempts: 10, Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.2}}

// compensate runs the compensations of a run whose end is decided, and returns the outcome. They
// are steps of strands of their own, so that a crash in the middle repeats none that is remembered.
func (r *Run) compensate(o *store.Outcome) *store.Outcome {
	m := r.state.Load()
	if m == nil || o == nil {
		return o
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var promised []string
	if m.Closed != nil {
		var data journal.Closing
		if err := journal.Decode(m.Closed, &data); err != nil {
			return o
		}
		o, promised = &store.Outcome{State: data.State, Reason: data.Reason, Error: data.Error}, data.Undo
		r.said.Clear() // it was stored with the decision
	}
	if o.State != store.Failed && o.State != store.Cancelled {
		return o
	}
	m.decided = o
	m.endStrands()
	if missing := m.keepPromised(promised); missing != "" {
		return outcome.Contradiction("the code no longer registers the compensation at place " + missing +
			", which was registered when its end was decided")
	}
	if !m.hasToUndo() {
		return o
	}
	r.undoing.Store(true)
	if m.Closed == nil {
		m.Record(m.closingEntry(o))
	}
	m.flush()
	if m.AwaitsChildren() {
		if err := r.endChildren(m); err != nil {
			return outcome.Unreadable(err)
		}
	}
	for _, u := range slices.Backward(m.undos) {
		if err := r.undoOne(m, u); err != nil {
			o.Error = usercode.CutError(o.Error + fmt.Sprintf("; compensation %s failed: %v", u.name, err))
		}
	}
	return o
}

// endChildren cancels the children that have the policy CancelAndWait, and waits until they have
// ended. The database tells which have not: an answer may have gone to the job before it continued
// as new. Each that has not ended yet sends one, so that the run, which parks, comes back.
func (r *Run) endChildren(m *replayState) error {
	open, err := unlocked(m, func() (int64, error) { return r.host.CancelChildren(r.life.Lasting()) })
	m.leaveIfEnded()
	if m.exiting {
		m.exit()
	}
	if err != nil {
		return store.About(r.claimed.Job.ID, "cancelling the children of", err)
	}
	if open == 0 {
		return nil
	}
	keeper := &Strand{run: r, undo: true, fault: &fault{}}
	return keeper.await(m, func() bool { return false }, func() blocked.On {
		what := fmt.Sprintf("the end of %d children that it has cancelled", open)
		if open == 1 {
			what = "the end of 1 child that it has cancelled"
		}
		return blocked.On{Count: open, What: what}
	})
}

// closingEntry decides the end of the run, and what is undone before.
func (m *replayState) closingEntry(o *store.Outcome) store.Entry {
	data := journal.Closing{State: o.State, Reason: o.Reason, Error: o.Error, Undo: []string{}}
	for _, u := range m.undos {
		data.Undo = append(data.Undo, u.path)
	}
	return store.Entry{Kind: store.EntryClosing, Path: journal.UndoPrefix, Data: journal.Encode(data)}
}

// undoOne runs a compensation until it has succeeded or was tried often enough.
func (r *Run) undoOne(m *replayState, u undo) error {
	path := u.path
	keeper := &Strand{run: r, undo: true, fault: &fault{}}
	before, err := tries.BeforeIn(m.At(path))
	if before.Ended || err != nil {
		return err
	}
	until := before.Until
	for attempt := before.Attempt; ; attempt++ {
		if err := keeper.until(m, until, func() string { return "compensation " + u.name }); err != nil {
			return err
		}
		failure := callUndo(m, u, m.undoing(r, path), attempt)
		m.leaveIfEnded()
		if m.exiting {
			m.exit()
		}
		if failure == nil {
			m.Record(store.Entry{Kind: store.EntryCompensated, Path: path, Name: u.name})
			m.flush()
			return nil
		}
		m.Forget(path + ".")
		e, again := failure.Entry(path, u.name, r.host.Now())
		m.Record(e)
		m.flush()
		r.tellUndo(failure, again)
		if !failure.Again {
			return &failure.Told
		}
		until = again
	}
}

// callUndo calls a compensation, and looks at its error, without the state's lock. Its panic is an
// error of it, and so is a misuse that it does not return.
func callUndo(m *replayState, u undo, s *Strand, attempt int) (failure *tries.FailedError) {
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		if s.fault.err != nil && (failure == nil || failure.Misuse == nil) {
			failure = failed(&undoPolicy, s.fault.err, attempt)
		}
	}()
	defer s.over.Store(true)
	defer func() {
		if p := recover(); p != nil {
			failure = failed(&undoPolicy, usercode.PanicOf(p), attempt)
		}
	}()
	err := u.f(s)
	if err == nil {
		return nil
	}
	if only := usercode.ForHandlers(err); only != nil {
		err = only
	}
	return failed(&undoPolicy, err, attempt)
}

// tellUndo says that a compensation failed, and when it is tried again; a zero time says that it is
// given up.
func (r *Run) tellUndo(failure *tries.FailedError, again time.Time) {
	told := &failure.Told
	facts := []slog.Attr{
		slog.String(logs.KeyCompensation, told.Step), slog.Int(logs.KeyTries, told.Attempts), slog.String(logs.KeyError, told.Message),
	}
	level := slog.LevelWarn
	if failure.Stack != "" {
		level = slog.LevelError
		facts = append(facts, slog.String(logs.KeyStack, failure.Stack))
	}
	if again.IsZero() {
		r.host.Say(slog.LevelError, "compensation given up: undo by hand what it should have undone", facts...)
		return
	}
	facts = append(facts, slog.Time(logs.KeyRetryAt, again))
	r.host.Say(level, "compensation failed; it will be retried", facts...)
}
