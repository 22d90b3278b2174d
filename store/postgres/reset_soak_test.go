//go:build soak

package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestResetIsKilled: one that ends while it drops the tables has changed nothing.
func TestResetIsKilled(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	config, before := filled(t, func(url string) *pgx.Conn { conn = connect(t, url); return conn })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE "+config.SchemaName+".meta IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := config.Reset(context.WithoutCancel(t.Context()))
		ended <- err
	}()
	other := connect(t, config.URL)
	pid := 0
	eventually(t, "the reset is in the middle", func() bool {
		pid = value[int](t, other, `SELECT coalesce(max(pid), 0) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE 'DROP TABLE%' || $1 || '%'`, config.SchemaName)
		return pid != 0
	})
	if !value[bool](t, other, "SELECT pg_terminate_backend($1)", pid) {
		t.Fatal("it was not killed")
	}
	if err := <-ended; err == nil {
		t.Fatal("a reset that was killed says that it has happened")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantAll(t, conn, config, before)
	reset(t, config)
}
