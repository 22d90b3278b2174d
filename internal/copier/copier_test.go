package copier_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func file(t *testing.T) sqlite.Config {
	t.Helper()
	source := sqlite.File(sqlitetest.File(t))
	source.Synchronous = sqlite.Normal
	return source
}

func server(t *testing.T) postgres.Config {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	return postgres.Config{URL: url, SchemaName: schema, MaxConns: 4}
}

func opened(t *testing.T, source store.Source) store.Store {
	t.Helper()
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func onSQLite(t *testing.T, clock *storetest.Clock) store.Store {
	source := file(t)
	source.Clock = clock.Now
	return opened(t, source)
}

func onPostgres(t *testing.T, clock *storetest.Clock) store.Store {
	source := server(t)
	source.Clock = clock.Now
	return opened(t, source)
}

// many enqueues n jobs, the first with the ids that are given.
func many(t *testing.T, s store.Store, n int, ids ...store.ID) {
	t.Helper()
	batch := &store.Batch{}
	for i := range n {
		id := uuid.Must(uuid.NewV7())
		if i < len(ids) {
			id = ids[i]
		}
		batch.Enqueues = append(batch.Enqueues, &store.Enqueue{Job: store.Job{
			ID: id, Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte(`{}`),
		}})
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
}

func facet(s store.Store) store.Copies {
	c, _ := s.(store.Copies) // nil panics, and fails the test
	return c
}

func count(t *testing.T, s store.Store) map[store.State]int64 {
	t.Helper()
	survey, err := facet(s).Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return survey.Counts
}

func quietly(int64, int64) {}

// failing is a target whose pages fail as a test says: before they are written or after it.
type failing struct {
	store.Store
	store.Copies

	fails func(page int) (before, after error)
	pages int
}

func (f *failing) Import(ctx context.Context, params store.ImportParams) error {
	before, after := f.fails(f.pages)
	f.pages++
	if before != nil {
		return before
	}
	return errors.Join(f.Copies.Import(ctx, params), after)
}

// sendOrStart sends a signal along with an enqueue that has a business key.
func sendOrStart(t *testing.T, s store.Store, id store.ID) *store.Enqueue {
	t.Helper()
	q := &store.Enqueue{
		Job: store.Job{
			ID: id, Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte(`{}`), Options: store.Options{Key: "order-42"},
		},
		Send: &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: "paid", Data: []byte(`7`)}},
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
	return q
}

// TestACopyThatFailsAnywhereGoesOn: at each page the copy ends once before and once after the page
// was written, and is started again.
func TestACopyThatFailsAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	source := opened(t, file(t))
	for range 3 {
		many(t, source, 700)
	}
	first, second := sendOrStart(t, source, uuid.Must(uuid.NewV7())), sendOrStart(t, source, uuid.Must(uuid.NewV7()))
	for i := range 520 {
		save(t, source, fmt.Sprint("schedule ", i), 0)
	}
	fired(t, source, "schedule 7", 0, time.Hour)
	for name, target := range map[string]store.Store{"SQLite": opened(t, file(t)), "PostgreSQL": opened(t, server(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broke := errors.New("the connection broke")
			met, runs := map[int]bool{}, 0
			for ; ; runs++ {
				f := &failing{Store: target, Copies: facet(target)}
				f.fails = func(page int) (before, after error) {
					if page == 0 && runs > 1 || met[2*page] && met[2*page+1] {
						return nil, nil
					}
					if !met[2*page] {
						met[2*page] = true
						return broke, nil
					}
					met[2*page+1] = true
					return nil, broke
				}
				report, err := copier.Copy(t.Context(), source, f, quietly)
				if err == nil {
					if !maps.Equal(report.Source, report.Target) {
						t.Errorf("the report is %+v", report)
					}
					break
				}
				if !errors.Is(err, broke) {
					t.Fatal(err)
				}
			}
			if runs < 4 {
				t.Errorf("it failed %d times", runs)
			}
			if got, want := count(t, target), count(t, source); !maps.Equal(got, want) || got[store.Available] != 2101 {
				t.Errorf("the target has %v, the source %v", got, want)
			}
			report, err := copier.Copy(t.Context(), source, target, quietly)
			if err != nil || !report.Before {
				t.Errorf("once more: %+v, %v", report, err)
			}
			if report.Schedules != (store.ScheduleSums{Schedules: 520, Versions: 1, Runs: 2}) {
				t.Errorf("the schedules: %+v", report.Schedules)
			}
			wantSameSchedules(t, source, target)
			if q := sendOrStart(t, target, second.Job.ID); q.Result.ID != first.Job.ID || !q.Send.Result.Duplicate {
				t.Errorf("what was sent along is sent again: %+v, %+v", q.Result, q.Send.Result)
			}
			if q := sendOrStart(t, target, uuid.Must(uuid.NewV7())); q.Result.ID != first.Job.ID || q.Send.Result.Seq != 3 {
				t.Errorf("the holder of the key is another job: %+v, %+v", q.Result, q.Send.Result)
			}
		})
	}
}

