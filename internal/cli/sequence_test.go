package cli

import (
	"strings"
	"testing"
)

// TestSequence: a job that fails keeps its turn, those behind it tell so, and a person skips it.
func TestSequence(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		enqueue := func() string {
			return s.enqueue("exec", `{"command":["false"]}`, "--ordering-key", "k", "--keep-turn", "--max-attempts", "1")
		}
		first := enqueue()
		node := s.start("dev")
		s.expect(s.run("job", "wait", first), 1)
		second := enqueue()
		s.expect(s.run("job", "wait", second, "--wait-timeout", "100ms"), 2)
		s.holds(s.ok("job", "get", second, "-o", "table"), "job "+first+" has failed and keeps the turn", "job skip")
		s.holds(s.ok("job", "get", first, "-o", "table"), `why            it keeps the turn of its ordering key "k"`,
			`"holdfast job skip `+first+`"`)
		s.holds(s.ok("job", "why", first, "-o", "table"), `turn       it keeps the turn of its ordering key "k"`)
		s.holds(s.ok("queue", "stuck", "-o", "table"), "default  k ", first, " 1\n")
		s.holds(s.ok("queue", "stuck", "default", "-o", "json"), `"key": "k"`, `"job": "`+first+`"`, `"jobs": 1`)
		s.expect(s.run("job", "skip", second), 1, "it is available; only a job that has failed keeps a turn")
		s.holds(s.ok("job", "skip", first, "--reason", "settled", "-o", "table"), "job "+first+" stays failed; its turn goes on to the next job")
		out := s.ok("job", "get", first, "-o", "table")
		if s.holds(out, "skip", "settled"); strings.Contains(out, "it keeps the turn") {
			t.Errorf("a job that was skipped: %s", out)
		}
		s.expect(s.run("job", "wait", second), 1)
		s.expect(s.run("job", "skip", first), 1, "it has failed, and keeps no turn")
		s.holds(s.ok("job", "cancel", first, "-o", "table"), "job "+first+" had already failed")
		s.holds(s.ok("job", "cancel", second, "-o", "table"), "job "+second+" stays failed; its turn goes on to the next job")
		if got := s.ok("queue", "stuck", "-o", "json"); strings.TrimSpace(got) != "[]" {
			t.Errorf("stuck when all were skipped: %s", got)
		}
		third := enqueue()
		s.expect(s.run("job", "wait", third), 1)
		s.holds(s.ok("job", "cancel", "--terminate", third, "-o", "table"), "job "+third+" stays failed; its turn goes on to the next job")
		s.expect(s.run("job", "enqueue", "exec", "--keep-turn"), 64, "--keep-turn requires --ordering-key")
		node.stop(t)
	})
}

// TestStuckOfNoQueue: a queue that is not there is an error, and one with nothing stuck is none.
func TestStuckOfNoQueue(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.enqueue("exec", `{"command":["true"]}`, "--queue", "orders")
	for _, args := range [][]string{{"ordres"}, {"orders", "ordres"}} {
		got := s.run(append([]string{"queue", "stuck"}, args...)...)
		if s.expect(got, 1, `no such queue in namespace "default": ordres; "holdfast queue list" lists the queues`); got.stdout != "" {
			t.Errorf("%q was printed", got.stdout)
		}
	}
	s.expectNote(s.run("queue", "stuck", "orders", "-o", "table"), "No ordering key is stuck.\n")
}
