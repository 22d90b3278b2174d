//go:build soak && unix

package faulttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// gauge looks again and again at how many jobs have a lease at one moment.
type gauge struct {
	t  *testing.T
	hf *holdfast.Client

	mu    sync.Mutex
	most  int // that may have one
	seen  int // the most that had
	wrong error
	looks int
}

// watch looks until ctx ends.
func (g *gauge) watch(ctx context.Context) {
	for ctx.Err() == nil {
		g.mu.Lock()
		before := g.most
		g.mu.Unlock()
		n, err := g.hf.Count(ctx, store.Filter{States: []store.State{store.Running}})
		g.mu.Lock()
		g.looks++
		g.seen = max(g.seen, n.N)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			g.wrong = errors.Join(g.wrong, err)
		case n.N > before && g.wrong == nil: // what is allowed only shrinks once it is so few
			g.wrong = fmt.Errorf("%d jobs have a lease at once, of at most %d", n.N, before)
		}
		g.mu.Unlock()
	}
}

func (g *gauge) allow(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = most
}

// TestLimitHolds kills and freezes processes that run jobs of a limit, and changes its capacity
// meanwhile. At no moment have more jobs a lease than the limit has slots, and all jobs are done.
func TestLimitHolds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const capacity, nodes, jobs, kills, freezes = 6, 3, 300, 4, 2
		ctx := t.Context()
		hf := db.open(t)
		set := func(slots int) {
			t.Helper()
			if _, err := limit.Set(ctx, hf, "narrow", limit.Capacity(slots), limit.Kinds(narrow.Name())); err != nil {
				t.Fatal(err)
			}
		}
		set(capacity)
		var workers []*worker
		start := func() {
			t.Helper()
			workers = append(workers, startWorker(t, workerConfig{
				Role: "narrow", Name: fmt.Sprint("narrow ", len(workers)), Database: db.dsn, Beat: clockBeat, Dead: 2 * time.Second,
			}))
		}
		g := &gauge{t: t, hf: hf, most: capacity}
		watching, stop := context.WithCancel(ctx)
		var watched sync.WaitGroup
		watched.Go(func() { g.watch(watching) })
		defer watched.Wait()
		defer stop()
		for range nodes {
			start()
		}
		random := random(t)
		items := make([]int, jobs)
		for i := range items {
			items[i] = 1 + random.IntN(60)
		}
		if _, err := narrow.EnqueueMany(ctx, hf, items); err != nil {
			t.Fatal(err)
		}
		done := func() int {
			n, err := hf.Count(ctx, store.Filter{States: []store.State{store.Completed}})
			if err != nil {
				t.Fatal(err)
			}
			return n.N
		}
		for i := range kills {
			want := (i + 1) * jobs / (kills + freezes + 3)
			eventually(t, "jobs are done beside kills", func() bool { return done() >= want })
			victim := random.IntN(len(workers))
			workers[victim].Kill()
			workers = append(workers[:victim], workers[victim+1:]...)
			start()
		}
		for range freezes {
			victim := workers[random.IntN(len(workers))]
			if err := victim.Freeze(); err != nil {
				t.Fatal(err)
			}
			linger(ctx, 3*time.Second) // until it is taken for dead
			if err := victim.Thaw(); err != nil {
				t.Fatal(err)
			}
		}
		set(capacity / 2)
		eventually(t, "the nodes hold no more slots than there are", func() bool {
			l, err := limit.Get(ctx, hf, "narrow")
			held := 0
			for _, h := range l.Holders {
				held += h.Slots
			}
			return err == nil && held <= capacity/2
		})
		g.allow(capacity / 2)
		if _, err := narrow.EnqueueMany(ctx, hf, make([]int, 30)); err != nil {
			t.Fatal(err)
		}
		if !comesTrue(patience, func() bool { return done() == jobs+30 }) {
			left, err := hf.List(ctx, store.Filter{States: []store.State{
				store.Available, store.Running, store.Scheduled, store.Retryable, store.Failed,
			}}, "", 20)
			for _, job := range left.Jobs {
				explained, _ := hf.Why(ctx, job.ID)
				t.Error(explained)
			}
			limits, _ := limit.List(ctx, hf)
			t.Fatalf("%d of %d jobs are done; %v; %+v", done(), jobs+30, err, limits)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.wrong != nil {
			t.Error(g.wrong)
		}
		if g.seen < capacity/2 {
			t.Errorf("in %d looks at most %d ran at once", g.looks, g.seen)
		}
	})
}
