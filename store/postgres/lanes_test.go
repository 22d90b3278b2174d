package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// inQueue puts a job into a queue of its own.
func inQueue(name string, priority int) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Queue, q.Job.Priority = name, priority }
}

// TestOrderOfManyLanes: however many lanes have work, and however it is spread over them, jobs are
// claimed in the order of the whole.
func TestOrderOfManyLanes(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, fresh(t), 40)
	random := rand.New(rand.NewPCG(1, 2))
	base := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	var jobs []*store.Enqueue
	for i := range 900 {
		lane := random.IntN(150)
		if i%3 == 0 {
			lane = i % 4 // a few have many
		}
		jobs = append(jobs, newJob(inQueue(fmt.Sprint("q", lane), 1+lane%2), func(q *store.Enqueue) {
			q.Job.RunAt = base.Add(time.Duration(random.IntN(1_000_000)) * time.Microsecond)
		}))
	}
	enqueue(t, c.store, jobs...)
	slices.SortFunc(jobs, func(a, b *store.Enqueue) int {
		if a.Job.Priority != b.Job.Priority {
			return a.Job.Priority - b.Job.Priority
		}
		if !a.Job.RunAt.Equal(b.Job.RunAt) {
			return a.Job.RunAt.Compare(b.Job.RunAt)
		}
		return bytes.Compare(a.Job.ID[:], b.Job.ID[:])
	})
	for n := 0; len(jobs) > 0; n++ {
		c.want(fmt.Sprint("claim ", n), jobs[:min(40, len(jobs))]...)
		jobs = jobs[min(40, len(jobs)):]
	}
	c.want("nothing is left")
}

// TestALaneThatGetsWork while others keep the claimer busy is seen at once if this process put it
// there or another one told of it.
func TestALaneThatGetsWork(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClaimer(t, fresh(t), 2)
			w := watch(t, c.store)
			eventually(t, "wake-ups", func() bool { return c.store.Traits().Wakeups })
			enqueue(t, c.store, newJob(inQueue("new", 1)))
			c.claim()
			jobs := several(8)
			enqueue(t, c.store, jobs...)
			c.want("others", jobs[:2]...)
			urgent := newJob(inQueue("new", 1))
			if !other {
				enqueue(t, c.store, urgent)
			} else {
				enqueue(t, c.other, urgent)
				c.other.Notify(store.Wake{Kind: store.WakeReady, Namespace: urgent.Job.Namespace, Queue: "new"})
				eventually(t, "the wake-up", func() bool { return w.count(ofQueue("new")) > 0 })
			}
			c.want("the new one", urgent, jobs[2])
		})
	}
}

// TestALateCommitIsTold: a transaction of a caller that was long tells where it put its jobs, all
// of which are taken before others.
func TestALateCommitIsTold(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	c := newClaimer(t, config, 2)
	w := watch(t, c.store)
	eventually(t, "wake-ups", func() bool { return c.store.Traits().Wakeups })
	enqueue(t, c.store, newJob())
	c.claim()
	behind, jobs := several(5), several(8)
	tx, commit, _ := callers["pgx"](t, config.URL)
	if err := c.other.EnqueueTx(t.Context(), tx, behind); err != nil {
		t.Fatal(err)
	}
	enqueue(t, c.store, jobs...)
	c.want("the first", jobs[:2]...)
	c.want("and the next", jobs[2:4]...)
	before := w.count(ofQueue(behind[0].Job.Queue))
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the wake-up", func() bool { return w.count(ofQueue(behind[0].Job.Queue)) > before })
	c.want("what came late", behind[:2]...)
	c.want("more of it", behind[2:4]...)
	c.want("the last of it", behind[4], jobs[4])
	c.want("and then it goes on", jobs[5:7]...)
	c.want("to the end", jobs[7])
}

// TestMoreLanesThanAreRemembered come with one batch, again and again, and are claimed as ever.
func TestMoreLanesThanAreRemembered(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	c := newClaimer(t, config, 100)
	postgres.KeepLanes(c.store, 4)
	for round := range 2 {
		var jobs []*store.Enqueue
		for i := range 9 {
			jobs = append(jobs, newJob(inQueue(fmt.Sprint("q", i), 1)))
		}
		enqueue(t, c.store, jobs[:6]...)
		tx, commit, _ := callers["pgx"](t, config.URL)
		if err := c.store.EnqueueTx(t.Context(), tx, jobs[6:]); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil {
			t.Fatal(err)
		}
		postgres.KeepLanes(c.store, 20) // a claim has to know those of its jobs
		c.want(fmt.Sprint("round ", round), jobs...)
		postgres.KeepLanes(c.store, 4)
	}
}

// TestMidnightOpensOneConnection, however many transactions of callers want the same lane, and no
// longer know whether it is there.
func TestMidnightOpensOneConnection(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	settings, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int32
	var down atomic.Bool
	dial := settings.ConnConfig.DialFunc
	settings.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1); down.Load() {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // it takes that long to fail
			return nil, errors.New("refused")
		}
		return dial(ctx, network, address)
	}
	settings.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	clock := &hand{at: time.Now()}
	s := open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName, Clock: clock.now})
	enqueue(t, s, newJob())
	clock.move(24*time.Hour, 0)
	enqueueAtOnce := func(class error) int {
		var txs []store.Tx
		for range 12 {
			tx, _, _ := callers["pgx"](t, config.URL)
			txs = append(txs, tx)
		}
		before := dials.Load()
		var done sync.WaitGroup
		for _, tx := range txs {
			done.Go(func() {
				if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob()}); !errors.Is(err, class) {
					t.Errorf("EnqueueTx: %v, want %v", err, class)
				}
			})
		}
		done.Wait()
		return int(dials.Load() - before)
	}
	down.Store(true)
	if n := enqueueAtOnce(store.ErrUnavailable); n == 12 {
		t.Error("all tried although one had found the server away")
	}
	down.Store(false)
	if n := enqueueAtOnce(nil); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}
