package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// sticking is a database whose pool has so many connections.
func sticking(t *testing.T, conns int32) *pg.DB {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.Shared(t).URL(""))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = conns
	db, err := pg.Dial(t.Context(), config, pg.Options{SchemaName: "holdfast"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(true) })
	db.Texts = maps.Clone(db.Texts)
	db.Texts["pid"] = "SELECT pg_backend_pid()"
	db.Texts["sleep"] = "SELECT pg_backend_pid() FROM pg_sleep(100)"
	return db
}

// pidOf is the connection by which a call of a kind goes.
func pidOf(t *testing.T, db *pg.DB, kind *pg.Sticky) (pid int32) {
	t.Helper()
	each := func(r pg.Row) error { return r.Scan(&pid) }
	if err := db.SendSticky(t.Context(), kind, pg.Statement{Name: "pid", Each: each}); err != nil {
		t.Fatal(err)
	}
	return pid
}

// sleeping begins a call of a kind, and returns when it is under way by the connection that is
// kept.
func sleeping(t *testing.T, db *pg.DB, kind *pg.Sticky) (ended <-chan error, watcher *pgx.Conn, pid int32) {
	t.Helper()
	watcher, pid = connect(t, pgtest.Shared(t).URL("")), pidOf(t, db, kind)
	done := make(chan error, 1)
	go func() { done <- db.SendSticky(t.Context(), kind, pg.Statement{Name: "sleep"}) }()
	eventually(t, "the call is under way", func() bool {
		return value[bool](t, watcher, "SELECT coalesce(wait_event = 'PgSleep', false) FROM pg_stat_activity WHERE pid = $1", pid)
	})
	return done, watcher, pid
}

// holding calls f while so many connections are in use.
func holding(t *testing.T, db *pg.DB, n int, f func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	err := db.Conns.With(ctx, func(*pgx.Conn) error {
		if n > 1 {
			holding(t, db, n-1, f)
		} else {
			f()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCallsKeepTheirConnection: calls of a kind that follow each other go by one connection,
// whatever others do meanwhile; one that comes while another is under way does not wait for it.
func TestCallsKeepTheirConnection(t *testing.T) {
	t.Parallel()
	db := sticking(t, 6)
	for round := 0; ; round++ {
		began := time.Now()
		var before, after [2]int32
		kinds := [2]*pg.Sticky{&db.Claiming, &db.Granting}
		holding(t, db, 2, func() {
			for i, kind := range kinds {
				before[i] = pidOf(t, db, kind)
			}
		})
		holding(t, db, 1, func() {
			for i, kind := range kinds {
				after[i] = pidOf(t, db, kind)
			}
		})
		if before == after && before[0] != before[1] {
			break
		}
		if time.Since(began) < 4*time.Second || round > 10 { // else they may have been given back
			t.Fatalf("two kinds went by %v, and then by %v", before, after)
		}
	}
	done, watcher, pid := sleeping(t, db, &db.Claiming)
	if other := pidOf(t, db, &db.Claiming); other == pid || len(done) > 0 {
		t.Error("a call has waited for the one before")
	}
	value[bool](t, watcher, "SELECT pg_cancel_backend($1)", pid)
	if err := <-done; err == nil {
		t.Error("what is cancelled succeeds")
	}
	pidOf(t, db, &db.Claiming)
}

// TestKindsKeep: claims, calls for slots and writes are such kinds.
func TestKindsKeep(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	config.MaxConns = 8
	s := open(t, config)
	l := store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 5}}
	l, err := s.SaveLimit(t.Context(), l, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	node := join(t, s)
	for kind, call := range map[string]func(n int64) error{
		"claims": func(n int64) error { _, err := s.Claim(t.Context(), demand(node, n, 1)); return err },
		"slots": func(n int64) error {
			asks := []store.LimitAsk{{Limit: l.ID, Version: l.Version, Want: 3}}
			_, err := s.Grant(t.Context(), store.GrantParams{Node: node, Call: n, Asks: asks})
			return err
		},
		"writes": func(int64) error {
			return store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}})
		},
	} {
		if before := postgres.Keeps(s); slices.Contains(before, kind) {
			t.Errorf("%s: before the call %v have connections", kind, before)
		}
		var n int64
		inTime(t, kind, func(context.Context) error {
			n++
			if err := call(n); err != nil {
				t.Fatal(err)
			}
			if kept := postgres.Keeps(s); !slices.Contains(kept, kind) {
				return fmt.Errorf("after the call %v have connections", kept)
			}
			return nil
		})
	}
}

