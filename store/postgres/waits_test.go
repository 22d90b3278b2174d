package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store/postgres"
)

// waits counts how long the statements of a pool have waited for locks in vain.
type waits struct {
	mu     sync.Mutex
	limits map[*pgx.Conn]time.Duration
	failed int
	waited time.Duration
}

// counted returns the source of a schema that is the test's own, and what its waits are counted in.
func counted(t *testing.T) (postgres.Config, string, *waits) {
	t.Helper()
	source := used(t, nil)
	config, err := pgxpool.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &waits{limits: map[*pgx.Conn]time.Duration{}}
	config.ConnConfig.Tracer = w
	config.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return postgres.Config{Pool: pool, SchemaName: source.SchemaName}, source.URL, w
}

// take returns what was counted since it was asked last.
func (w *waits) take() (failed int, waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	failed, waited = w.failed, w.waited
	w.failed, w.waited = 0, 0
	return failed, waited
}

func (w *waits) note(conn *pgx.Conn, sql string, args []any, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(sql, "set_config('lock_timeout', $1") {
		if limit, ok := args[0].(string); ok {
			w.limits[conn], _ = time.ParseDuration(limit) // a wrong one is no wait
		}
	}
	if pgErr, ok := err.(*pgconn.PgError); ok && pgErr.Code == "55P03" { //nolint:errorlint // pgx gives it as it is
		w.failed++
		w.waited += w.limits[conn]
	}
}

type waitKey struct{}

func (w *waits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, waitKey{}, q)
}

func (w *waits) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryEndData) {
	if start, ok := ctx.Value(waitKey{}).(pgx.TraceQueryStartData); ok {
		w.note(conn, start.SQL, start.Args, q.Err)
	}
}

func (w *waits) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (w *waits) TraceBatchQuery(_ context.Context, conn *pgx.Conn, q pgx.TraceBatchQueryData) {
	w.note(conn, q.SQL, q.Args, q.Err)
}

func (w *waits) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
