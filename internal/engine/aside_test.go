package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// held makes the store say that a caller's transaction is in the way of what is asked for, until it is let go.
type held struct {
	open  atomic.Bool
	sends map[store.ID]bool
	ends  map[store.ID]bool
	keys  map[string]bool
}

// apply is what the probe does instead of the store: it applies what is not held.
func (h *held) apply(b *bed) func(*store.Batch) error {
	return func(batch *store.Batch) error {
		if h.open.Load() {
			return nil
		}
		rest := store.Batch{Checkpoints: batch.Checkpoints, Appends: batch.Appends}
		var busy []*error
		for _, q := range batch.Sends {
			if h.sends[q.Job] {
				busy = append(busy, &q.Err)
			} else {
				rest.Sends = append(rest.Sends, q)
			}
		}
		for _, o := range batch.Outcomes {
			if h.ends[o.Lease.Job] {
				busy = append(busy, &o.Err)
			} else {
				rest.Outcomes = append(rest.Outcomes, o)
			}
		}
		for _, q := range batch.Enqueues {
			if h.keys[string(q.Job.UniqueKey)] {
				busy = append(busy, &q.Err)
			} else {
				rest.Enqueues = append(rest.Enqueues, q)
			}
		}
		if len(busy) == 0 {
			return nil
		}
		err := b.st.Store.Apply(context.Background(), &rest)
		for _, e := range busy {
			*e = fmt.Errorf("%w: by a test", store.ErrBusy)
		}
		if err != nil {
			return err
		}
		return errApplied
	}
}

// errApplied says that the hook has done what the store would have.
var errApplied = errors.New("applied")

func TestWhoIsHeldWaitsAlone(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		waiting := b.job("nobody")
		b.enqueue(waiting)
		ending := b.job("k")
		h := &held{
			sends: map[store.ID]bool{waiting.Job.ID: true}, ends: map[store.ID]bool{ending.Job.ID: true}, keys: map[string]bool{"key": true},
		}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		b.enqueue(ending)
		var both sync.WaitGroup
		var sent, enqueued time.Time
		began := time.Now()
		q := b.job("nobody", func(e *store.Enqueue) { e.Job.UniqueKey, e.Job.UniqueStates = []byte("key"), store.Unfinished })
		both.Go(func() {
			send := &store.Send{Job: waiting.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
			if err := b.e.Send(b.t.Context(), []*store.Send{send}); err != nil || send.Err != nil {
				t.Errorf("send: %v, %v", err, send.Err)
			}
			sent = time.Now()
		})
		both.Go(func() {
			others := []*store.Enqueue{b.job("nobody"), q, b.job("nobody")}
			if err := b.e.Enqueue(b.t.Context(), others); err != nil {
				t.Errorf("enqueue: %v", err)
			}
			for _, o := range others {
				if o.Err != nil {
					t.Errorf("enqueue: %v", o.Err)
				}
			}
			enqueued = time.Now()
		})
		time.Sleep(time.Second)
		// Everybody else goes on as if nothing was.
		for range 10 {
			began := time.Now()
			b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
			if took := time.Since(began); took > 50*time.Millisecond {
				t.Errorf("another job took %v", took)
			}
		}
		if rec := b.get(ending.Job.ID); rec.State != store.Running {
			t.Errorf("the job whose end is held is %v", rec.State)
		}
		time.Sleep(10*time.Second - time.Since(began))
		h.open.Store(true)
		released := time.Now()
		both.Wait()
		b.expect(b.wait(ending.Job.ID), store.Completed, "")
		for what, at := range map[string]time.Time{"the send": sent, "the enqueue": enqueued} {
			if late := at.Sub(released); late < 0 || late > lastAside+5*time.Millisecond {
				t.Errorf("%s was answered %v after the release", what, late)
			}
		}
		if rec := b.get(ending.Job.ID); rec.Attempt != 1 {
			t.Errorf("attempt %d: %+v", rec.Attempt, rec.Attempts)
		}
	})
}

func TestWhoIsHeldForTooLongIsToldWhy(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		h := &held{keys: map[string]bool{"key": true}}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		q := b.job("nobody", func(e *store.Enqueue) { e.Job.UniqueKey, e.Job.UniqueStates = []byte("key"), store.Unfinished })
		free := b.job("nobody")
		began := time.Now()
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{q, free}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("it took %v", took)
		}
		if !errors.Is(q.Err, store.ErrUnavailable) || free.Err != nil {
			t.Errorf("errors: %v, %v", q.Err, free.Err)
		}
		// Who leaves is not waited for, and nothing of it is left.
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		again := b.job("nobody", func(e *store.Enqueue) { e.Job.UniqueKey, e.Job.UniqueStates = []byte("key"), store.Unfinished })
		if err := b.e.Enqueue(ctx, []*store.Enqueue{again}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error: %v", err)
		}
		time.Sleep(time.Second)
		h.open.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := b.st.Get(b.t.Context(), again.Job.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the job of a caller who has left: %v", err)
		}
	})
}

// TestOutcomesThatAreHeldHoldUpNoSlots, however many there are.
func TestOutcomesThatAreHeldHoldUpNoSlots(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		b.handle("k", ok)
		h := &held{ends: map[store.ID]bool{}}
		var ids []store.ID
		for range 3 * maxPending(1) / 2 {
			q := b.job("k")
			h.ends[q.Job.ID] = true
			ids = append(ids, b.enqueue(q))
		}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		b.run()
		time.Sleep(time.Minute)
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		h.open.Store(true)
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
	})
}
