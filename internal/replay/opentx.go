package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/stopwatch"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// StepTx is a step whose result is stored in the transaction of what it writes: exactly once.
// transact begins a transaction, calls its argument's commit with it as the last thing, and
// commits.
func (s *Strand) StepTx(
	name string, policy StepPolicy,
	transact func(ctx context.Context, attempt int, commit func(tx store.Tx, result []byte) error) error,
) ([]byte, error) {
	return s.step(misuse.VerbStepTx, name, func(ctx context.Context, m *replayState, path string, attempt int) ([]byte, error) {
		tx := m.beginTx()
		began := stopwatch.Begin()
		ended := false
		defer func() {
			if !ended {
				m.endTx(tx, &store.Append{}, errNothing)
			}
		}()
		var a *store.Append
		var data []byte
		_, err := s.callStep(ctx, m, policy, attempt, func(ctx context.Context, attempt int) ([]byte, error) {
			return nil, transact(ctx, attempt, func(theirs store.Tx, result []byte) error {
				packed, codec := journal.Pack(result)
				e := store.Entry{Kind: store.EntryStep, Path: path, Name: name, Data: packed, Codec: codec, Took: began.Took()}
				written, err := m.appendIn(tx, s, e)
				if err != nil {
					return err
				}
				a, data = written, result
				if err := s.run.host.AppendTx(s.run.life.Lasting(), theirs, a); err != nil {
					return err
				}
				return a.Err
			})
		})
		if a == nil {
			return nil, err
		}
		if err != nil && a.Err == nil && s.happened(m, tx, a.Entries[0]) {
			err = nil
		}
		if err == nil {
			m.Account(&a.Entries[0])
		}
		m.endTx(tx, a, err)
		ended = true
		if tx.left {
			m.exit()
		}
		if err == nil {
			if s.undo {
				m.Remind(a.Entries[0])
			}
			return data, nil
		}
		if errors.Is(a.Err, store.ErrLeaseLost) {
			m.endUnwritten(a.Err)
		}
		return nil, err
	})
}

// beginTx keeps all other strands of the run from writing until endTx, so that the journal has no
// gaps, and so that none waits for the database with what the transaction waits for.
func (m *replayState) beginTx() *openTx {
	m.awaitWrite()
	m.flushing, m.tx = true, &openTx{}
	return m.tx
}

// endTx is called when a transaction has ended.
func (m *replayState) endTx(tx *openTx, a *store.Append, err error) {
	if !tx.left {
		m.written(a, err)
	}
}

// appendIn makes the append that is to be stored in a transaction, by the strand that is in it.
func (m *replayState) appendIn(tx *openTx, s *Strand, e store.Entry) (*store.Append, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := s.ruined(); err != nil {
		return nil, err
	}
	if tx.left {
		return nil, fmt.Errorf("%w: the run of job %s ended without waiting for this transaction", store.ErrLeaseLost, m.run.claimed.Job.ID)
	}
	tx.wrote = true
	e.Seq = m.Stored + 1
	m.said = m.run.said.Carry(&m.Memory)
	return &store.Append{Lease: m.run.claimed.Lease, Entries: []store.Entry{e}, Meta: m.said.Meta()}, nil
}

// leaveTxLater leaves the transaction behind that a run which ends is waiting for, if it still is
// after some time. stop is called when the run has stopped waiting.
func (m *replayState) leaveTxLater() (stop func()) { return m.run.host.GiveUpLater(m.leaveTx) }

// leaveTx ends the wait for a transaction, and reports whether anybody waited. One that has stored
// its entry, and has not ended, keeps what the run would write from its place in the journal: that
// is dropped. Any other comes too late from now on.
func (m *replayState) leaveTx() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tx == nil {
		return false
	}
	m.tx.left = true
	m.run.said.Carried(m.said, false)
	m.flushing, m.said = false, nil
	if !m.tx.wrote {
		m.tx = nil
	}
	m.flushed.Broadcast()
	return true
}

// errNothing says that nothing was written.
var errNothing = errors.New("nothing was written")

// happened finds out whether a transaction that ended with an error was committed all the same, as
// a connection that breaks, or a context that ends during the commit, cannot tell. It may be under
// way still, so it is waited for: what the journal says before that says nothing. It lets go of the
// lock meanwhile.
func (s *Strand) happened(m *replayState, tx *openTx, want store.Entry) bool {
	for try := 1; !tx.left; try++ {
		m.mu.Unlock()
		e, err := s.run.entryAt(s.run.life.Lasting(), want.Seq, "step "+want.Name, try)
		m.mu.Lock()
		if err == nil {
			return e != nil && e.Path == want.Path
		}
		if s.run.life.Ended() != nil || errors.Is(err, store.ErrClosed) {
			break
		}
	}
	return false // the run is over here, and the journal tells the next run
}

// entryAt returns the entry that a transaction of this run's has left at a place in the journal, or
// nil, once it is over. It waits a little after an error.
func (r *Run) entryAt(ctx context.Context, seq int64, what string, try int) (*store.Entry, error) {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	e, err := r.host.EntryAt(call, seq)
	if err != nil && ctx.Err() == nil {
		r.host.Say(slog.LevelWarn, "cannot tell yet whether a transaction of the handler's was committed; asking again",
			slog.String(logs.KeyStep, what), slog.Any(logs.KeyError, err))
		supervise.Sleep(ctx, store.Backoff{Base: 20 * time.Millisecond, Cap: 2 * time.Second, Jitter: 0.5}.Delay(try))
	}
	if err != nil || e == nil || e.LeaseNumber != r.claimed.Lease.Number {
		return nil, err
	}
	return e, nil
}
