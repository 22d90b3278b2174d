package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestRestartsUnderLoad: the server crashes and is restarted while jobs are enqueued, claimed and
// finished. Callers repeat what is unavailable as the contract says, and every job is finished
// once.
func TestRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	s := open(t, postgres.Config{URL: cluster.URL(""), MaxConns: 8})
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var producing atomic.Bool
	producing.Store(true)
	var enqueued, finished sync.Map
	var unavailable, made, claimed atomic.Int64
	again := func(err error) bool {
		if errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			unavailable.Add(1)
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
			return true
		}
		return false
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for producing.Load() {
				if made.Load()-claimed.Load() > 200 { // what is left at the end has to be finished
					time.Sleep(time.Millisecond) //nolint:forbidigo // servers have no virtual time
					continue
				}
				batch := &store.Batch{}
				for range 5 {
					batch.Enqueues = append(batch.Enqueues, newJob())
				}
				busy := func(q *store.Enqueue) bool { return errors.Is(q.Err, store.ErrBusy) } // another worker makes the lane
				err := store.ApplyEach(ctx, s, batch)
				for again(err) || err == nil && slices.ContainsFunc(batch.Enqueues, busy) && again(store.ErrBusy) {
					err = store.ApplyEach(ctx, s, batch)
				}
				for _, q := range batch.Enqueues {
					if err = errors.Join(err, q.Err); err == nil {
						enqueued.Store(q.Job.ID, true)
						made.Add(1)
					}
				}
				if err != nil {
					t.Errorf("enqueue: %v", err)
					return
				}
			}
		})
	}
	node := join(t, s)
	var idle atomic.Bool
	workers.Go(func() {
		for seq := int64(1); ; seq++ {
			params := demand(node, seq, 20)
			runs, err := s.Claim(ctx, params)
			for again(err) {
				params.Repeat = true
				runs, err = s.Claim(ctx, params)
			}
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			if len(runs) == 0 && !producing.Load() && idle.Load() {
				return
			}
			idle.Store(len(runs) == 0 && !producing.Load())
			claimed.Add(int64(len(runs)))
			batch := &store.Batch{}
			for _, run := range runs {
				if _, twice := finished.LoadOrStore(run.Job.ID, true); twice {
					t.Errorf("job %v was claimed twice", run.Job.ID)
				}
				batch.Outcomes = append(batch.Outcomes, completed(run))
			}
			err = store.ApplyEach(ctx, s, batch)
			for again(err) {
				for _, o := range batch.Outcomes {
					o.Repeat = true
				}
				err = store.ApplyEach(ctx, s, batch)
			}
			for _, o := range batch.Outcomes {
				if err != nil || o.Err != nil {
					t.Errorf("complete: %v, %v", err, o.Err)
					return
				}
			}
		}
	})
	underLoad := func() {
		want := claimed.Load() + 200
		eventually(t, "jobs are claimed", func() bool { return claimed.Load() >= want || t.Failed() })
	}
	for range 3 {
		underLoad()
		cluster.Crash(t)
		cluster.Start(t)
		underLoad()
		cluster.Restart(t)
	}
	producing.Store(false)
	workers.Wait()
	var ids []store.ID
	enqueued.Range(func(id, _ any) bool {
		ids = append(ids, id.(store.ID)) //nolint:errcheck // nothing else is put in
		return true
	})
	n := len(ids)
	ended, err := s.Ended(t.Context(), "", ids)
	if err != nil || len(ended) != n {
		t.Fatalf("%d of %d jobs have ended, %v", len(ended), n, err)
	}
	for _, e := range ended {
		if e.State != store.Completed {
			t.Fatalf("job %v is %v", e.ID, e.State)
		}
	}
	if n == 0 || unavailable.Load() == 0 {
		t.Fatalf("%d jobs and %d failures: the test has tested nothing", n, unavailable.Load())
	}
	t.Logf("%d jobs, %d calls repeated", n, unavailable.Load())
}