// TestAKeptConnectionBreaks: the call after that tells of it, and the next one has another. One
// whose context has ended does nothing.
func TestAKeptConnectionBreaks(t *testing.T) {
	t.Parallel()
	db := sticking(t, 6)
	pid := pidOf(t, db, &db.Claiming)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.SendSticky(ended, &db.Claiming, pg.Statement{Name: "pid"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call in a context that has ended: %v", err)
	}
	value[bool](t, connect(t, pgtest.Shared(t).URL("")), "SELECT pg_terminate_backend($1, 10000)", pid)
	err := db.SendSticky(t.Context(), &db.Claiming, pg.Statement{Name: "pid"})
	if next := pidOf(t, db, &db.Claiming); next == pid {
		t.Errorf("after %v the next call went by the connection that had ended", err)
	}
}

// TestKeptConnectionsAreGivenBack: a small pool is kept free, and of another one what is not in use
// is given back after a while, and at once when the pool has no other.
func TestKeptConnectionsAreGivenBack(t *testing.T) {
	t.Parallel()
	small := sticking(t, 5)
	pidOf(t, small, &small.Claiming)
	if !small.Conns.HasIdle() {
		t.Error("of a pool of 5 a call keeps its connection")
	}
	db := sticking(t, 6)
	pidOf(t, db, &db.Claiming)
	eventually(t, "what nothing uses is given back", db.Conns.HasIdle)
	inTime(t, "the pool has no other, and what is kept and not in use is given back", func(ctx context.Context) error {
		pidOf(t, db, &db.Claiming)
		var err error
		holding(t, db, 5, func() { err = db.Conns.With(ctx, func(*pgx.Conn) error { return nil }) })
		return err
	})
	inTime(t, "so it is for a call of another kind", func(ctx context.Context) error {
		pidOf(t, db, &db.Claiming)
		var err error
		holding(t, db, 5, func() { err = db.SendSticky(ctx, &db.Writing, pg.Statement{Name: "pid"}) })
		return err
	})
	busy, rest := context.WithCancel(t.Context())
	defer rest()
	var calls sync.WaitGroup
	for _, kind := range []*pg.Sticky{&db.Claiming, &db.Writing} { // they keep theirs for as long as nothing else needs it
		pidOf(t, db, kind)
		calls.Go(func() {
			for busy.Err() == nil {
				_ = db.SendSticky(busy, kind, pg.Statement{Name: "pid"}) // rest may end it
			}
		})
	}
	holding(t, db, 6, rest)
	calls.Wait()
}

// TestKeptConnectionsEnd: what is kept does not hold up the end, in use or not.
func TestKeptConnectionsEnd(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		inTime(t, fmt.Sprintf("a call is under way: %v", busy), func(ctx context.Context) error {
			db := sticking(t, 6)
			pidOf(t, db, &db.Writing)
			var done <-chan error
			if busy {
				done, _, _ = sleeping(t, db, &db.Granting)
			}
			closed := make(chan struct{})
			go func() {
				db.Close(true)
				close(closed)
			}()
			select {
			case <-closed:
			case <-ctx.Done():
			}
			<-closed
			if busy && <-done == nil {
				t.Error("a call outlives the database")
			}
			if err := db.SendSticky(t.Context(), &db.Claiming, pg.Statement{Name: "pid"}); err == nil {
				t.Error("a call after the end succeeds")
			}
			return ctx.Err()
		})
	}
}

// inTime tries f, which is to end before what is kept and not used is given back in any case. A
// machine that stands still for a while may need several.
func inTime(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	var err error
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		err = f(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	t.Errorf("%s: %v", what, err)
}
