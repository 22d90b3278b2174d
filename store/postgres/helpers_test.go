package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

func open(t *testing.T, config postgres.Config) store.Store {
	t.Helper()
	s, err := config.Open(t.Context())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// fresh returns the source of a schema that is the test's own.
func fresh(t *testing.T) postgres.Config {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	return postgres.Config{URL: url, SchemaName: schema, MaxConns: 4}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// value asks for one value.
func value[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func newJob(change ...func(*store.Enqueue)) *store.Enqueue {
	q := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, MaxAttempts: 3, Args: []byte(`{}`),
	}}
	for _, f := range change {
		f(q)
	}
	return q
}

func withKey(key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.UniqueKey, q.Job.UniqueStates = []byte(key), store.Unfinished }
}

func enqueue(t *testing.T, s store.Store, jobs ...*store.Enqueue) {
	t.Helper()
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: jobs}); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	for _, q := range jobs {
		if q.Err != nil {
			t.Fatalf("enqueue: %v", q.Err)
		}
	}
}

func join(t *testing.T, s store.Store) int64 {
	t.Helper()
	node, err := s.Join(t.Context(), store.NodeInfo{Name: "test"})
	if err != nil {
		t.Fatalf("Join: %v", err)
	}
	return node
}

func demand(node, seq int64, limit int) store.ClaimParams {
	return store.ClaimParams{Node: node, Seq: seq, Namespace: "default", Kinds: []string{"send"}, Limit: limit}
}

// apply commits a batch, and repeats what a caller's transaction was in the way of until it is not.
func apply(t *testing.T, s store.Store, batch *store.Batch) error {
	t.Helper()
	for {
		if err := store.ApplyEach(t.Context(), s, batch); err != nil {
			return err
		}
		left := &store.Batch{}
		for _, q := range batch.Sends {
			if errors.Is(q.Err, store.ErrBusy) {
				left.Sends = append(left.Sends, q)
			}
		}
		for _, o := range batch.Outcomes {
			if errors.Is(o.Err, store.ErrBusy) {
				left.Outcomes = append(left.Outcomes, o)
			}
		}
		if left.Len() == 0 {
			return nil
		}
		batch = left
	}
}

func completed(c store.Claimed) *store.Outcome {
	return &store.Outcome{
		Lease: c.Lease, State: store.Completed, HasUnique: c.Job.UniqueKey != nil, HasOrdering: c.Job.OrderingKey != "",
	}
}

func wantState(t *testing.T, s store.Store, id store.ID, want store.State) {
	t.Helper()
	record, err := s.Get(t.Context(), "", id)
	if err != nil || record.State != want {
		t.Fatalf("job is %v (%v), want %v", record.State, err, want)
	}
}

func wantErr(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("%s: error is %v, want %v", what, err, class)
	}
}

// eventually waits for a condition that other processes bring about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(5 * time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within five minutes: %s", what)
		}
	}
}
