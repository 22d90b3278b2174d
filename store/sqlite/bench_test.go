//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// cpu reports the CPU time per job of what it timed; the machine may be shared, so that this is the figure to compare.
func cpu(b *testing.B, jobs int, f func()) {
	b.Helper()
	before := cpuTime(b)
	b.ResetTimer()
	f()
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/1e3/float64(jobs), "cpu-us/job")
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func openBench(b *testing.B, synchronous sqlite.Synchronous) (store.Store, int64) {
	source := sqlite.File(filepath.Join(b.TempDir(), "holdfast.db"))
	source.Synchronous = synchronous
	s, err := source.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	node, err := s.Join(b.Context(), store.NodeInfo{})
	if err != nil {
		b.Fatal(err)
	}
	return s, node
}

var modes = map[string]sqlite.Synchronous{"full": sqlite.Full, "normal": sqlite.Normal}

func BenchmarkEnqueue(b *testing.B) {
	for mode, synchronous := range modes {
		for _, size := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				s, _ := openBench(b, synchronous)
				cpu(b, b.N*size, func() {
					for range b.N {
						if err := enqueue(b.Context(), s, size); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

func BenchmarkCycle(b *testing.B) {
	for mode, synchronous := range modes {
		for _, size := range []int{1, 500} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				s, node := openBench(b, synchronous)
				cpu(b, b.N*size, func() {
					for i := range b.N {
						cycle(b.Context(), b, s, node, int64(i)*10+1, size)
					}
				})
			})
		}
	}
}

// cycle is the life of size jobs: enqueued, claimed, completed, in three transactions.
func cycle(ctx context.Context, b *testing.B, s store.Store, node, seq int64, size int) {
	if err := enqueue(ctx, s, size); err != nil {
		b.Fatal(err)
	}
	claimed, err := claim(ctx, s, node, seq, size)
	if err != nil || len(claimed) != size {
		b.Fatal(len(claimed), err)
	}
	batch := &store.Batch{}
	for _, c := range claimed {
		batch.Outcomes = append(batch.Outcomes, &store.Outcome{Lease: c.Lease, State: store.Completed, Result: []byte(`{"ok":true}`)})
	}
	if err := s.Apply(ctx, batch); err != nil {
		b.Fatal(err)
	}
}
