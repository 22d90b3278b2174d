package tuning_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/tuning"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

const look = 5 * time.Second

// counting counts looks, some of which fail.
type counting struct {
	store.Store
	looks, fail atomic.Int32
}

func (c *counting) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	c.looks.Add(1)
	if c.fail.Add(-1) >= 0 {
		return nil, store.ErrUnavailable
	}
	return c.Store.AttemptsOfQueues(ctx, namespace)
}

func begin(t *testing.T) (*counting, *tuning.Table) {
	t.Helper()
	st := &counting{Store: model.New(time.Now)}
	table := tuning.New(tuning.Parts{
		Store: st, Namespace: "n", Every: func() time.Duration { return look }, Turn: func() {},
		Outage: logs.NewOutage(slog.New(slog.DiscardHandler)),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		table.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return st, table
}

func set(t *testing.T, st store.Store, namespace string, attempts int) {
	t.Helper()
	p := store.SetQueueParams{Namespace: namespace, Queue: "q", Set: store.AttemptSettings{MaxAttempts: attempts}}
	if _, err := st.SetQueue(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, table *tuning.Table, attempts int) {
	t.Helper()
	if got := table.Of("q"); got.MaxAttempts != attempts {
		t.Errorf("%+v is known, want %d attempts", got, attempts)
	}
}

func TestHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, table := begin(t)
		set(t, st, "n", 3)
		set(t, st, "other", 9)
		synctest.Wait()
		want(t, table, 0)
		table.Heard(store.Wake{Kind: store.WakeReady, Namespace: "n", Queue: "q"}) // which is about jobs
		synctest.Wait()
		want(t, table, 0)
		table.Heard(store.Wake{Kind: store.WakeQueue, Namespace: "n", Queue: "q"})
		synctest.Wait()
		want(t, table, 3)
		set(t, st, "n", 4)
		for range 100 { // many reasons are one look, a moment later
			table.Heard(store.Wake{Kind: store.WakeAll})
		}
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
		synctest.Wait()
		want(t, table, 4)
		if n := st.looks.Load(); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}

// TestUnheard: what no wake-up tells of is found with the next look.
func TestUnheard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, table := begin(t)
		set(t, st, "n", 3)
		time.Sleep(look + time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
		synctest.Wait()
		want(t, table, 3)
	})
}

// TestAway: while the database is away what was known holds, and it is asked again soon.
func TestAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, table := begin(t)
		set(t, st, "n", 3)
		if err := table.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		set(t, st, "n", 4)
		st.fail.Store(2)
		table.Heard(store.Wake{Kind: store.WakeQueue, Namespace: "n", Queue: "q"})
		time.Sleep(900 * time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
		synctest.Wait()
		want(t, table, 3)
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
		synctest.Wait()
		want(t, table, 4)
	})
}
