package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// stuckTx is a step in a transaction that ignores its context until it is released.
type stuckTx struct {
	bed     *bed
	late    bool // it is stuck after it has stored its result
	inside  chan struct{}
	release chan struct{}
	refused atomic.Pointer[error] // the error of storing its result
	again   atomic.Bool           // the next run has received the same message
}

func (b *bed) stuckTx(late bool) *stuckTx {
	return &stuckTx{bed: b, late: late, inside: make(chan struct{}), release: make(chan struct{})}
}

func (x *stuckTx) run(s *replay.Strand) ([]byte, error) {
	return s.StepTx("stuck", replay.StepPolicy{}, func(_ context.Context, _ int, commit func(store.Tx, []byte) error) error {
		tx := x.bed.st.Store.(*model.Store).Begin() //nolint:errcheck // the model
		if x.late {
			if err := commit(tx, []byte(`1`)); err != nil {
				return err
			}
		}
		close(x.inside)
		<-x.release
		if !x.late {
			if err := commit(tx, []byte(`1`)); err != nil {
				x.refused.Store(&err)
				return errors.Join(err, tx.Rollback())
			}
		}
		return tx.Commit()
	})
}

// beside runs it in a strand of its own, and returns when it is stuck.
func (x *stuckTx) beside(s *replay.Strand) error {
	_, err := s.Go("beside", func(s *replay.Strand) (any, error) { return x.run(s) })
	<-x.inside
	return err
}

// stuckEnds are runs that end while one of their strands is stuck in a transaction.
var stuckEnds = map[string]func(s *replay.Strand) ([]byte, error){
	"completes": func(*replay.Strand) ([]byte, error) { return []byte(`1`), nil },
	"continues": beginOnceMore("flow"),
}

func eachStuckEnd(t *testing.T, test func(b *bed, x *stuckTx, id store.ID)) {
	for name, end := range stuckEnds {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stored its result %v", name, late), func(t *testing.T) {
				inBed(t, Config{Node: NodeConfig{Slots: 1, StuckAfter: time.Second}}, func(b *bed) {
					x := b.stuckTx(late)
					b.handle("flow", func(_ context.Context, r Attempt) ([]byte, error) {
						s := r.Main()
						if onNode(r).claimed.Lease.Number > 2 { // it has continued
							got, err := s.TryReceive(&await.Signal{Name: "go"})
							x.again.Store(got != nil)
							return []byte(`2`), err
						}
						if _, err := s.Receive(&await.Signal{Name: "go"}, await.Limit{}); err != nil {
							return nil, err
						}
						if err := x.beside(s); err != nil {
							return nil, err
						}
						return end(s)
					})
					b.handle("k", ok)
					b.run()
					id := b.enqueue(b.job("flow"))
					time.Sleep(time.Second)
					send := &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
					if err := b.e.Send(b.t.Context(), []*store.Send{send}); err != nil || send.Err != nil {
						t.Fatal(err, send.Err)
					}
					<-x.inside
					test(b, x, id)
				})
			})
		}
	}
}

