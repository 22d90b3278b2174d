package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// lateAnswers is a store that delays answers after it has read them.
type lateAnswers struct {
	store.Store
	held atomic.Pointer[chan struct{}] // nil: no delay
}

func (s *lateAnswers) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	held := s.held.Load()
	ended, err := s.Store.Ended(ctx, namespace, ids)
	if held != nil {
		<-*held
	}
	return ended, err
}

// TestWaitForTheNextEnd: a poll that was in progress when a job was retried must not answer a later
// wait with the previous end.
func TestWaitForTheNextEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &lateAnswers{Store: model.New(time.Now)}
		e := New(st, Config{})
		defer func() {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		q := &store.Enqueue{Job: store.Job{ID: store.NewID(), Namespace: "default", Queue: "default", Kind: "k", Priority: 2}}
		if err := e.Enqueue(t.Context(), []*store.Enqueue{q}); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
		if _, err := e.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{q.Job.ID}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // it is no longer young
		held := make(chan struct{})
		st.held.Store(&held)
		leaving, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := e.Wait(leaving, "default", q.Job.ID)
			left <- err
		}()
		synctest.Wait() // its poll has seen that the job was cancelled
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if r, err := e.Retry(t.Context(), store.RetryParams{Jobs: []store.ID{q.Job.ID}}); err != nil || r[0].Err != nil {
			t.Fatal(r, err)
		}
		waiting, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		again := make(chan error, 1)
		go func() {
			ended, err := e.Wait(waiting, "default", q.Job.ID)
			if err == nil {
				t.Errorf("it is told of the last end: %+v", ended)
			}
			again <- err
		}()
		synctest.Wait()
		st.held.Store(nil)
		close(held)
		if err := <-again; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestWaitBesideALateCommit: what is told of a commit that ended a job must not answer a wait that
// began after the job was retried, though the commit is told of only now.
func TestWaitBesideALateCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(model.New(time.Now), Config{})
		defer func() {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		q := &store.Enqueue{Job: store.Job{ID: store.NewID(), Namespace: "default", Queue: "default", Kind: "k", Priority: 2}}
		if err := e.Enqueue(t.Context(), []*store.Enqueue{q}); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
		over := &store.Batch{Outcomes: []*store.Outcome{{
			Lease: store.Lease{Job: q.Job.ID}, Namespace: "default", State: store.Failed, Final: store.Failed,
		}}}
		begun := e.news.Begun()
		waiting, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		again := make(chan error, 1)
		go func() {
			ended, err := e.Wait(waiting, "default", q.Job.ID)
			if err == nil {
				t.Errorf("it is told of the last end: %+v", ended)
			}
			again <- err
		}()
		synctest.Wait()
		e.committed(over, begun)
		if err := <-again; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		// A commit that began after the wait tells it at once.
		go func() {
			_, err := e.Wait(t.Context(), "default", q.Job.ID)
			again <- err
		}()
		synctest.Wait()
		e.committed(over, e.news.Begun())
		if err := <-again; err != nil {
			t.Error(err)
		}
	})
}
