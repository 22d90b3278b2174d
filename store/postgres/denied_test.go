package postgres_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// TestDenied: a role that lacks a right is told which, and what the error says to grant is enough.
func TestDenied(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	owner := open(t, config)
	enqueue(t, owner, newJob())
	admin := connect(t, config.URL)
	role := "role_" + config.SchemaName
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE ROLE " + role + " LOGIN PASSWORD 'x'")
	t.Cleanup(func() {
		_, _ = admin.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
	})
	theirs := config
	theirs.NoMigrate = true
	theirs.URL = asRole(t, config.URL, role)
	granted := regexp.MustCompile(`GRANT [^;]*`)
	denied := func(what string, err error, words ...string) {
		t.Helper()
		if !errors.Is(err, store.ErrPermission) || !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("%s: %v", what, err)
		}
		for _, w := range append(words, role) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: it says not %q: %v", what, w, err)
			}
		}
		for _, grant := range granted.FindAllString(err.Error(), -1) {
			run(grant)
		}
	}

	_, err := theirs.Open(t.Context())
	denied("opening", err, "lacks USAGE on the schema", "SELECT, UPDATE on")
	run("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + config.SchemaName + " FROM " + role)
	s := open(t, theirs)
	page, err := s.List(t.Context(), store.ListParams{Limit: 10})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("who may read: %d jobs, %v", len(page.Jobs), err)
	}
	err = store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}})
	denied("enqueueing", err, "lacks DELETE, INSERT, UPDATE on", "more tables")
	enqueue(t, s, newJob())
	if err := s.Pause(t.Context(), store.PauseParams{Namespace: "default", Queue: "x", Paused: true}); err != nil {
		t.Error(err)
	}

	// To change tables takes their owner.
	theirs = newer(theirs, len(theirs.Migrations()))
	theirs.NoMigrate = false
	_, err = theirs.Open(t.Context())
	denied("migrating", err, "only the owner of the schema")
	theirs.SchemaName += "_other"
	_, err = theirs.Open(t.Context())
	denied("creating", err, "may not create the schema")
	if err := open(t, theirs).Close(); err != nil {
		t.Error(err)
	}
	run("DROP SCHEMA " + theirs.SchemaName + " CASCADE")
}

// asRole is the address of a database for another role.
func asRole(t *testing.T, url, role string) string {
	t.Helper()
	if !strings.Contains(url, "://") {
		return url + " user=" + role + " password=x"
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(url, config.User)
	_, host, _ := strings.Cut(rest, "@")
	return "postgres://" + role + ":x@" + host
}
