//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkDeadGroups: a page of the groups of a million dead letters in twenty lanes.
func BenchmarkDeadGroups(b *testing.B) {
	for _, groups := range []int{5, 1000, 5000} {
		b.Run(strconv.Itoa(groups), func(b *testing.B) {
			source := sqlite.File(filepath.Join(b.TempDir(), "holdfast.db"))
			source.Synchronous = sqlite.Normal
			s, err := source.Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			db, err := sql.Open("sqlite", "file:"+source.Path)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			for _, text := range []string{
				"INSERT INTO holdfast_queue (namespace, name, created_at) VALUES ('default', 'mail', 1)",
				"INSERT INTO holdfast_lane (queue, kind, priority) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) " +
					"SELECT 1, 'k' || i, 2 FROM n",
				fmt.Sprintf("INSERT INTO holdfast_finished (id, state, finished_at, reason, error, fingerprint, lane) "+
					"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "+
					"SELECT unhex(printf('%%032x', i)), 7, i, 'error', 'it is broken', i %% %d * 7919, i %% %d %% 20 + 1 FROM n",
					benchsize.Of(1_000_000, 20_000), groups, groups),
			} {
				if _, err := db.ExecContext(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				page, err := s.DeadGroups(b.Context(), store.DeadParams{Filter: store.Filter{Namespace: "default"}, Limit: 100})
				if err != nil || len(page.Groups) != min(groups, 100) {
					b.Fatal(len(page.Groups), err)
				}
			}
		})
	}
}
