package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// begin begins a transaction of a caller's.
func (b *bed) begin() model.Tx { return b.st.Store.(*model.Store).Begin() } //nolint:errcheck // the model

// completeIn completes the job of a run in a transaction.
func completeIn(r Attempt, tx store.Tx) error {
	return r.Main().EndTx(replay.VerbCompleteTx, tx, journal.Ended{State: store.Completed, Result: []byte(`"in a transaction"`)})
}

// expectInTx expects that the transaction has completed a job, whose handler was called once.
func (b *bed) expectInTx(id store.ID, called *atomic.Int64) {
	b.t.Helper()
	ended := b.wait(id)
	b.expect(ended, store.Completed, "")
	if string(ended.Result) != `"in a transaction"` || called.Load() != 1 {
		b.t.Errorf("the result is %s, after %d calls of the handler", ended.Result, called.Load())
	}
}

// TestHandlerThatCompletesInItsTransaction: the outcome follows the commit, whatever the handler
// returns.
func TestHandlerThatCompletesInItsTransaction(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var called atomic.Int64
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			called.Add(1)
			tx := b.begin()
			return nil, errors.Join(completeIn(r, tx), tx.Commit(), errBoom)
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expectInTx(id, &called)
		if rec := b.get(id); rec.Attempt != 1 || len(b.journal(id)) != 1 {
			t.Errorf("%+v, %d entries", rec, len(b.journal(id)))
		}
	})
}

// TestTransactionThatOutlivesItsHandler: the slot is free after a while, the other jobs of the node
// go on, and so does the node; the job ends when the transaction does, as that says.
func TestTransactionThatOutlivesItsHandler(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprintf("committed %v", commit), func(t *testing.T) {
			inBed(t, Config{Node: NodeConfig{Slots: 1, StuckAfter: time.Second}}, func(b *bed) {
				var called atomic.Int64
				var tx model.Tx
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					if called.Add(1) > 1 {
						return []byte(`2`), nil
					}
					tx = b.begin()
					return nil, completeIn(r, tx)
				})
				b.handle("other", ok)
				b.run()
				id, began := b.enqueue(b.job("k")), time.Now()
				b.expect(b.wait(b.enqueue(b.job("other"))), store.Completed, "")
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the slot was free after %v", took)
				}
				time.Sleep(30 * time.Second)
				if rec := b.get(id); rec.State != store.Running {
					t.Errorf("while the transaction is open the job is %v", rec.State)
				}
				if !commit {
					b.must(tx.Rollback())
					b.expect(b.wait(id), store.Completed, "")
					if called.Load() != 2 {
						t.Errorf("the handler was called %d times", called.Load())
					}
					return
				}
				b.must(tx.Commit())
				b.expectInTx(id, &called)
			})
		})
	}
}

// TestCancelAfterTheCommit changes nothing, and a Terminate does.
func TestCancelAfterTheCommit(t *testing.T) {
	for _, terminate := range []bool{false, true} {
		inBed(t, Config{}, func(b *bed) {
			var called atomic.Int64
			committed := make(chan struct{})
			b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
				called.Add(1)
				tx := b.begin()
				err := errors.Join(completeIn(r, tx), tx.Commit())
				close(committed)
				<-ctx.Done()
				return nil, errors.Join(err, ctx.Err())
			})
			b.run()
			id := b.enqueue(b.job("k"))
			<-committed
			params := store.CancelParams{Jobs: []store.ID{id}, Terminate: terminate}
			if results, err := b.e.Cancel(t.Context(), params); err != nil || results[0].Err != nil {
				t.Fatal(results, err)
			}
			if terminate {
				b.expect(b.wait(id), store.Cancelled, store.ReasonTerminated)
				return
			}
			b.expectInTx(id, &called)
		})
	}
}

// TestOutageAfterTheCommit: it is asked again until the database answers.
func TestOutageAfterTheCommit(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{StuckAfter: time.Hour}}, func(b *bed) {
		var called atomic.Int64
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			called.Add(1)
			tx := b.begin()
			err := errors.Join(completeIn(r, tx), tx.Commit())
			b.st.hook(func(p *probe) { p.onAwaitTx = func() error { return store.ErrUnavailable } })
			time.AfterFunc(time.Minute, func() { b.st.hook(func(p *probe) { p.onAwaitTx = nil }) })
			return nil, err
		})
		b.run()
		began := time.Now()
		b.expectInTx(b.enqueue(b.job("k")), &called)
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// TestStoppedAfterTheCommit: a node that stops leaves the job to the next one, which ends it.
func TestStoppedAfterTheCommit(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var called atomic.Int64
		committed := make(chan struct{})
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			called.Add(1)
			tx := b.begin()
			err := errors.Join(completeIn(r, tx), tx.Commit())
			close(committed)
			<-ctx.Done()
			return nil, err
		})
		b.run()
		id := b.enqueue(b.job("k"))
		<-committed
		time.AfterFunc(time.Second, b.now)
		b.halt()
		if rec := b.get(id); rec.State != store.Available || called.Load() != 1 {
			t.Errorf("when the node has stopped the job is %v", rec.State)
		}
		b.run()
		b.expectInTx(id, &called)
	})
}

// TestHandedOver: the job waits without a slot, until it is finished from outside or its limit is
// over.
func TestHandedOver(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		var called atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			if called.Add(1) == 3 {
				return []byte(`3`), nil
			}
			return nil, &usercode.HandOverError{Limit: time.Hour}
		})
		b.handle("other", ok)
		b.run()
		first := b.enqueue(b.job("k"))
		b.expect(b.wait(b.enqueue(b.job("other"))), store.Completed, "")
		time.Sleep(59 * time.Minute)
		finish := func(state store.State) store.Result {
			t.Helper()
			results, err := b.e.Finish(t.Context(), store.FinishParams{Ends: []store.End{{Job: first, State: state, Result: []byte(`1`)}}})
			b.must(err)
			return results[0]
		}
		ended := make(chan store.Ended, 1)
		go func() { ended <- b.wait(first) }()
		synctest.Wait()
		before := time.Now()
		if r := finish(store.Completed); r.Err != nil || r.State != store.Completed {
			t.Fatalf("%+v", r)
		}
		b.expect(<-ended, store.Completed, "")
		if took := time.Since(before); took != 0 {
			t.Errorf("the waiter heard of it after %v", took)
		}
		if r := finish(store.Failed); !errors.Is(r.Err, store.ErrConflict) {
			t.Errorf("finished a second time: %+v", r)
		}
		second := b.enqueue(b.job("k"))
		began := time.Now()
		time.Sleep(time.Minute)
		b.expect(b.wait(second), store.Completed, "")
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute || called.Load() != 3 {
			t.Errorf("it took %v, and %d calls", took, called.Load())
		}
		if rec := b.get(second); rec.Attempt != 1 {
			t.Errorf("that counts as attempt %d", rec.Attempt)
		}
	})
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
