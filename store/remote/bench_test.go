package remote_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/remote"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkWorker is what a worker gets through, from claim to finish, by its way to a file on
// disk: "direct" it has the database, "remote" a server in this process, over loopback.
func BenchmarkWorker(b *testing.B) {
	for _, way := range []string{"direct", "remote"} {
		b.Run(way, func(b *testing.B) {
			var source store.Source = sqlite.File(filepath.Join(b.TempDir(), "bench.db"))
			if way == "remote" {
				source = remote.Server(serve(b, source), "")
			}
			work(b, source)
		})
	}
}

func work(b *testing.B, source store.Source) {
	b.Helper()
	hf, err := holdfast.Open(context.WithoutCancel(b.Context()), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := hf.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	}()
	kind := holdfast.NewKind[int, int]("bench")
	left := make(chan struct{}, b.N)
	err = kind.Handle(hf, func(*holdfast.Run, int) (int, error) {
		left <- struct{}{}
		return 1, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for begun := 0; begun < b.N; {
		ins := make([]int, min(1000, b.N-begun))
		if _, err := kind.EnqueueMany(b.Context(), hf, ins); err != nil {
			b.Fatal(err)
		}
		begun += len(ins)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	b.ResetTimer()
	go func() { ended <- hf.Run(ctx) }()
	for range b.N {
		<-left
	}
	stop() // and its last outcomes are stored
	if err := <-ended; err != nil {
		b.Error(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkCalls is what single calls cost.
func BenchmarkCalls(b *testing.B) {
	for _, way := range []string{"direct", "remote"} {
		b.Run(way, func(b *testing.B) {
			var source store.Source = sqlite.File(filepath.Join(b.TempDir(), "bench.db"))
			if way == "remote" {
				source = remote.Server(serve(b, source), "")
			}
			s := opened(b, source)
			for b.Loop() {
				if _, err := s.Queues(b.Context(), "default"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
