package events_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkDrain enqueues and runs jobs with the feed off, on, and on with a reader. An operation
// is one job, with three changes. On PostgreSQL it also tells the bytes of log for each, and with a
// reader how late it was.
func BenchmarkDrain(b *testing.B) {
	for _, mode := range []string{"off", "on", "read"} {
		b.Run("sqlite/feed="+mode, func(b *testing.B) {
			drain(b, sqlite.File(filepath.Join(b.TempDir(), "jobs.db")), mode)
		})
		b.Run("postgres/feed="+mode, func(b *testing.B) {
			url := pgtest.Shared(b).Database(b)
			conn, err := pgx.Connect(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(b.Context()))
			before := written(b, conn)
			drain(b, postgres.URL(url), mode)
			b.ReportMetric(float64(written(b, conn)-before)/float64(b.N), "wal-B/op")
		})
	}
}

// written is how many bytes the server has written to its log.
func written(b *testing.B, conn *pgx.Conn) (bytes int64) {
	b.Helper()
	if err := conn.QueryRow(b.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	return bytes
}

// drain enqueues and runs b.N jobs, and stops when they have ended.
func drain(b *testing.B, source store.Source, mode string) {
	b.Helper()
	hf, err := holdfast.Open(b.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	defer hf.Close(context.WithoutCancel(b.Context()))
	kind := holdfast.NewTask[int]("drain")
	var done atomic.Int64
	drained := make(chan struct{})
	err = kind.Handle(hf, func(*holdfast.Run, int) error {
		if done.Add(1) == int64(b.N) {
			close(drained)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if mode != "off" {
		if _, err := events.On(b.Context(), hf); err != nil {
			b.Fatal(err)
		}
	}
	if mode == "read" {
		ctx, stop := context.WithCancel(b.Context())
		read := make(chan struct{})
		go func() {
			defer close(read)
			n := 0
			for _, err := range events.Read(ctx, hf, events.Position{}, events.Filter{}) {
				if err != nil {
					break
				}
				n++
			}
			b.ReportMetric(float64(n)/float64(b.N), "events/op")
		}()
		defer func() {
			stop()
			<-read
		}()
	}
	b.ResetTimer()
	for from := 0; from < b.N; from += 1000 {
		var items []holdfast.BatchItem
		for i := from; i < min(from+1000, b.N); i++ {
			items = append(items, kind.Item(i))
		}
		if _, err := hf.EnqueueBatch(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	if err := hf.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	<-drained
	if err := hf.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
}

// BenchmarkLag enqueues single jobs with a pause, and tells how long after the commit a reader has
// its change.
func BenchmarkLag(b *testing.B) {
	for name, source := range map[string]func() store.Source{
		"sqlite":   func() store.Source { return sqlite.File(filepath.Join(b.TempDir(), "jobs.db")) },
		"postgres": func() store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
	} {
		b.Run(name, func(b *testing.B) {
			hf, err := holdfast.Open(b.Context(), source(), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				b.Fatal(err)
			}
			defer hf.Close(context.WithoutCancel(b.Context()))
			if _, err := events.On(b.Context(), hf); err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			came := make(chan time.Time, 1)
			go func() {
				for _, err := range events.Read(ctx, hf, events.Position{}, events.Filter{}) {
					if err != nil {
						return
					}
					came <- time.Now()
				}
			}()
			kind := holdfast.NewTask[int]("lag")
			var lags []time.Duration
			for i := range b.N {
				if _, err := kind.Enqueue(b.Context(), hf, i); err != nil {
					b.Fatal(err)
				}
				committed := time.Now()
				lags = append(lags, (<-came).Sub(committed))
				time.Sleep(time.Duration(i%17) * time.Millisecond) //nolint:forbidigo // events that are spread out are what is measured
			}
			slices.Sort(lags)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(lags[len(lags)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
			}
		})
	}
}
