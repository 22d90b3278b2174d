package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// collideOnce makes the first transaction that is on record as a person's doing collide as it
// commits, once nobody holds the advisory lock of the schema.
const collideOnce = `
	CREATE SEQUENCE {schema}.tries;
	CREATE FUNCTION {schema}.collide() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval('{schema}.tries') = 1 THEN
			WHILE NOT pg_try_advisory_xact_lock(hashtext('{schema}')) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
			RAISE EXCEPTION 'a collision' USING ERRCODE = 'serialization_failure';
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER collide AFTER INSERT ON {schema}.audit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION {schema}.collide()`

// TestARetryThatCollides tells what became of the job in the end: when it was done again a caller
// had it.
func TestARetryThatCollides(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	node := join(t, s)
	caller, observer := connect(t, config.URL), connect(t, config.URL)
	inSchema := func(sql string) string {
		return strings.ReplaceAll(sql, "{schema}", pgx.Identifier{config.SchemaName}.Sanitize())
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := observer.Exec(t.Context(), inSchema(sql)); err != nil {
			t.Fatal(err)
		}
	}
	exec(collideOnce)
	// The caller stands in line for the job when the first try gives it back, but the second try
	// may be faster.
	for n := range int64(20) {
		run := start(t, s, node, n+1)
		o := &store.Outcome{Lease: run.Lease, State: store.Failed, Reason: store.ReasonError}
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
		exec(`SELECT pg_advisory_lock(hashtext('{schema}')), setval('{schema}.tries', 1, false)`)
		retried := make(chan store.Result)
		go func() {
			results, _, err := s.Retry(context.Background(), store.RetryParams{Jobs: []store.ID{run.Job.ID}})
			if err != nil || len(results) != 1 {
				t.Errorf("Retry: %v, %v", results, err)
				results = make([]store.Result, 1)
			}
			retried <- results[0]
		}()
		eventually(t, "the first try ends", func() bool { return value[bool](t, observer, inSchema(`SELECT is_called FROM {schema}.tries`)) })
		tx, err := caller.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		locked := make(chan error)
		go func() {
			_, err := tx.Exec(context.Background(), inSchema(`SELECT 1 FROM {schema}.job WHERE id = $1 FOR UPDATE`), run.Job.ID.String())
			locked <- err
		}()
		eventually(t, "the caller waits for the job", func() bool {
			return value[bool](t, observer, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, caller.PgConn().PID())
		})
		exec(`SELECT pg_advisory_unlock(hashtext('{schema}'))`)
		r, err := <-retried, <-locked
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.Err == nil {
			wantState(t, s, run.Job.ID, store.Available)
			if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		wantErr(t, "Retry", r.Err, store.ErrBusy)
		if r.State != store.Failed {
			t.Errorf("the job is said to be %s", r.State)
		}
		wantState(t, s, run.Job.ID, store.Failed)
		return
	}
	t.Error("the caller never had the job when the retry was done again")
}
