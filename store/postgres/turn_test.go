package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// stopOnce makes the first transaction that records what a person has done wait before it commits,
// until nobody holds the advisory lock of the schema.
const stopOnce = `
	CREATE SEQUENCE {schema}.tries;
	CREATE FUNCTION {schema}.stop() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval('{schema}.tries') = 1 THEN
			WHILE NOT pg_try_advisory_xact_lock(hashtext('{schema}')) LOOP
				PERFORM pg_sleep(0.001);
			END LOOP;
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON {schema}.audit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION {schema}.stop()`

// onTurns are what people do to a job that has failed and keeps the turn of its ordering key.
var onTurns = map[string]func(ctx context.Context, s store.Store, job store.ID) error{
	"skip": func(ctx context.Context, s store.Store, job store.ID) error {
		_, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{job}, Skip: true})
		return err
	},
	"cancel": func(ctx context.Context, s store.Store, job store.ID) error {
		_, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{job}})
		return err
	},
	"retry": func(ctx context.Context, s store.Store, job store.ID) error {
		_, _, err := s.Retry(ctx, store.RetryParams{Jobs: []store.ID{job}})
		return err
	},
	"resume": func(ctx context.Context, s store.Store, job store.ID) error {
		_, _, err := s.Resume(ctx, store.ResumeParams{Job: job, Keep: -1, Expect: -1})
		return err
	},
	"delete": func(ctx context.Context, s store.Store, job store.ID) error {
		_, _, err := s.Delete(ctx, store.DeleteParams{Jobs: []store.ID{job}})
		return err
	},
}

// TestOneRunsWhoeverActsOnAKeptTurn: one person is about to commit what was done to a job that has
// failed and keeps its turn, and another does something else to it, which waits for that. The job
// and the one behind it never run together, and that one runs in the end.
func TestOneRunsWhoeverActsOnAKeptTurn(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	observer := connect(t, config.URL)
	exec := func(sql string) {
		t.Helper()
		if _, err := observer.Exec(t.Context(), strings.ReplaceAll(sql, "{schema}", pgx.Identifier{config.SchemaName}.Sanitize())); err != nil {
			t.Fatal(err)
		}
	}
	exec(stopOnce)
	k := &turns{s: s, node: join(t, s)}
	tries := "SELECT is_called FROM " + config.SchemaName + ".tries"
	waits := `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')`
	for before, first := range onTurns {
		for after, second := range onTurns {
			name := fmt.Sprintf("%s, then %s", before, after)
			jobs := k.stuck(t)
			exec(`SELECT pg_advisory_lock(hashtext('{schema}')), setval('{schema}.tries', 1, false)`)
			ends := make(chan error, 2)
			go func() { ends <- first(context.Background(), s, jobs[0]) }()
			eventually(t, name+": the first is about to commit", func() bool { return value[bool](t, observer, tries) })
			go func() { ends <- second(context.Background(), s, jobs[0]) }()
			eventually(t, name+": the second waits", func() bool {
				return len(ends) > 0 || value[bool](t, observer, waits, config.SchemaName)
			})
			exec(`SELECT pg_advisory_unlock(hashtext('{schema}'))`)
			for range 2 {
				if err := <-ends; err != nil {
					t.Logf("%s: %v", name, err)
				}
			}
			k.drain(t, name)
			if err := onTurns["cancel"](t.Context(), s, jobs[0]); err != nil { // it may keep its turn still
				t.Fatal(err)
			}
			k.drain(t, name)
			wantState(t, s, jobs[1], store.Completed)
		}
	}
}

// turns is a node that runs jobs of one ordering key that keep their turns.
type turns struct {
	s    store.Store
	node int64
	seq  int64
}

// stuck returns a job that has failed and keeps its turn, and one behind it.
func (k *turns) stuck(t *testing.T) (jobs []store.ID) {
	t.Helper()
	for range 2 {
		q := newJob(func(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Options.KeepTurn = "k", true })
		enqueue(t, k.s, q)
		jobs = append(jobs, q.Job.ID)
	}
	runs := k.claim(t)
	if len(runs) != 1 || runs[0].Job.ID != jobs[0] {
		t.Fatalf("claimed %+v, want the first job", runs)
	}
	o := completed(runs[0])
	o.State, o.Reason, o.Error = store.Failed, store.ReasonError, "no"
	k.end(t, o)
	return jobs
}

// claim claims what may run.
func (k *turns) claim(t *testing.T) []store.Claimed {
	t.Helper()
	if _, err := k.s.Promote(t.Context(), 100); err != nil {
		t.Fatalf("Promote: %v", err)
	}
	k.seq++
	runs, err := k.s.Claim(t.Context(), demand(k.node, k.seq, 10))
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	return runs
}

// drain completes all that runs, one job at a time.
func (k *turns) drain(t *testing.T, name string) {
	t.Helper()
	for runs := k.claim(t); len(runs) > 0; runs = k.claim(t) {
		if len(runs) > 1 {
			t.Fatalf("%s: %v and %v run at once", name, runs[0].Job.ID, runs[1].Job.ID)
		}
		k.end(t, completed(runs[0]))
	}
}

func (k *turns) end(t *testing.T, o *store.Outcome) {
	t.Helper()
	if err := store.ApplyEach(t.Context(), k.s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatalf("outcome: %v, %v", err, o.Err)
	}
}
