package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/store"
)

// held makes the store report operations as blocked by a caller's transaction, until release.
type held struct {
	open  atomic.Bool
	sends map[store.ID]bool
	ends  map[store.ID]bool
	keys  map[string]bool
}

// apply replaces the store's Apply: it refuses a batch for its blocked outcomes, and otherwise
// applies what is not blocked.
func (h *held) apply(b *bed) func(*store.Batch) error {
	return func(batch *store.Batch) error {
		if h.open.Load() {
			return nil
		}
		blocked := fmt.Errorf("%w: by a test", store.ErrBusy)
		for _, o := range batch.Outcomes {
			if h.ends[o.Lease.Job] {
				o.Err = blocked
			}
		}
		if err := batch.Refusal(); err != nil {
			return err
		}
		rest := *batch
		rest.Sends, rest.Enqueues = nil, nil
		var busy []*error
		for _, q := range batch.Sends {
			if h.sends[q.Job] {
				busy = append(busy, &q.Err)
			} else {
				rest.Sends = append(rest.Sends, q)
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
		if err != nil {
			return err
		}
		batch.Woken = rest.Woken
		for _, e := range busy {
			*e = blocked
		}
		return errApplied
	}
}

// errApplied says that the hook has applied the batch.
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
		// All other callers are unaffected.
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
			if late := at.Sub(released); late < 0 || late > commit.LastAside+5*time.Millisecond {
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
		// A caller that leaves is not waited for, and its write does not happen.
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
		if _, err := b.st.Get(b.t.Context(), "", again.Job.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the job of a caller who has left: %v", err)
		}
	})
}

// TestOutcomesThatAreHeldAreNotGivenUp: the node counts blocked outcomes as its work, even during a
// slow retry.
func TestOutcomesThatAreHeldAreNotGivenUp(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok).MaxAttempts = 1
		q := b.job("k")
		h := &held{ends: map[store.ID]bool{q.Job.ID: true}}
		apply := h.apply(b)
		b.st.hook(func(p *probe) {
			p.instead = func(batch *store.Batch) error {
				if !slices.ContainsFunc(batch.Outcomes, func(o *store.Outcome) bool { return o.State == store.Completed }) {
					return nil
				}
				time.Sleep(2 * time.Second)
				return apply(batch)
			}
		})
		b.run()
		b.enqueue(q)
		time.Sleep(2 * time.Minute)
		h.open.Store(true)
		b.expect(b.wait(q.Job.ID), store.Completed, "")
		if rec := b.get(q.Job.ID); len(rec.Attempts) > 0 {
			t.Errorf("attempts: %+v", rec.Attempts)
		}
	})
}

// brokenContext is a caller's context that panics once in Err, when it is armed.
type brokenContext struct {
	context.Context
	armed atomic.Bool
}

func (c *brokenContext) Err() error {
	if c.armed.CompareAndSwap(true, false) {
		panic("a bug in a context")
	}
	return c.Context.Err()
}

// TestPanicWhileWhatIsHeldIsTried: the caller in progress gets an error, the outcome is retried,
// and the others go on.
func TestPanicWhileWhatIsHeldIsTried(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok).MaxAttempts = 1
		b.run()
		waiting, ending := b.job("nobody"), b.job("k")
		b.enqueue(waiting)
		h := &held{sends: map[store.ID]bool{waiting.Job.ID: true}, ends: map[store.ID]bool{ending.Job.ID: true}}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		send := func(ctx context.Context) error {
			q := &store.Send{Job: waiting.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
			return errors.Join(b.e.Send(ctx, []*store.Send{q}), q.Err)
		}
		b.enqueue(ending)
		broken := &brokenContext{Context: b.t.Context()}
		told := make(chan error, 1)
		go func() { told <- send(broken) }()
		time.Sleep(time.Second)
		broken.armed.Store(true)
		began := time.Now()
		if err := <-told; !errors.Is(err, store.ErrUnavailable) || time.Since(began) > time.Second {
			t.Errorf("the caller in hand learnt after %v: %v", time.Since(began), err)
		}
		go func() { told <- send(b.t.Context()) }()
		time.Sleep(10 * time.Second)
		h.open.Store(true)
		if err := <-told; err != nil {
			t.Errorf("the next one: %v", err)
		}
		b.expect(b.wait(ending.Job.ID), store.Completed, "")
		if rec := b.get(ending.Job.ID); len(rec.Attempts) > 0 {
			t.Errorf("attempts: %+v", rec.Attempts)
		}
		troubles := b.runner().Health().Troubles
		if len(troubles) != 1 || troubles[0].Part != "operations put aside" || troubles[0].Panics != 1 || troubles[0].Down {
			t.Errorf("troubles: %+v", troubles)
		}
	})
}

// TestPanicOneByOneAnswersNobodyTwice: a caller that was answered may be waiting for the next
// answer already.
func TestPanicOneByOneAnswersNobodyTwice(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		gate := make(chan struct{})
		var broken *brokenContext
		var calls atomic.Int64
		b.st.hook(func(p *probe) {
			p.onApply = func(*store.Batch) error {
				switch calls.Add(1) {
				case 1:
					<-gate
				case 2: // all of them as a batch: each is then tried on its own
					return fmt.Errorf("%w: of its own making", store.ErrInvalid)
				case 3: // the first on its own
				case 4:
					time.Sleep(time.Second) // the first caller has enqueued again
					broken.armed.Store(true)
					return fmt.Errorf("%w: for now", store.ErrUnavailable)
				}
				return nil
			}
		})
		broken = &brokenContext{Context: b.t.Context()}
		var all sync.WaitGroup
		all.Go(func() { b.enqueue(b.job("k")) }) // the others come meanwhile
		synctest.Wait()
		all.Go(func() {
			for i := range 2 {
				if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job("k")}); err != nil {
					t.Errorf("enqueue %d: %v", i, err)
				}
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := b.e.Enqueue(broken, []*store.Enqueue{b.job("k")}); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("who was in hand: %v", err)
			}
		})
		synctest.Wait()
		close(gate)
		all.Wait()
	})
}
