//go:build soak

package holdfast_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// asking calls the adder from processes that may die, with one id for each number, until there is
// an answer.
type asking struct {
	t       *testing.T
	id      holdfast.ID
	client  atomic.Pointer[holdfast.Client]
	mu      sync.Mutex
	answers map[int]string
}

func (a *asking) call(n int) (string, error) {
	answer, err := addUp.Call(context.Background(), a.client.Load(), a.id, n, holdfast.DedupKey(strconv.Itoa(n)))
	if told, ok := errors.AsType[*holdfast.UpdateError](err); ok {
		return told.Message, nil
	}
	return answer, err
}

func (a *asking) untilAnswered(n int) {
	for {
		answer, err := a.call(n)
		switch {
		case err == nil:
			a.mu.Lock()
			a.answers[n] = answer
			a.mu.Unlock()
			return
		case errors.Is(err, holdfast.ErrConflict):
			a.t.Errorf("%d has no answer: %v", n, err)
			return
		}
		time.Sleep(time.Second) // the process is dead, or has not enqueued the job
	}
}

// addInProcesses adds up in processes that die at the given writes, and returns how many writes the
// last one has made.
func addInProcesses(t *testing.T, deaths []death) (writes int) {
	t.Helper()
	st := model.New(time.Now)
	w := &world{done: map[string]int{}}
	a := &asking{t: t, id: holdfast.NewID(), answers: map[int]string{}}
	var callers sync.WaitGroup
	for n := 0; n <= len(deaths); n++ {
		m := &mortal{Store: st, left: -1, died: make(chan struct{})}
		if n < len(deaths) {
			m.left, m.after = deaths[n].write, deaths[n].after
		}
		ended := inProcess(t, m, a.id, func(ctx context.Context, hf *holdfast.Client) {
			if err := adder.Handle(hf, w.addAll); err != nil {
				t.Fatal(err)
			}
			_, _ = adder.Enqueue(ctx, hf, adding{}, holdfast.JobID(a.id), holdfast.MaxAttempts(1000)) // a dead process fails
			if a.client.Swap(hf) == nil {
				for i := 1; i <= 6; i++ {
					callers.Go(func() { a.untilAnswered(i) })
				}
				callers.Go(func() { a.untilAnswered(-1) })
			}
		})
		if writes = m.writes; ended {
			break
		}
	}
	later, err := holdfast.Open(t.Context(), memorySource{st})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = later.Close(context.Background()) }()
	a.client.Store(later)
	callers.Wait()
	a.check(w, later)
	return writes
}

// check checks what has become of a run that has added up.
func (a *asking) check(w *world, hf *holdfast.Client) {
	t := a.t
	t.Helper()
	if sum, err := adder.Job(hf, a.id).Wait(t.Context()); sum != 21 || err != nil {
		t.Errorf("the sum is %d, %v", sum, err)
	}
	if a.answers[-1] != "it is negative" || a.answers[5] != "five" {
		t.Errorf("answers: %v", a.answers)
	}
	for n := 1; n <= 6; n++ {
		if w.times("add "+strconv.Itoa(n)) == 0 {
			t.Errorf("%d was not added", n)
		}
		if again, err := a.call(n); again != a.answers[n] || err != nil {
			t.Errorf("%d: %q, and before %q, %v", n, again, a.answers[n], err)
		}
	}
	for _, n := range []int{-1, 7} { // what was refused is as unknown as what was never asked
		if _, err := a.call(n); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a job that has ended answers %d: %v", n, err)
		}
	}
	entries, err := hf.JournalEntries(t.Context(), a.id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, e := range entries {
		if e.Kind == "updated" {
			times[string(e.Data)]++
		}
	}
	for request, n := range times {
		if n != 1 {
			t.Errorf("%s is in the journal %d times", request, n)
		}
	}
}

// TestUpdatesSurviveCrashes kills the process at every write in turn, before it and after it, and
// the next process at another: what was asked is added once, and the same id has the same answer.
func TestUpdatesSurviveCrashes(t *testing.T) {
	t.Parallel()
	writes := 0
	synctest.Test(t, func(t *testing.T) { writes = addInProcesses(t, nil) })
	for write := range writes {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { addInProcesses(t, []death{{write, after}, {write / 2, !after}}) })
			if t.Failed() {
				t.Fatalf("death at write %d, after it %v", write, after)
			}
		}
	}
	t.Logf("%d deaths", 4*writes)
}
