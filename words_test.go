package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/saidonce"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// said is the error of a client's call. It has {job} in place of the job's id.
type said struct {
	job  holdfast.ID
	err  error
	want string
}

// playWords makes calls fail, and compares the errors: the same on every database, and without
// repetition.
func playWords(t *testing.T, source store.Source, wrap func() (store.Tx, func())) {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	kind, held := holdfast.NewKind[string, int]("work"), holdfast.NewKind[int, int]("nobody")
	flow := holdfast.NewKind[int, int]("flow")
	approved := holdfast.NewSignal[int]("approved")
	started := make(chan holdfast.ID, 1)
	err = errors.Join(kind.Handle(hf, func(run *holdfast.Run, what string) (int, error) {
		switch what {
		case "fail":
			return 0, holdfast.Fail(errors.New("no such customer"))
		case "wait":
			started <- run.ID()
			<-run.Done()
			return 0, context.Cause(run)
		}
		return 1, nil
	}), flow.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
		if err := run.OnFailure("refund", func(*holdfast.Run) error { return nil }); err != nil {
			return 0, err
		}
		_, err := holdfast.Step(run, "first", func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			return 0, err
		}
		return 0, holdfast.Fail(errors.New("no such order"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.WithoutCancel(ctx)) }()
	defer func() {
		if err := errors.Join(hf.Close(context.Background()), <-ran); err != nil {
			t.Error(err)
		}
	}()
	enqueue := func(what string) *holdfast.Job[int] {
		t.Helper()
		job, err := kind.Enqueue(ctx, hf, what)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	wait := func(job *holdfast.Job[int]) error {
		_, err := job.Wait(ctx)
		return err
	}
	unknown, later := holdfast.NewID(), holdfast.NewID()
	done, failed, running := enqueue("do"), enqueue("fail"), enqueue("wait")
	if _, err := held.Enqueue(ctx, hf, 1, holdfast.JobID(later)); err != nil {
		t.Fatal(err)
	}
	undone, err := flow.Enqueue(ctx, hf, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(done); err != nil {
		t.Fatal(err)
	}
	<-started
	check := func(list map[string]said) {
		t.Helper()
		for name, s := range list {
			want := strings.ReplaceAll(s.want, "{job}", s.job.String())
			if twice := saidonce.Twice(want); twice != "" {
				t.Errorf("%s says %q twice: %s", name, twice, want)
			}
			if s.err == nil || s.err.Error() != want {
				t.Errorf("%s says\n     %v\nnot  %s", name, s.err, want)
			}
		}
	}
	cancelled := func(id holdfast.ID, reason string) error {
		results, err := hf.Cancel(ctx, reason, id)
		return errors.Join(err, results[0].Err)
	}
	retried := func(id holdfast.ID) error {
		results, err := hf.Retry(ctx, "", id)
		return errors.Join(err, results[0].Err)
	}
	paused := func(id holdfast.ID) error {
		results, err := hf.Pause(ctx, "", id)
		return errors.Join(err, results[0].Err)
	}
	tx, rollback := wrap()
	defer rollback()
	const none, isDone = "holdfast: not found: job {job}", "holdfast: conflict: job {job} is completed"
	check(map[string]said{
		"getting nothing":     {unknown, second(hf.Get(ctx, unknown)), none},
		"waiting for nothing": {unknown, hf.Wait(ctx, unknown), none},
		"cancelling nothing":  {unknown, cancelled(unknown, ""), none},
		"retrying nothing":    {unknown, retried(unknown), none},
		"pausing nothing":     {unknown, paused(unknown), none},
		"resuming nothing":    {unknown, second(resume(ctx, hf, "", unknown)), none},
		"forking nothing":     {unknown, second(hf.Fork(ctx, "", unknown, holdfast.Fork{})), none},
		"sending to nothing":  {unknown, second(approved.Send(ctx, hf, unknown, 1)), none},
		"its journal":         {unknown, second(hf.Journal(ctx, unknown)), none},

		"retrying what is done":   {done.ID, retried(done.ID), isDone},
		"retrying what runs":      {running.ID, retried(running.ID), "holdfast: conflict: job {job} is running"},
		"pausing what is done":    {done.ID, paused(done.ID), isDone},
		"resuming what is done":   {done.ID, second(resume(ctx, hf, "", done.ID)), isDone},
		"resuming what runs":      {running.ID, second(resume(ctx, hf, "", running.ID)), "holdfast: conflict: job {job} is running"},
		"sending to what is done": {done.ID, second(approved.Send(ctx, hf, done.ID, 1)), isDone},

		"waiting for what fails": {
			failed.ID, wait(failed), "holdfast: job {job} failed (terminal): no such customer",
		},
		"cancelling what does not run": {
			later, errors.Join(cancelled(later, "the customer left"), hf.Wait(ctx, later)), "holdfast: job {job} cancelled: the customer left",
		},
		"cancelling what runs": {
			running.ID, errors.Join(cancelled(running.ID, "the customer left"), wait(running)),
			"holdfast: job {job} cancelled: the customer left",
		},

		"resuming what is undone": {
			undone.ID, errors.Join(cut(wait(undone)), second(resume(ctx, hf, "", undone.ID))),
			"resuming job {job}: holdfast: conflict: its compensations have run; fork it from the first undone step or an earlier one",
		},
		"forking from no step": {
			undone.ID, second(hf.Fork(ctx, "", undone.ID, holdfast.Fork{From: "none"})),
			`forking job {job}: holdfast: not found: its journal has no step "none"`,
		},
		"a token that is none": {
			undone.ID, hf.CompleteCallback(ctx, "hfc_", 1),
			"holdfast: invalid request: not a callback token: tokens begin with hfc_ and have 47 characters",
		},
		"a limit": {
			undone.ID, second(hf.List(ctx, store.Filter{}, "", 0)), "holdfast: invalid request: limit: 0 is not between 1 and 1000",
		},
		"a cursor": {
			undone.ID, second(hf.List(ctx, store.Filter{}, "x", 1)),
			`holdfast: invalid request: unknown cursor "x"; use the one returned with the previous page`,
		},
		"a queue": {undone.ID, hf.PauseQueue(ctx, ""), "holdfast: invalid request: queue: must not be empty"},
		"a key": {
			done.ID, second(hf.WaitPublished(ctx, done.ID, "total", 0)),
			"waiting for key total of job {job}: holdfast: not found: the job has finished",
		},
		"sending in a transaction": {
			unknown, second(approved.SendTx(ctx, hf, tx, unknown, 1)), none,
		},
	})
	taken, err := kind.Enqueue(ctx, hf, "do", holdfast.Unique{While: []store.State{store.Completed, store.Available, store.Running}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kind.Enqueue(ctx, hf, "do",
		holdfast.Unique{While: []store.State{store.Completed, store.Available, store.Running}, OnConflict: store.Reject})
	check(map[string]said{
		"a taken key": {taken.ID, err, `enqueueing job of kind "work": holdfast: conflict: its unique key is held by job {job}`},
	})
}

func second[T any](_ T, err error) error { return err }

// cut drops an expected error.
func cut(err error) error {
	if err == nil {
		return errors.New("it did not fail")
	}
	return nil
}

func TestWords(t *testing.T) {
	t.Parallel()
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		playWords(t, memorySource{model.New(time.Now)}, func() (store.Tx, func()) { return model.Tx{}, func() {} })
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		file := sqlitetest.File(t)
		playWords(t, sqlite.File(file), func() (store.Tx, func()) {
			db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return sqlite.Tx(tx), func() { _, _ = tx.Rollback(), db.Close() }
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		playWords(t, postgres.URL(url), func() (store.Tx, func()) {
			db, err := sql.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return postgres.SQLTx(tx), func() { _, _ = tx.Rollback(), db.Close() }
		})
	})
}

// TestWordsOfConnections: one line says that a database cannot be reached, why, and what to check.
func TestWordsOfConnections(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://nobody@127.0.0.1:1/x": "opening postgres://nobody@127.0.0.1:1/x: holdfast: database unavailable: " +
			"cannot connect to PostgreSQL at 127.0.0.1:1: connection refused; check host and port, and that the server is running",
		"postgres://u:secret@/x?host=/nowhere": "opening postgres://u@/x?host=/nowhere: holdfast: database unavailable: " +
			"cannot connect to PostgreSQL at /nowhere/.s.PGSQL.5432: there is no such socket; check host and port, and that the server is running",
	} {
		_, err := holdfast.Open(t.Context(), postgres.URL(url))
		if !errors.Is(err, holdfast.ErrUnavailable) {
			t.Fatal(err)
		}
		if err.Error() != want {
			t.Errorf("%s says\n     %v\nnot  %s", url, err, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "none", "jobs.db")
	want := "opening sqlite:" + missing + ": holdfast: invalid request: the directory of " + missing +
		" does not exist; create it, or correct the path"
	if _, err := holdfast.Open(t.Context(), sqlite.File(missing)); !errors.Is(err, holdfast.ErrInvalid) || err.Error() != want {
		t.Errorf("it says\n     %v\nnot  %s", err, want)
	}
}
