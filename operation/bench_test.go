package operation_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkJob is the cost of one job of an operation of b.N jobs. It should not depend on how many
// there are: compare -benchtime 2000x with 100000x.
func BenchmarkJob(b *testing.B) {
	for name, source := range map[string]func(b *testing.B) store.Source{
		"sqlite":   func(b *testing.B) store.Source { return sqlite.File(sqlitetest.File(b)) },
		"postgres": func(b *testing.B) store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
	} {
		for _, action := range []operation.Action{operation.Cancel(), operation.Pause(), operation.Tag("x")} {
			b.Run(name+"/"+action.Verb(), func(b *testing.B) {
				ctx := context.Background()
				c, err := holdfast.Open(ctx, source(b), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close(ctx)
				for left := b.N; left > 0; left -= 10_000 {
					if _, err := mail.EnqueueMany(ctx, c, make([]int, min(left, 10_000)), holdfast.Delay(time.Hour)); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				done, err := operation.Run(ctx, c, operation.Operation{Filter: in(store.Scheduled), Action: action}, nil)
				if err != nil || done.Changed != b.N {
					b.Fatalf("%+v of %d: %v", done, b.N, err)
				}
			})
		}
	}
}