// journal returns the entries of a job and expects that they have no gaps.
func (b *bed) journal(id store.ID) []store.Entry {
	b.t.Helper()
	entries, err := b.st.Entries(b.t.Context(), store.JournalParams{Job: id, Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	for i, e := range entries {
		if e.Seq != entries[0].Seq+int64(i) || i == 0 && e.Seq != 1 && e.Kind != store.EntryContinued {
			b.t.Errorf("entry %d of the journal has the number %d", i+1, e.Seq)
		}
	}
	return entries
}

// TestRunThatEndsLeavesAStuckTransactionBehind: its slot goes on.
func TestRunThatEndsLeavesAStuckTransactionBehind(t *testing.T) {
	eachStuckEnd(t, func(b *bed, x *stuckTx, id store.ID) {
		began := time.Now()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		if took := time.Since(began); took > 2*time.Second {
			b.t.Errorf("the slot was free after %v", took)
		}
		if !x.late { // nothing is locked
			b.expect(b.wait(id), store.Completed, "")
		}
		close(x.release)
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait()
		if rec := b.get(id); len(rec.Attempts) > 0 {
			b.t.Errorf("attempts: %+v", rec.Attempts)
		}
		wrote := slices.ContainsFunc(b.journal(id), func(e store.Entry) bool { return e.Name == "stuck" })
		if x.late {
			return // what the run received is lost unless the transaction ends in time
		}
		if err := x.refused.Load(); err == nil || !errors.Is(*err, store.ErrLeaseLost) || wrote {
			b.t.Error("what the transaction wrote after the end was not refused")
		}
		if x.again.Load() {
			b.t.Error("what the run had received came a second time")
		}
	})
}

// TestNodeStopsDespiteAStuckTransaction: of a run that has ended.
func TestNodeStopsDespiteAStuckTransaction(t *testing.T) {
	eachStuckEnd(t, func(b *bed, x *stuckTx, _ store.ID) {
		time.AfterFunc(time.Hour, func() { close(x.release) })
		began := time.Now()
		b.halt()
		if took := time.Since(began); took > time.Minute {
			b.t.Errorf("the node stopped after %v", took)
		}
		time.Sleep(2 * time.Hour)
	})
}

// TestFailureIsNotLostWithAStuckTransaction: the run has failed for good, whatever its strand does.
func TestFailureIsNotLostWithAStuckTransaction(t *testing.T) {
	for _, undone := range []bool{false, true} {
		t.Run(fmt.Sprintf("undone %v", undone), func(t *testing.T) {
			inBed(t, Config{Node: NodeConfig{Slots: 1, StuckAfter: time.Second}}, func(b *bed) {
				x := b.stuckTx(false)
				var runs, undos atomic.Int64
				b.handle("flow", func(_ context.Context, r Attempt) ([]byte, error) {
					s := r.Main()
					if undone {
						if err := s.OnFailure("undo", func(*replay.Strand) error { undos.Add(1); return nil }); err != nil {
							return nil, err
						}
					}
					if runs.Add(1) > 1 {
						return nil, &usercode.FailError{Err: errBoom}
					}
					return nil, errors.Join(x.beside(s), &usercode.FailError{Err: errBoom})
				})
				b.run()
				id := b.enqueue(b.job("flow"))
				b.expect(b.wait(id), store.Failed, store.ReasonTerminal)
				close(x.release)
				time.Sleep(time.Minute) // the strand that was left behind ends, too
				rec := b.get(id)
				for _, a := range rec.Attempts {
					if a.Reason == store.ReasonNodeLost {
						t.Errorf("attempt: %+v", a)
					}
				}
				if !undone && runs.Load() != 1 || undone && undos.Load() != 1 {
					t.Errorf("%d runs, %d compensations", runs.Load(), undos.Load())
				}
			})
		})
	}
}

// TestNobodyIsAskedWhoCannotAnswer: a closed store cannot say whether a transaction was committed,
// so an abandoned strand must stop asking.
func TestNobodyIsAskedWhoCannotAnswer(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.st.hook(func(p *probe) { p.onAwaitTx = func() error { return store.ErrClosed } })
		b.handle("flow", func(_ context.Context, r Attempt) ([]byte, error) {
			return r.Main().StepTx("x", replay.StepPolicy{}, func(_ context.Context, _ int, commit func(store.Tx, []byte) error) error {
				tx := b.st.Store.(*model.Store).Begin() //nolint:errcheck // the model
				return errors.Join(commit(tx, []byte(`1`)), tx.Rollback(), &usercode.FailError{Err: errBoom})
			})
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("flow"))), store.Failed, store.ReasonTerminal)
	})
}

// TestNoTransactionBeginsAfterTheEnd: a strand that waited for another one's write meanwhile ends
// there.
func TestNoTransactionBeginsAfterTheEnd(t *testing.T) {
	for _, late := range []time.Duration{0, 500 * time.Millisecond} {
		noTransactionBegins(t, late)
	}
}

// noTransactionBegins makes a strand begin a transaction before or after the handler has returned.
func noTransactionBegins(t *testing.T, late time.Duration) {
	t.Helper()
	inBed(t, Config{}, func(b *bed) {
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Appends) > 0 {
					time.Sleep(time.Second)
				}
				return nil
			}
		})
		var begun atomic.Bool
		b.handle("flow", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			_, err1 := s.Go("writes", func(s *replay.Strand) (any, error) {
				return s.Step("slow", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil })
			})
			time.Sleep(100 * time.Millisecond)
			_, err2 := s.Go("waits", func(s *replay.Strand) (any, error) {
				time.Sleep(late)
				return s.StepTx("late", replay.StepPolicy{}, func(ctx context.Context, _ int, _ func(store.Tx, []byte) error) error {
					begun.Store(true)
					<-ctx.Done()
					return ctx.Err()
				})
			})
			time.Sleep(100 * time.Millisecond)
			return []byte(`1`), errors.Join(err1, err2)
		})
		b.run()
		id := b.enqueue(b.job("flow"))
		time.Sleep(time.Minute)
		b.expect(b.wait(id), store.Completed, "")
		if begun.Load() {
			t.Error("a transaction was begun when the run had ended")
		}
		if entries := b.journal(id); len(entries) != 1 || entries[0].Name != "slow" {
			t.Errorf("journal: %+v", entries)
		}
	})
}