// TestAJobThatComesLate: between an interrupted copy and the next one a job is enqueued whose id
// the first one has passed by.
func TestAJobThatComesLate(t *testing.T) {
	t.Parallel()
	source, target := opened(t, file(t)), opened(t, file(t))
	late := uuid.Must(uuid.NewV7())
	many(t, source, 900)
	broke := errors.New("the connection broke")
	f := &failing{Store: target, Copies: facet(target), fails: func(page int) (before, after error) {
		if page == 2 {
			return broke, nil
		}
		return nil, nil
	}}
	if _, err := copier.Copy(t.Context(), source, f, quietly); !errors.Is(err, broke) {
		t.Fatal(err)
	}
	many(t, source, 1, late)
	report, err := copier.Copy(t.Context(), source, target, quietly)
	if err != nil || report.Target[store.Available] != 901 {
		t.Errorf("the second copy: %+v, %v", report, err)
	}
	if _, err := target.Get(t.Context(), "", late); err != nil {
		t.Error(err)
	}
}

// between calls do when the first page of jobs was imported.
func between(target store.Store, do func()) *failing {
	return &failing{Store: target, Copies: facet(target), fails: func(page int) (before, after error) {
		if page == 1 {
			do()
		}
		return nil, nil
	}}
}

// TestWhatHappensMeanwhile: a source that is worked on is noticed, and jobs that come are copied.
func TestWhatHappensMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(source, target store.Store) func(*testing.T)
		class error
	}{
		"a node works in the source": {func(source, _ store.Store) func(*testing.T) {
			return func(t *testing.T) {
				node, err := source.Join(t.Context(), store.NodeInfo{Name: "late"})
				if err == nil {
					_, err = source.Leave(t.Context(), node)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}, store.ErrConflict},
		"a node would work in the target": {func(_, target store.Store) func(*testing.T) {
			return func(t *testing.T) {
				if _, err := target.Join(t.Context(), store.NodeInfo{Name: "early"}); !errors.Is(err, store.ErrConflict) {
					t.Errorf("a node joined: %v", err)
				}
			}
		}, nil},
		"a person cancels a job": {func(source, _ store.Store) func(*testing.T) {
			return func(t *testing.T) {
				page, err := source.List(t.Context(), store.ListParams{Limit: 1})
				if err == nil {
					_, _, err = source.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{page.Jobs[0].ID}, Actor: "ada"})
				}
				if err != nil {
					t.Error(err)
				}
			}
		}, store.ErrConflict},
		"jobs are enqueued": {func(source, _ store.Store) func(*testing.T) {
			return func(t *testing.T) { many(t, source, 3) }
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := opened(t, file(t)), opened(t, file(t))
			many(t, source, 900)
			do := c.do(source, target)
			_, err := copier.Copy(t.Context(), source, between(target, func() { do(t) }), quietly)
			if !errors.Is(err, c.class) || c.class == nil && err != nil {
				t.Errorf("the copy returned %v, want %v", err, c.class)
			}
			// Nor does it go on later, as what was copied may be from before.
			if _, err := copier.Copy(t.Context(), source, target, quietly); !errors.Is(err, c.class) || c.class == nil && err != nil {
				t.Errorf("the second copy returned %v, want %v", err, c.class)
			}
		})
	}
}

// TestLivingAndDeadNodes: a node that lives is refused, one that was killed is rescued first.
func TestLivingAndDeadNodes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			source, target := open(t, clock), onSQLite(t, clock)
			many(t, source, 2)
			node, err := source.Join(t.Context(), store.NodeInfo{Name: "n", Kinds: []string{"send"}, Slots: 1})
			if err != nil {
				t.Fatal(err)
			}
			claimed, err := source.Claim(t.Context(), store.ClaimParams{
				Node: node, Namespace: "default", Kinds: []string{"send"}, Seq: 1, Limit: 1,
			})
			if err != nil || len(claimed) != 1 {
				t.Fatal(claimed, err)
			}
			if _, err := copier.Copy(t.Context(), source, target, quietly); !errors.Is(err, store.ErrConflict) {
				t.Errorf("with a node that lives: %v", err)
			}
			if counts := count(t, target); len(counts) != 0 {
				t.Errorf("the target has %v", counts)
			}
			clock.Advance(time.Minute)
			report, err := copier.Copy(t.Context(), source, target, quietly)
			want := map[store.State]int64{store.Available: 1, store.Retryable: 1}
			if err != nil || !maps.Equal(report.Target, want) {
				t.Errorf("with a node that died: %v, %v", report.Target, err)
			}
			record, err := target.Get(t.Context(), "", claimed[0].Job.ID)
			if err != nil || len(record.Attempts) != 1 || record.Attempts[0].Reason != store.ReasonNodeLost {
				t.Errorf("the job that was lost: %+v, %v", record, err)
			}
		})
	}
}

// TestTheSameDatabase is refused.
func TestTheSameDatabase(t *testing.T) {
	t.Parallel()
	source := file(t)
	if _, err := copier.Copy(t.Context(), opened(t, source), opened(t, source), quietly); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a copy into itself: %v", err)
	}
}