// TestAnswerCutOff: the transaction commits, and its answer never arrives. The caller repeats, and
// what has happened is recognised.
func TestAnswerCutOff(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	p := newProxy(t, config.URL)
	direct := open(t, config)
	config.URL = p.url
	s := open(t, config)
	cut := func(text string) { p.cut.Store(&text) }
	node := join(t, s)

	// Every statement runs once before, so that it is prepared and the text is in no later message
	// but the parameters'.
	warm := newJob()
	enqueue(t, s, warm)
	if runs, err := s.Claim(t.Context(), demand(node, 1, 5)); err != nil || len(runs) != 1 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	} else if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{completed(runs[0])}}); err != nil {
		t.Fatal(err)
	}

	a, b := newJob(), newJob(func(q *store.Enqueue) { q.Job.Args = []byte("cut here") })
	cut("cut here")
	wantErr(t, "Apply", store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{a, b}}), store.ErrUnavailable)
	wantState(t, direct, a.Job.ID, store.Available)
	enqueue(t, s, a, b)
	if !a.Result.Existing || !b.Result.Existing || a.Result.ID != a.Job.ID {
		t.Fatalf("results of the repeat: %+v, %+v", a.Result, b.Result)
	}

	params := demand(node, 2, 5)
	params.Kinds = append(params.Kinds, "cut there")
	cut("cut there")
	_, err := s.Claim(t.Context(), params)
	wantErr(t, "Claim", err, store.ErrUnavailable)
	wantState(t, direct, a.Job.ID, store.Running)
	params.Repeat = true
	runs, err := s.Claim(t.Context(), params)
	if err != nil || len(runs) != 2 || runs[0].Lease.Claim != 2 {
		t.Fatalf("repeated claim: %+v, %v", runs, err)
	}

	batch := &store.Batch{Outcomes: []*store.Outcome{completed(runs[0]), completed(runs[1])}}
	batch.Outcomes[0].Result = []byte("cut again")
	batch.Outcomes[1].State, batch.Outcomes[1].Delay = store.Retryable, time.Hour
	cut("cut again")
	wantErr(t, "Apply", store.ApplyEach(t.Context(), s, batch), store.ErrUnavailable)
	for _, o := range batch.Outcomes {
		o.Repeat = true
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	for i, want := range []store.State{store.Completed, store.Retryable} {
		if o := batch.Outcomes[i]; o.Err != nil || o.Final != want {
			t.Fatalf("repeated outcome: %v, %v", o.Final, o.Err)
		}
		wantState(t, s, runs[i].Job.ID, want)
	}
	if n := p.cuts.Load(); n != 3 {
		t.Fatalf("%d answers were cut off, want 3", n)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	database := cluster.Database(t)
	for _, c := range []struct {
		what   string
		config postgres.Config
		class  error
	}{
		{"nothing given", postgres.Config{}, store.ErrInvalid},
		{"no URL", postgres.Config{URL: "postgres://%zz"}, store.ErrInvalid},
		{"nobody there", postgres.Config{URL: "postgres://127.0.0.1:1/x?connect_timeout=5"}, store.ErrUnavailable},
		{"no such database", postgres.Config{URL: cluster.URL("none_such")}, store.ErrInvalid},
		{"read-only", postgres.Config{URL: database + "&options=-c%20default_transaction_read_only%3Don"}, store.ErrReadOnly},
		{"no schema", postgres.Config{URL: database, NoMigrate: true}, store.ErrSchema},
	} {
		_, err := c.config.Open(t.Context())
		wantErr(t, c.what, err, c.class)
		t.Logf("%s: %v", c.what, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := postgres.Config{URL: database}.Open(ctx)
	wantErr(t, "a cancelled context", err, context.Canceled)
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	q := newJob()
	enqueue(t, open(t, config), q)
	config.URL += "&options=-c%20default_transaction_read_only%3Don"
	s := open(t, config)
	wantState(t, s, q.Job.ID, store.Available)
	wantErr(t, "Apply", store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}}), store.ErrReadOnly)
}

func TestMigrateByManyAtOnce(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			if i%2 == 0 {
				s, err := config.Open(t.Context())
				if errs[i] = err; err == nil {
					errs[i] = s.Close()
				}
				return
			}
			schema, err := config.Migrate(t.Context())
			if errs[i] = err; err == nil && schema.Version != schema.Latest {
				errs[i] = fmt.Errorf("migrated to %+v", schema)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	conn := connect(t, config.URL)
	if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".migration"); n != len(config.Migrations()) {
		t.Fatalf("%d migrations are recorded", n)
	}
	// A schema from the future is refused.
	if _, err := conn.Exec(t.Context(), "INSERT INTO "+config.SchemaName+".migration VALUES (999, 'future', 0)"); err != nil {
		t.Fatal(err)
	}
	_, err := config.Open(t.Context())
	wantErr(t, "Open", err, store.ErrSchema)
	_, err = config.Migrate(t.Context())
	wantErr(t, "Migrate", err, store.ErrSchema)
}
