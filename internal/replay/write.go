package replay

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// flush stores what is pending, together with children, and returns when that is durable. Strands
// that flush at the same time share a write, and one write follows the other, so that the journal
// has no gaps. It lets go of the lock meanwhile. If the run cannot go on, because of a write that
// failed or for another reason, flush does not return.
func (m *replayState) flush() {
	m.awaitWrite()
	for !m.IsSaved() {
		if err := m.write(); err != nil {
			m.endUnwritten(err)
		}
		m.awaitWrite()
	}
}

// awaitWrite waits for the write of another strand that is under way, if there is one.
func (m *replayState) awaitWrite() {
	for m.flushing {
		m.flushed.Wait()
	}
	if m.exiting {
		m.exit()
	}
}

// write stores the first portion of what is pending. No other strand writes. It releases the lock
// meanwhile.
func (m *replayState) write() error {
	a := m.take()
	m.flushing = true
	m.mu.Unlock()
	m.run.watch.Hold()
	err := m.run.host.Append(a)
	m.run.watch.Release()
	m.mu.Lock()
	m.written(a, err)
	return err
}

// writeLast is write for a run whose end is decided, and whose life may be over. It lets go of the
// lock meanwhile.
func (m *replayState) writeLast() error {
	a := m.take()
	m.flushing = true
	m.mu.Unlock()
	err := m.run.host.AppendLast(a)
	m.mu.Lock()
	m.written(a, err)
	return err
}

// take takes out what the next write carries, with what the run has said of its job. Answers that
// are written alone leave that for a write that has its place in the journal.
func (m *replayState) take() *store.Append {
	a := m.Portion(m.run.claimed.Lease)
	if len(a.Entries) > 0 {
		m.said = m.run.said.Carry(&m.Memory)
		a.Meta = m.said.Meta()
	}
	return a
}

// written ends a write.
func (m *replayState) written(a *store.Append, err error) {
	m.run.said.Carried(m.said, err == nil)
	m.flushing, m.tx, m.said = false, nil, nil
	if err == nil && len(a.Entries) > 0 {
		m.Stored = a.Entries[len(a.Entries)-1].Seq
		m.warnIfLong()
	}
	m.flushed.Broadcast()
}

// endUnwritten ends the run because a write of it failed: whatever went on from there would not be
// remembered. It does not return.
func (m *replayState) endUnwritten(err error) {
	switch {
	case errors.Is(err, store.ErrLeaseLost):
		m.run.Cancel(store.ErrLeaseLost)
		m.leave(nil)
	case m.run.life.Ended() != nil:
		m.unwritten = true // it is on its way still
		m.leaveIfEnded()
	default:
		m.unwritten = true
		// What the run has decided since is lost with the write, so that it cannot go on from
		// there.
		err = store.About(m.run.claimed.Job.ID, unwritten, err)
		if m.decided != nil && m.hasToUndo() {
			m.leave(outcome.Unreadable(err)) // also if no attempt is left
		} else {
			m.leave(m.run.failed(err))
		}
	}
	m.exit()
}

const unwritten = "writing the journal of"

// full reports, as an error that says what to do, that the run remembers all it may.
func (m *replayState) full() error {
	if what := m.run.host.MaxJournal().Full(m.Entries, m.Bytes); what != "" {
		return fmt.Errorf("%w: job %s has %s", usercode.ErrJournalFull, m.run.claimed.Job.ID, what)
	}
	return nil
}

// warnIfLong says once that the run remembers half of what it may: every resuming reads it.
func (m *replayState) warnIfLong() {
	limit := m.run.host.MaxJournal()
	if m.warned || !limit.IsHalfFull(m.Entries, m.Bytes) {
		return
	}
	m.warned = true
	m.run.host.Say(slog.LevelWarn,
		"a run's journal is half full, and is read each time the run resumes; return ContinueAsNew, or split the work into children",
		slog.Int64(logs.KeyEntries, m.Entries), slog.Int64(logs.KeyBytes, m.Bytes),
		slog.Int64(logs.KeyMaxEntries, limit.Entries), slog.Int64(logs.KeyMaxBytes, limit.Bytes))
}
