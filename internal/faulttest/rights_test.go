package faulttest

import (
	"context"
	"crypto/rand"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestSchemaOfAnAdministrator opens a database as a role that owns a schema, which an
// administrator has made for it, and may make no other.
func TestSchemaOfAnAdministrator(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	role, password := "role_"+rand.Text(), rand.Text()
	admin := pool(t, server.URL(""))
	name := pgx.Identifier{role}.Sanitize()
	address := server.Database(t)
	execute(t, admin, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	execute(t, pool(t, address), "REVOKE CREATE ON SCHEMA public FROM PUBLIC", "CREATE SCHEMA jobs AUTHORIZATION "+name)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	liveOn(t, postgres.Config{URL: u.String(), SchemaName: "jobs"})
}
