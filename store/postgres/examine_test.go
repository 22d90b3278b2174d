package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// examined returns the findings about a database by what was looked at.
func examined(t *testing.T, config postgres.Config) map[string]store.Finding {
	t.Helper()
	found, err := config.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]store.Finding{}
	for _, f := range found {
		if _, twice := by[f.Check]; twice || f.Check == "" || f.Text == "" {
			t.Errorf("%+v", f)
		}
		by[f.Check] = f
	}
	return by
}

// TestExamine: a server for tests does not sync; all else of it is as it should be.
func TestExamine(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	found := examined(t, config)
	for _, check := range []string{
		"server", "durability", "standbys", "autovacuum", "connections", "rights", "open transactions", "prepared transactions",
		"replication slots", "dead rows", "transaction ids", "size", "notifications",
	} {
		if _, is := found[check]; !is {
			t.Errorf("%s was not looked at", check)
		}
	}
	if f := found["durability"]; f.Severity != store.Problem || !strings.Contains(f.Text, "fsync") {
		t.Errorf("%+v", f)
	}
	for _, check := range []string{"server", "rights", "notifications"} {
		if f := found[check]; f.Severity > store.Warning || check != "notifications" && f.Severity != store.Well {
			t.Errorf("%+v", f)
		}
	}
}

// TestExamineBeforeTheTables: what is not there yet is no reason to fail.
func TestExamineBeforeTheTables(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	config.SchemaName += "_none"
	if f := examined(t, config)["rights"]; f.Severity != store.Well {
		t.Errorf("%+v", f)
	}
}

// TestExamineAsAnother: a role with few rights is told which it lacks, and sees the rest.
func TestExamineAsAnother(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	admin := connect(t, config.URL)
	role := "role_" + config.SchemaName
	for _, sql := range []string{
		"CREATE ROLE " + role + " LOGIN", "GRANT USAGE ON SCHEMA " + config.SchemaName + " TO " + role,
		"GRANT SELECT ON ALL TABLES IN SCHEMA " + config.SchemaName + " TO " + role,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	theirs := config
	theirs.URL = asRole(t, config.URL, role)
	f := examined(t, theirs)["rights"]
	if f.Severity != store.Warning || !strings.Contains(f.Text, "CREATE ON SCHEMA "+config.SchemaName) || !strings.Contains(f.Text, "more") {
		t.Errorf("%+v", f)
	}
}
