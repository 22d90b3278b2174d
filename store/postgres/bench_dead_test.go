package postgres

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// BenchmarkDeadGroups: a page of the groups of a million dead letters in twenty lanes, which failed
// in a week.
func BenchmarkDeadGroups(b *testing.B) {
	for _, groups := range []int{5, 1000, 5000} {
		b.Run(strconv.Itoa(groups), func(b *testing.B) {
			url, schema := pgtest.Shared(b).Schema(b)
			opened, err := Config{URL: url, SchemaName: schema}.Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = opened.Close() })
			conn, err := opened.(*Store).db.Beside(b.Context(), "") //nolint:errcheck // what else would it be
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = conn.Close(context.Background()) })
			for _, text := range []string{
				"INSERT INTO {schema}.queue (namespace, name) VALUES ('default', 'mail')",
				"INSERT INTO {schema}.lane (queue, kind, priority, used_on) " +
					"SELECT q.id, 'k' || i, 2, 1 FROM {schema}.queue q, generate_series(1, 20) i",
				`DO $$ BEGIN FOR d IN 1..6 LOOP
					EXECUTE format('CREATE TABLE {schema}.finished_dead_%s PARTITION OF {schema}.finished FOR VALUES FROM (%L) TO (%L)', d,
						lpad(to_hex(d * 150000), 32, '0')::uuid, lpad(to_hex((d + 1) * 150000), 32, '0')::uuid);
				END LOOP; END $$`,
				fmt.Sprintf(`INSERT INTO {schema}.finished (id, state, finished_at, reason, error, fingerprint, lane)
					SELECT lpad(to_hex(i), 32, '0')::uuid, 7, i, 'error', 'it is broken', (i %% %d) * 7919::bigint, 1 + i %% %d %% 20
					FROM generate_series(1, %d) i`, groups, groups, benchsize.Of(1_000_000, 20_000)),
				"VACUUM ANALYZE {schema}.finished", "ANALYZE {schema}.lane, {schema}.queue",
			} {
				if _, err := conn.Exec(b.Context(), pg.InSchema(text, schema)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				page, err := opened.DeadGroups(b.Context(), store.DeadParams{Filter: store.Filter{Namespace: "default"}, Limit: 100})
				if err != nil || len(page.Groups) != min(groups, 100) {
					b.Fatal(len(page.Groups), err)
				}
			}
		})
	}
}
