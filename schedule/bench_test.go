package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// benchDatabases returns an empty database of each sort.
var benchDatabases = map[string]func(*testing.B) store.Source{
	"sqlite":   func(b *testing.B) store.Source { return sqlite.File(filepath.Join(b.TempDir(), "jobs.db")) },
	"postgres": func(b *testing.B) store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
}

func openBench(b *testing.B, source store.Source) *holdfast.Client {
	b.Helper()
	hf, err := holdfast.Open(b.Context(), source)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = hf.Close(context.WithoutCancel(b.Context())) })
	return hf
}

// createMany makes n schedules with the same times.
func createMany(b *testing.B, hf *holdfast.Client, prefix string, n int, times schedule.Times) {
	b.Helper()
	const producers = 16
	errs := make([]error, producers)
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for i := p; i < n && errs[p] == nil; i += producers {
				s := schedule.New(fmt.Sprint(prefix, " ", i), times, report.Item("x"))
				_, errs[p] = schedule.Create(b.Context(), hf, s)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLook is a leader's look for what is due while nothing is: its cost is that of the
// schedules that are due, and not of those that there are.
func BenchmarkLook(b *testing.B) {
	for name, database := range benchDatabases {
		for _, idle := range []int{100, benchsize.Of(100_000, 200)} {
			b.Run(fmt.Sprintf("%s/schedules=%d", name, idle), func(b *testing.B) {
				source := database(b)
				createMany(b, openBench(b, source), "idle", idle, schedule.EveryFrom(1000*time.Hour, time.Now().Add(time.Hour)))
				st, err := source.Open(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = st.Close() })
				b.ReportAllocs()
				for b.Loop() {
					due, next, err := st.DueSchedules(b.Context(), 1000)
					if err != nil || len(due) > 0 || next.IsZero() {
						b.Fatal(due, next, err)
					}
				}
			})
		}
	}
}

// BenchmarkSameSecond has 10,000 schedules that are due in the same second, on a node that also
// runs their jobs. It reports how long after that second the last job is enqueued.
func BenchmarkSameSecond(b *testing.B) {
	count, prepare := benchsize.Of(10_000, 50), time.Duration(benchsize.Of(60, 2))*time.Second
	for name, database := range benchDatabases {
		b.Run(name, func(b *testing.B) {
			source := database(b)
			hf := openBench(b, source)
			if err := report.Handle(hf, func(*holdfast.Run, string) (int, error) { return 0, nil }); err != nil {
				b.Fatal(err)
			}
			st, err := source.Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = st.Close() })
			go func() { _ = hf.Run(b.Context()) }()
			took := time.Duration(0)
			for i := range b.N {
				at := time.Now().UTC().Add(prepare).Truncate(time.Second)
				createMany(b, hf, fmt.Sprint("round ", i), count, schedule.Cron(at.Format("5 4 15 2 1 *"), ""))
				if time.Now().After(at) {
					b.Fatalf("making %d schedules takes more than %v", count, prepare)
				}
				time.Sleep(time.Until(at))                                 //nolint:forbidigo // that is what is measured
				for left := true; left; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // it polls
					_, next, err := st.DueSchedules(b.Context(), 1)
					if err != nil {
						b.Fatal(err)
					}
					left = next.Before(at.Add(time.Hour))
				}
				took += time.Since(at)
				for _, s := range []int{0, count - 1} {
					got, err := schedule.Get(b.Context(), hf, fmt.Sprint("round ", i, " ", s))
					if err != nil || got.Fired != 1 {
						b.Fatalf("it has not fired once: %+v, %v", got, err)
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took.Seconds()/float64(b.N), "s/round")
		})
	}
}
