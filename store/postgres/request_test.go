package postgres_test

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// keyedUnit is a request that enqueues a job.
func keyedUnit(key string, q *store.Enqueue) *store.Unit {
	hash, asks := sha256.Sum256([]byte(key)), sha256.Sum256([]byte("a job"))
	return &store.Unit{
		Request: &store.KeyedRequest{Hash: hash[:], Print: asks[:], Enqueues: []*store.Enqueue{q}}, Enqueues: []*store.Enqueue{q},
	}
}

// TestManyRequestsAreForgotten: however many were kept long enough, all are removed.
func TestManyRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	const many = 2500
	batch := &store.Batch{}
	for i := range many {
		batch.Add(keyedUnit(strconv.Itoa(i), newJob(at(clock))))
	}
	if err := s.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, config.URL)
	left := func() int { return value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".request") }
	if n := left(); n != many {
		t.Fatalf("%d are kept", n)
	}
	clock.Advance(store.RequestsKept)
	for range 100 {
		retained, err := s.Retain(t.Context(), store.Retention{Completed: 100 * time.Hour, Failed: 100 * time.Hour, Cancelled: 100 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if !retained.More {
			break
		}
	}
	if n := left(); n > 0 {
		t.Errorf("%d are left", n)
	}
}

// TestAFrozenRequestHoldsUpNoOthers: a server has stopped in the middle of the transaction of a
// request. Who repeats it is told so soon, and all else that comes with it is stored.
func TestAFrozenRequestHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	frozen := keyedUnit("frozen", newJob())
	conn := connect(t, config.URL)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO "+config.SchemaName+".request (hash, print, at, answer) VALUES ($1, $2, 1, '')",
		frozen.Request.Hash, frozen.Request.Print); err != nil {
		t.Fatal(err)
	}
	batch := &store.Batch{}
	units := []*store.Unit{keyedUnit("a", newJob()), frozen, keyedUnit("z", newJob()), {Enqueues: []*store.Enqueue{newJob(withKey("k"))}}}
	for _, u := range units {
		batch.Add(u)
	}
	err = s.Apply(t.Context(), batch) // not unavailable, as after LockTimeout
	if _, refused := errors.AsType[*store.RefusedError](err); !refused || !errors.Is(frozen.Request.Err, store.ErrBusy) {
		t.Fatalf("%v; the frozen one: %v", err, frozen.Request.Err)
	}
	for _, u := range []*store.Unit{units[0], units[2]} {
		if u.Request.Err != nil {
			t.Errorf("another one: %v", u.Request.Err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	batch.Reset()
	if err := s.Apply(t.Context(), batch); err != nil {
		t.Errorf("when it is over: %v", err)
	}
}
