package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// collideOnce makes the first transaction that is on record as a person's doing collide as it
// commits, half a second later.
const collideOnce = `
	CREATE SEQUENCE {schema}.tries;
	CREATE FUNCTION {schema}.collide() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval('{schema}.tries') = 1 THEN
			PERFORM pg_sleep(0.5);
			RAISE EXCEPTION 'a collision' USING ERRCODE = 'serialization_failure';
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER collide AFTER INSERT ON {schema}.audit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION {schema}.collide()`

// TestARetryThatCollides tells what became of the job in the end: when it was done again somebody
// else had it.
func TestARetryThatCollides(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	run := start(t, s, join(t, s), 1)
	o := &store.Outcome{Lease: run.Lease, State: store.Failed, Reason: store.ReasonError}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	observer := connect(t, config.URL)
	inSchema := func(sql string) string {
		return strings.ReplaceAll(sql, "{schema}", pgx.Identifier{config.SchemaName}.Sanitize())
	}
	if _, err := observer.Exec(t.Context(), inSchema(collideOnce)); err != nil {
		t.Fatal(err)
	}
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
	tx, err := observer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), inSchema(`SELECT 1 FROM {schema}.job WHERE id = $1 FOR UPDATE`), run.Job.ID.String()); err != nil {
		t.Fatal(err)
	}
	r := <-retried
	wantErr(t, "Retry", r.Err, store.ErrBusy)
	if r.State != store.Failed {
		t.Errorf("the job is said to be %s", r.State)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, run.Job.ID, store.Failed)
}
