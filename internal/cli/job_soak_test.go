//go:build soak

package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestWaitTellsWhy: a wait for what cannot happen prints the reason, and may have a time limit.
func TestWaitTellsWhy(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for _, args := range [][]string{
		{"job", "enqueue", "nosuch", "--wait", "--wait-timeout", "9s"},
		{"job", "wait", s.enqueue("mail"), "--wait-timeout", "9s"},
	} {
		got := s.run(args...)
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if args[1] == "enqueue" {
			if !strings.HasPrefix(lines[0], "enqueued job ") {
				t.Errorf("%q", got.stderr)
			}
			lines = lines[1:]
		}
		if got.code != app.ExitTimeout || len(lines) != 2 || lines[0] != "available: no node is running" ||
			!strings.HasSuffix(lines[1], " has not finished after 9s; it continues: no node is running") {
			t.Errorf("%v: exit code %d: %q", args, got.code, got.stderr)
		}
	}
	late := s.run("job", "wait", s.enqueue("mail"), "--wait-timeout", "2500ms", "--quiet")
	s.expect(late, app.ExitTimeout, "it continues: no node is running")
	s.expect(s.run("job", "enqueue", "mail", "--wait-timeout", "3s"), app.ExitUsage, "--wait-timeout requires --wait")
	s.expect(s.run("job", "enqueue", "mail", "--wait", "--wait-timeout", "-3s"), app.ExitUsage, "--wait-timeout -3s: must be more than 0")
	s.expect(s.run("job", "enqueue", "mail", "--wait", "--wait-timeout", "0s"), app.ExitUsage,
		"--wait-timeout 0s: must be more than 0; leave it out")
	s.terminal = true
	id := strings.Fields(s.ok("job", "enqueue", "mail", "--in", "1h", "--queue", "bulk"))[2]
	s.ok("queue", "pause", "bulk")
	table := s.ok("job", "get", id)
	for _, want := range []string{
		"\nwhy         scheduled for ",
		"\n            queue bulk has been paused for ",
		"\n            no node is running\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("job get says not %q:\n%s", want, table)
		}
	}
}
