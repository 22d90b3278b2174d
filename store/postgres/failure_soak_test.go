//go:build soak

package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestRestartsUnderLoad: the server crashes and is restarted while jobs are enqueued, claimed and
// finished. Callers repeat what is unavailable as the contract says, and every job is finished
// once.
func TestRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	s := open(t, postgres.Config{URL: cluster.URL(""), MaxConns: 8})
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var producing atomic.Bool
	producing.Store(true)
	var enqueued, finished sync.Map
	var unavailable, made, claimed atomic.Int64
	again := func(err error) bool {
		if errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			unavailable.Add(1)
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
			return true
		}
		return false
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for producing.Load() {
				if made.Load()-claimed.Load() > 200 { // what is left at the end has to be finished
					time.Sleep(time.Millisecond) //nolint:forbidigo // servers have no virtual time
					continue
				}
				batch := &store.Batch{}
				for range 5 {
					batch.Enqueues = append(batch.Enqueues, newJob())
				}
				busy := func(q *store.Enqueue) bool { return errors.Is(q.Err, store.ErrBusy) } // another worker makes the lane
				err := store.ApplyEach(ctx, s, batch)
				for again(err) || err == nil && slices.ContainsFunc(batch.Enqueues, busy) && again(store.ErrBusy) {
					err = store.ApplyEach(ctx, s, batch)
				}
				for _, q := range batch.Enqueues {
					if err = errors.Join(err, q.Err); err == nil {
						enqueued.Store(q.Job.ID, true)
						made.Add(1)
					}
				}
				if err != nil {
					t.Errorf("enqueue: %v", err)
					return
				}
			}
		})
	}
	node := join(t, s)
	var idle atomic.Bool
	workers.Go(func() {
		for seq := int64(1); ; seq++ {
			params := demand(node, seq, 20)
			runs, err := s.Claim(ctx, params)
			for again(err) {
				params.Repeat = true
				runs, err = s.Claim(ctx, params)
			}
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			if len(runs) == 0 && !producing.Load() && idle.Load() {
				return
			}
			idle.Store(len(runs) == 0 && !producing.Load())
			claimed.Add(int64(len(runs)))
			batch := &store.Batch{}
			for _, run := range runs {
				if _, twice := finished.LoadOrStore(run.Job.ID, true); twice {
					t.Errorf("job %v was claimed twice", run.Job.ID)
				}
				batch.Outcomes = append(batch.Outcomes, completed(run))
			}
			err = store.ApplyEach(ctx, s, batch)
			for again(err) {
				for _, o := range batch.Outcomes {
					o.Repeat = true
				}
				err = store.ApplyEach(ctx, s, batch)
			}
			for _, o := range batch.Outcomes {
				if err != nil || o.Err != nil {
					t.Errorf("complete: %v, %v", err, o.Err)
					return
				}
			}
		}
	})
	underLoad := func() {
		want := claimed.Load() + 200
		eventually(t, "jobs are claimed", func() bool { return claimed.Load() >= want || t.Failed() })
	}
	for range 3 {
		underLoad()
		cluster.Crash(t)
		cluster.Start(t)
		underLoad()
		cluster.Restart(t)
	}
	producing.Store(false)
	workers.Wait()
	var ids []store.ID
	enqueued.Range(func(id, _ any) bool {
		ids = append(ids, id.(store.ID)) //nolint:errcheck // nothing else is put in
		return true
	})
	n := len(ids)
	ended, err := s.Ended(t.Context(), "", ids)
	if err != nil || len(ended) != n {
		t.Fatalf("%d of %d jobs have ended, %v", len(ended), n, err)
	}
	for _, e := range ended {
		if e.State != store.Completed {
			t.Fatalf("job %v is %v", e.ID, e.State)
		}
	}
	if n == 0 || unavailable.Load() == 0 {
		t.Fatalf("%d jobs and %d failures: the test has tested nothing", n, unavailable.Load())
	}
	t.Logf("%d jobs, %d calls repeated", n, unavailable.Load())
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	q := newJob()
	enqueue(t, open(t, config), q)
	config.URL += "&options=-c%20default_transaction_read_only%3Don"
	s := open(t, config)
	wantState(t, s, q.Job.ID, store.Available)
	wantErr(t, "Apply", store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}}), store.ErrReadOnly)
}
