package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// asked counts the statements of a pool, and those of batches.
type asked struct{ n atomic.Int64 }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	a.n.Add(1)
	return ctx
}
func (a *asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (a *asked) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (a *asked) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { a.n.Add(1) }
func (a *asked) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// asking opens a store whose statements are counted.
func asking(t *testing.T, config postgres.Config) (store.Store, *asked) {
	t.Helper()
	count := &asked{}
	return traced(t, config, count), count
}

// traced opens a store whose connections tell a tracer what they do.
func traced(t *testing.T, config postgres.Config, by pgx.QueryTracer) store.Store {
	t.Helper()
	pooled, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		t.Fatal(err)
	}
	pooled.ConnConfig.Tracer = by
	pool, err := pgxpool.NewWithConfig(t.Context(), pooled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName})
}
