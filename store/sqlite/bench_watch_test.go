package sqlite_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkWatch measures how long after a commit of another store a wake-up comes, if there was
// none for a while.
func BenchmarkWatch(b *testing.B) {
	source := sqlite.File(b.TempDir() + "/holdfast.db")
	open := func() store.Store {
		s, err := source.Open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	s, other := open(), open()
	ctx, cancel := context.WithCancel(b.Context())
	told, ended := make(chan time.Time, 1000), make(chan error)
	go func() { ended <- s.Watch(ctx, func(store.Wake) { told <- time.Now() }) }()
	var took []time.Duration
	for b.Loop() {
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // in which nothing happens
		for len(told) > 0 {
			<-told
		}
		if err := enqueue(b.Context(), other, 1); err != nil {
			b.Fatal(err)
		}
		committed := time.Now()
		took = append(took, max(0, (<-told).Sub(committed)))
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
