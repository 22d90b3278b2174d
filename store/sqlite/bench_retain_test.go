//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkRetainClasses: a Retain beside so many kept jobs that completed, while another queue
// keeps its own for an hour: the first one of a process, which passes all of them, and any other.
func BenchmarkRetainClasses(b *testing.B) {
	for _, kept := range []int{10_000, benchsize.Of(300_000, 20_000)} {
		source := sqlite.File(filepath.Join(b.TempDir(), "holdfast.db"))
		source.Synchronous = sqlite.Normal
		source.Clock = func() time.Time { return time.Unix(24*3600, 0) }
		open := func() store.Store {
			s, err := source.Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
		s := open()
		if _, err := s.SetRetention(b.Context(), store.RetentionClass{Name: "short", Completed: time.Hour}); err != nil {
			b.Fatal(err)
		}
		set := store.SetQueueParams{Namespace: "default", Queue: "metrics", Set: store.AttemptSettings{Retention: "short"}}
		if _, err := s.SetQueue(b.Context(), set); err != nil {
			b.Fatal(err)
		}
		fillCompleted(b, source.Path, kept)
		retain := func(s store.Store) {
			for more := true; more; {
				retained, err := s.Retain(b.Context(), store.Retention{Completed: 30 * 24 * time.Hour, Limit: 500})
				if err != nil || retained.Jobs != 0 {
					b.Fatal(retained, err)
				}
				more = retained.More
			}
		}
		retain(s)
		b.Run(fmt.Sprint("again/", kept), func(b *testing.B) {
			for b.Loop() {
				retain(s)
			}
		})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("first/", kept), func(b *testing.B) {
			for b.Loop() {
				s := open()
				retain(s)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillCompleted puts jobs of another queue that completed hours ago into a file.
func fillCompleted(b *testing.B, path string, n int) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n)
	for _, text := range []string{
		"INSERT INTO holdfast_queue (id, namespace, name, created_at) VALUES (70, 'default', 'mail', 1)",
		"INSERT INTO holdfast_lane (id, queue, kind, priority, used_on) VALUES (70, 70, 'send', 2, 0)",
		"INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args) " + numbers +
			"SELECT unhex(printf('%032x', i)), 70, i, i, 1, 1, 3, 0, '{\"to\":\"ada\"}' FROM n", //nolint:dupword // SQL
		"INSERT INTO holdfast_finished (id, state, finished_at) " + numbers + "SELECT unhex(printf('%032x', i)), 6, i FROM n",
	} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}
