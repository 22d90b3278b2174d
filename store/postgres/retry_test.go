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

// fail makes jobs fail that are available.
func fail(t *testing.T, s store.Store, jobs ...*store.Enqueue) {
	t.Helper()
	enqueue(t, s, jobs...)
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, len(jobs)))
	if err != nil || len(runs) != len(jobs) {
		t.Fatalf("claimed %d of %d jobs, %v", len(runs), len(jobs), err)
	}
	batch := &store.Batch{}
	for _, run := range runs {
		o := completed(run)
		o.State, o.Reason, o.Error = store.Failed, store.ReasonError, "no"
		batch.Outcomes = append(batch.Outcomes, o)
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	for _, q := range jobs {
		wantState(t, s, q.Job.ID, store.Failed)
	}
}

// heldKeys are the keys that a job may want which a caller's transaction is inserting.
var heldKeys = map[string]func(key string) func(*store.Enqueue){
	"unique":   withKey,
	"business": func(key string) func(*store.Enqueue) { return named(key, 0) },
}

// failedBesideKeys makes jobs fail, of which some want keys that a transaction of a caller is
// inserting meanwhile. It returns how that ends.
func failedBesideKeys(t *testing.T, s store.Store, url, schema string, withKeys, others []*store.Enqueue) (commit, rollback func() error) {
	t.Helper()
	fail(t, s, append(append([]*store.Enqueue{}, withKeys...), others...)...)
	// As if a day could not be dropped whose keys were settled.
	if _, err := connect(t, url).Exec(t.Context(), "DELETE FROM "+schema+".job_key"); err != nil {
		t.Fatal(err)
	}
	tx, commit, rollback := callers["pgx"](t, url)
	var theirs []*store.Enqueue
	for _, q := range withKeys {
		theirs = append(theirs, newJob(func(their *store.Enqueue) {
			their.Job.UniqueKey, their.Job.UniqueStates, their.Job.Options = q.Job.UniqueKey, q.Job.UniqueStates, q.Job.Options
		}))
	}
	if err := s.EnqueueTx(t.Context(), tx, theirs); err != nil {
		t.Fatal(err)
	}
	for _, q := range theirs {
		if q.Err != nil || q.Result.Existing {
			t.Fatalf("EnqueueTx: %+v, %v", q.Result, q.Err)
		}
	}
	return commit, rollback
}

// TestRetryBesideAKeyThatIsInserted: a job whose key a caller's transaction is inserting is busy.
// The others run again, wherever they are in the list.
func TestRetryBesideAKeyThatIsInserted(t *testing.T) {
	t.Parallel()
	for name, key := range heldKeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, url, w := counted(t)
			s := open(t, config)
			held := []*store.Enqueue{newJob(key("a")), newJob(key("b"))}
			others := several(10)
			_, rollback := failedBesideKeys(t, s, url, config.SchemaName, held, others)
			ids := []store.ID{held[0].Job.ID}
			for _, q := range others {
				ids = append(ids, q.Job.ID)
			}
			ids = append(ids, held[1].Job.ID)
			w.take()
			results, _, err := s.Retry(t.Context(), store.RetryParams{Jobs: ids, Actor: "ada"})
			if err != nil || len(results) != len(ids) {
				t.Fatalf("Retry: %d results, %v", len(results), err)
			}
			if n, _ := w.take(); n == 0 {
				t.Error("it has not waited, and met no key")
			}
			last := len(ids) - 1
			for _, r := range []store.Result{results[0], results[last]} {
				wantErr(t, "to retry a job whose key is held", r.Err, store.ErrBusy)
				wantState(t, s, r.Job, store.Failed)
			}
			for _, r := range results[1:last] {
				if r.Err != nil || r.State != store.Available {
					t.Errorf("a job without a key: %+v", r)
				}
				wantState(t, s, r.Job, store.Available)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			results, _, err = s.Retry(t.Context(), store.RetryParams{Jobs: []store.ID{ids[0], ids[last]}, Actor: "ada"})
			if err != nil || results[0].Err != nil || results[1].Err != nil {
				t.Errorf("Retry when the keys are free: %+v, %v", results, err)
			}
		})
	}
}

// TestResumeBesideAKeyThatIsInserted: so it is with a finished job that goes on or starts over.
func TestResumeBesideAKeyThatIsInserted(t *testing.T) {
	t.Parallel()
	for name, key := range heldKeys {
		for how, over := range map[string]*store.Continue{"goes on": nil, "starts over": {Args: []byte(`{}`)}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				config := fresh(t)
				s := open(t, config)
				job := newJob(key("k"))
				_, rollback := failedBesideKeys(t, s, config.URL, config.SchemaName, []*store.Enqueue{job}, nil)
				resume := store.ResumeParams{Job: job.Job.ID, Expect: -1, Keep: -1, Continue: over}
				_, _, err := s.Resume(t.Context(), resume)
				wantErr(t, "to resume a job whose key is held", err, store.ErrBusy)
				wantState(t, s, job.Job.ID, store.Failed)
				if err := rollback(); err != nil {
					t.Fatal(err)
				}
				if state, _, err := s.Resume(t.Context(), resume); err != nil || state != store.Available {
					t.Errorf("Resume when the key is free: %v, %v", state, err)
				}
			})
		}
	}
}
