package faulttest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
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

// linger is a handler that tells that it runs, and goes on until its context ends.
func (h *held) linger(running chan<- holdfast.ID) func(*holdfast.Run, int) (int, error) {
	return func(run *holdfast.Run, _ int) (int, error) {
		running <- run.ID()
		<-run.Done()
		return 0, context.Cause(run)
	}
}
