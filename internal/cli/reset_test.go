package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// TestReset: it is confirmed, refused while a node lives, and leaves an empty database.
func TestReset(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		s.ok("migrate", "up")
		s.enqueue("mail")
		s.enqueue("mail", "--namespace", "other")
		is := "this deletes all jobs of all namespaces in "
		s.expect(s.run("migrate", "reset"), app.ExitUsage, is, "; to go on without being asked, use --yes")
		s.terminal = true
		for _, typed := range []string{"", "\n", "yes\n"} {
			got := s.feed(typed, "migrate", "reset")
			if got.code != app.ExitError || !strings.Contains(got.stderr, is) ||
				!strings.HasSuffix(got.stderr, "not confirmed; nothing was changed\n") {
				t.Errorf("%q typed: %+v", typed, got)
			}
		}
		s.terminal = false
		n := s.start("worker")
		s.expect(s.run("migrate", "reset", "--yes"), app.ExitError, "node 1 (", "lives in the database; stop it")
		n.stop(t)
		if got := s.ok("job", "count", "-o", "table"); got != "1\n" {
			t.Errorf("%s jobs are left", got)
		}
		s.terminal = true
		got := s.feed("reset\n", "migrate", "reset")
		if got.code != app.ExitOK || !strings.Contains(got.stdout, "reset ") || !strings.Contains(got.stdout, ", no jobs\n") {
			t.Errorf("%+v", got)
		}
		s.terminal = false
		var schema views.Schema
		s.decode(s.ok("migrate", "reset", "-y"), &schema)
		if !schema.Current || schema.Version == 0 {
			t.Errorf("%+v", schema)
		}
		for _, namespace := range []string{"default", "other"} {
			if got := s.ok("job", "count", "-o", "table", "-n", namespace); got != "0\n" {
				t.Errorf("%s jobs are left in %s", got, namespace)
			}
		}
		s.enqueue("mail")
	})
}

// TestResetMakesNothing: a wrong path stays one.
func TestResetMakesNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.expect(s.run("migrate", "reset", "--yes"), app.ExitError, "no such database")
}
