//go:build soak

package cli

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestCopyToPostgres(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	url := pgtest.Shared(t).Database(t)
	s.ok("job", "enqueue", "exec", "--args", `{"command":["echo","hello"]}`)
	s.expect(s.run("copy", "--from", s.db, "--to", url), 1, " has no Holdfast schema")
	s.ok("migrate", "up", "--database", url)
	s.ok("copy", "--from", s.db, "--to", url)
	var jobs []struct{ Kind string }
	s.decode(s.ok("job", "list", "--database", url), &jobs)
	if len(jobs) != 1 || jobs[0].Kind != "exec" {
		t.Errorf("%+v", jobs)
	}
}
