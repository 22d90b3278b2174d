package postgres_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// TestSQLEnqueueFromPsql, which is how a person would.
func TestSQLEnqueueFromPsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed")
	}
	config := used(t, nil)
	s := open(t, config)
	out, err := exec.CommandContext(t.Context(), psql, "-XAt", "-v", "ON_ERROR_STOP=1", config.URL, "-c",
		"SELECT id FROM "+config.SchemaName+".enqueue('send', json_build_object('to', 'ada'), queue => 'mail', delay => '1 hour')",
	).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantState(t, s, uuid.MustParse(strings.TrimSpace(string(out))), store.Scheduled)
}
