package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestUpgrade: what the first version stored is all there, and goes on.
func TestUpgrade(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	source := sqlite.File(path)
	available, retryable, failed := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	for _, statement := range []struct {
		text string
		args []any
	}{
		{text: source.Migrations()[0].SQL},
		{text: "INSERT INTO holdfast_queue (id, namespace, name, created_at) VALUES (1, 'default', 'mail', 1)"},
		{text: "INSERT INTO holdfast_lane (id, queue, kind, priority) VALUES (1, 1, 'send', 2)"},
		{
			text: `INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, options, args)
				VALUES (?, 1, 10, 1, 0, 0, 3, 0, '{"parent":"p"}', '{}'), (?, 1, 20, 1, 1, 1, 3, 0, NULL, '{}'), (?, 1, 30, 1, 1, 1, 3, 0, NULL, '{}')`,
			args: []any{available[:], retryable[:], failed[:]},
		},
		{text: "INSERT INTO holdfast_ready (lane, run_at, id) VALUES (1, 10, ?)", args: []any{available[:]}},
		{text: "INSERT INTO holdfast_deferred (due, id, lane, state) VALUES (20, ?, 1, 4)", args: []any{retryable[:]}},
		{
			text: `INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, reason, error)
				VALUES (?, 7, 9, 2, 1, 8, 'error', 'no')`,
			args: []any{failed[:]},
		},
		{
			text: `INSERT INTO holdfast_attempt (id, lease, attempt, node, claimed_at, ended_at, outcome, taken, reason, error)
				VALUES (?, 1, 1, 1, 5, 6, 4, 0, 'error', 'oh'), (?, 2, 2, 1, 8, 9, 7, 0, 'error', 'no')`,
			args: []any{retryable[:], failed[:]},
		},
	} {
		if _, err := db.ExecContext(ctx, statement.text, statement.args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, source)
	for _, want := range []store.Record{
		{Job: store.Job{ID: available}, State: store.Available},
		{Job: store.Job{ID: retryable, Attempt: 1, LeaseNumber: 1}, State: store.Retryable, Error: "oh", ClaimedAt: time.UnixMicro(5)},
		{Job: store.Job{ID: failed, Attempt: 2, LeaseNumber: 2}, State: store.Failed, Error: "no", ClaimedAt: time.UnixMicro(8)},
	} {
		got, err := s.Get(ctx, want.ID)
		if err != nil || got.State != want.State || got.Error != want.Error || got.Attempt != want.Attempt ||
			got.LeaseNumber != want.LeaseNumber || !got.ClaimedAt.Equal(want.ClaimedAt) || got.Queue != "mail" || got.Kind != "send" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := s.Retry(ctx, store.RetryParams{Jobs: []store.ID{failed}}); err != nil {
		t.Fatal(err)
	}
	if promoted, err := s.Promote(ctx, 10); err != nil || promoted.Jobs != 1 {
		t.Fatalf("promoted %+v, %v", promoted, err)
	}
	claimed, err := claim(ctx, s, join(t, s), 1, 10)
	if err != nil || len(claimed) != 3 {
		t.Fatalf("claimed %d jobs, %v", len(claimed), err)
	}
	for _, c := range claimed {
		if c.Durable || c.Job.Parent != uuid.Nil || c.Job.Answers || c.Job.Closing {
			t.Errorf("claimed %+v", c)
		}
	}
}
