package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// longCommit makes a table whose inserts let the commit of their transaction wait for a lock.
var longCommit = []string{
	"CREATE TABLE ledger (note text NOT NULL)",
	`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
	 $$BEGIN PERFORM pg_advisory_xact_lock(47, 11); RETURN NULL; END$$`,
	`CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED
	 FOR EACH ROW EXECUTE FUNCTION hold()`,
}

const (
	lockOfCommits = "SELECT pg_advisory_lock(47, 11)"
	freeCommits   = "SELECT pg_advisory_unlock(47, 11)"
	// The locks of other databases are listed, too, and other tests hold these at the same time.
	whoCommits = `SELECT pid FROM pg_locks
	  WHERE locktype = 'advisory' AND classid = 47 AND objid = 11 AND NOT granted
	  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
)

// books is a durable job that writes a note with a StepTx.
var books = holdfast.NewKind[string, string]("books")

// registerBooks registers its handler, with a pool for its transactions.
func (h *held) registerBooks() {
	h.t.Helper()
	execute(h.t, h.pool, longCommit...)
	p := pool(h.t, h.db.url)
	register(h.t, h.hf, books, func(run *holdfast.Run, note string) (string, error) {
		return holdfast.StepTx(run, "write", postgres.Begin(p), func(ctx context.Context, tx pgx.Tx) (string, error) {
			_, err := tx.Exec(ctx, "INSERT INTO ledger VALUES ($1)", note)
			return note, err
		})
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
}

// beginBooks lets a StepTx begin that does not end until it is told: its commit waits, with all
// that its transaction holds.
func (h *held) beginBooks() *holdfast.Job[string] {
	h.t.Helper()
	keeper := connect(h.t, h.db.url)
	if _, err := keeper.Exec(h.t.Context(), lockOfCommits); err != nil {
		h.t.Fatal(err)
	}
	job := enqueue(h.t, h.producer, books, "note")
	h.begun = time.Now()
	pid := 0
	eventually(h.t, "the step commits", func() bool {
		return h.pool.QueryRow(h.t.Context(), whoCommits).Scan(&pid) == nil
	})
	h.end = func(commit bool) {
		ctx := context.WithoutCancel(h.t.Context())
		var err error
		if !commit {
			_, err = h.pool.Exec(ctx, "SELECT pg_terminate_backend($1)", pid)
		}
		if _, freed := keeper.Exec(ctx, freeCommits); err != nil || freed != nil {
			h.t.Errorf("ending the step: %v, %v", err, freed)
		}
	}
	return job
}

// TestHeldStepTx keeps the transaction of a StepTx open. A rollback lets the step be tried again.
func TestHeldStepTx(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(map[bool]string{true: "commit", false: "rollback"}[commits], func(t *testing.T) {
			t.Parallel()
			h := newHeld(t)
			h.registerBooks()
			work(t, h.hf)
			job := h.beginBooks()
			h.others.pass(h.hf, patience)
			h.end(commits)
			endsAs(h, job, "note")
			if n := value[int](t, h.pool, "SELECT count(*) FROM ledger"); n != 1 {
				t.Errorf("the step has written %d times", n)
			}
		})
	}
}

// TestNodesWhileAStepIsHeld lets nodes die and leave, and jobs be terminated, while the StepTx
// of another job is open.
func TestNodesWhileAStepIsHeld(t *testing.T) {
	t.Parallel()
	const beat, dead = 200 * time.Millisecond, 8 * time.Second // longer than one that lives stands still
	lingers := holdfast.NewKind[int, int]("lingers")
	for name, play := range map[string]func(h *held, running chan holdfast.ID){
		"a node dies": func(h *held, _ chan holdfast.ID) {
			w := startWorker(h.t, workerConfig{Role: "hold", Database: h.db.dsn, Beat: beat, Dead: dead})
			job := enqueue(h.t, h.producer, holding, 0)
			w.awaitRun(job.ID)
			w.Kill()
			eventually(h.t, "its job is taken from it", func() bool { return get(h.t, h.producer, job.ID).State != store.Running })
			startWorker(h.t, workerConfig{Role: "hold", Database: h.db.dsn})
			ends(h.t, h.producer, job.ID, store.Completed)
		},
		"a node leaves": func(h *held, running chan holdfast.ID) {
			leaver := h.db.open(h.t, holdfast.WithQueue("leaver", 10))
			register(h.t, leaver, lingers, h.linger(running))
			n := work(h.t, leaver)
			job := enqueue(h.t, h.producer, lingers, 0, holdfast.Queue("leaver"))
			receive(h.t, "the job runs", running)
			left := make(chan struct{})
			go func() {
				n.stop()
				close(left)
			}()
			receive(h.t, "the node leaves", left)
			if r := get(h.t, h.producer, job.ID); r.State != store.Available {
				h.t.Errorf("the job of a node that has left: %s", told(r))
			}
		},
		"a job of the node is terminated": func(h *held, running chan holdfast.ID) {
			job := enqueue(h.t, h.producer, lingers, 0)
			receive(h.t, "the job runs", running)
			ended := make(chan error, 1)
			go func() {
				results, err := h.producer.Terminate(context.WithoutCancel(h.t.Context()), "enough", job.ID)
				if err == nil {
					err = results[0].Err
				}
				ended <- err
			}()
			if err := receive(h.t, "the job is terminated", ended); err != nil {
				h.t.Fatal(err)
			}
			ends(h.t, h.producer, job.ID, store.Cancelled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onPostgres(t)
			h := &held{
				t: t, db: db, pool: pool(t, db.url), producer: db.open(t),
				hf: db.open(t, holdfast.WithLeases(beat, dead), holdfast.WithQueue("default", 0)),
			}
			h.registerBooks()
			running := make(chan holdfast.ID, 10)
			register(t, h.hf, lingers, h.linger(running))
			work(t, h.hf)
			job := h.beginBooks()
			t.Cleanup(func() { h.end(true) })
			play(h, running)
			if !t.Failed() {
				if r := get(t, h.producer, job.ID); r.State != store.Running || r.Lease.Number != 1 {
					t.Errorf("the job whose step is held: %s", told(r))
				}
			}
			h.end(true)
			endsAs(h, job, "note")
		})
	}
}

// linger is a handler that tells that it runs, and goes on until its context ends.
func (h *held) linger(running chan<- holdfast.ID) func(*holdfast.Run, int) (int, error) {
	return func(run *holdfast.Run, _ int) (int, error) {
		running <- run.ID()
		<-run.Done()
		return 0, context.Cause(run)
	}
}
