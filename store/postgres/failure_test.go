package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

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

func TestMigrateByManyAtOnce(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	config = newer(config, len(config.Migrations()))
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
