package hookqueue_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/hookqueue"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// written is what a logger has written.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.text.String(), text)
}

// inQueue runs a test with a queue in virtual time.
func inQueue(t *testing.T, h hooks.Hooks, test func(t *testing.T, q *hookqueue.Queue, log *written)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		lines := logs.NewLimiter(slog.New(slog.NewTextHandler(w, nil)))
		q := hookqueue.New([]hooks.Hooks{h}, model.New(time.Now), lines)
		test(t, q, w)
		lines.Flush()
		time.Sleep(time.Hour) // whatever is left of it
	})
}

func start(q *hookqueue.Queue) { q.Started(&store.Claimed{}, time.Now(), 0) }

// TestDropsAreCountedAndSaidNowAndThen: what does not fit is dropped at once, and the log has a
// line at first and then at intervals.
func TestDropsAreCountedAndSaidNowAndThen(t *testing.T) {
	var leave chan struct{}
	inQueue(t, hooks.Hooks{Started: func(hooks.Started) { <-leave }}, func(t *testing.T, q *hookqueue.Queue, log *written) {
		leave = make(chan struct{})
		defer close(leave)
		start(q)
		synctest.Wait() // the hook hangs
		for range hooks.QueueSize + 500 {
			start(q)
		}
		if n := q.Dropped(); n != 500 {
			t.Errorf("%d events were dropped", n)
		}
		for range 120 {
			time.Sleep(time.Second)
			start(q)
		}
		synctest.Wait()
		if lines := log.count("events were dropped"); lines != 5 {
			t.Errorf("%d lines in two minutes", lines)
		}
		began := time.Now()
		q.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("Close took %v", took)
		}
		if n := q.Dropped(); n != hooks.QueueSize+620 {
			t.Errorf("%d events were dropped, those that were left included", n)
		}
	})
}

// TestCloseTellsTheRest: events that were put before are told, and those after it are not.
func TestCloseTellsTheRest(t *testing.T) {
	told := 0
	slowly := hooks.Hooks{Started: func(hooks.Started) { told++; time.Sleep(time.Millisecond) }}
	inQueue(t, slowly, func(t *testing.T, q *hookqueue.Queue, _ *written) {
		for range 100 {
			start(q)
		}
		q.Close()
		start(q)
		time.Sleep(time.Minute)
		if told != 100 || q.Dropped() != 0 {
			t.Errorf("%d events were told, %d dropped", told, q.Dropped())
		}
	})
}

// TestAHookThatDoesNotReturn: by a panic, or by the end of its goroutine. The next event is told.
func TestAHookThatDoesNotReturn(t *testing.T) {
	told := 0
	inQueue(t, hooks.Hooks{Started: func(hooks.Started) {
		switch told++; told {
		case 1:
			panic("in a hook")
		case 2:
			runtime.Goexit()
		}
	}}, func(t *testing.T, q *hookqueue.Queue, log *written) {
		for range 5 {
			start(q)
		}
		q.Close()
		if told != 5 || log.count("a hook panicked") != 2 || log.count("in a hook") == 0 || log.count("runtime.Goexit") == 0 {
			t.Errorf("%d events were told", told)
		}
	})
}

// slow is a store that answers when it is told to, or when the caller leaves.
type slow struct {
	store.Store
	asked atomic.Int64
}

func (s *slow) Get(ctx context.Context, _ string, _ store.ID) (store.Record, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return store.Record{}, ctx.Err()
}

// TestCloseEndsWhatIsRead: nothing asks the store when Close has returned. What could not be read
// is told all the same, until it is too late.
func TestCloseEndsWhatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ended []hooks.Finished
		st := &slow{Store: model.New(time.Now)}
		list := []hooks.Hooks{{Finished: func(e hooks.Finished) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, e)
		}}}
		q := hookqueue.New(list, st, logs.NewLimiter(slog.New(slog.DiscardHandler)))
		ids := []store.ID{store.NewID(), store.NewID(), store.NewID()}
		q.Over(ids)
		time.Sleep(6 * time.Second)
		q.Close()
		mu.Lock()
		told := slices.Clone(ended)
		mu.Unlock()
		if len(told) == 0 || told[0].ID != ids[0] || told[0].State != store.Cancelled || st.asked.Load() != 2 {
			t.Errorf("told were %+v, and the store was asked %d times", told, st.asked.Load())
		}
		time.Sleep(time.Minute)
		if st.asked.Load() != 2 {
			t.Error("the store was asked after Close")
		}
	})
}

// TestNoHooks: there is no queue then, and nothing is told.
func TestNoHooks(t *testing.T) {
	var q *hookqueue.Queue
	if hookqueue.New(nil, nil, nil) != nil {
		t.Error("there is a queue")
	}
	claimed, outcome, batch, rescued := &store.Claimed{}, &store.Outcome{Final: store.Completed}, &store.Batch{}, &store.Rescued{}
	if n := testing.AllocsPerRun(10, func() {
		q.Started(claimed, time.Time{}, 0)
		q.Ended(outcome, logs.About{}, 0)
		q.Committed(batch)
		q.Over(nil)
		q.Rescued(rescued)
	}); n != 0 || q.Dropped() != 0 {
		t.Errorf("%v allocations", n)
	}
	q.Close()
}
