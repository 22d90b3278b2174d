package cli

import "testing"

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
		s.expect(s.run("job", "skip", second), 1, "is available")
		s.holds(s.ok("job", "skip", first, "--reason", "settled", "-o", "table"), "job "+first+" gives up its turn")
		s.holds(s.ok("job", "get", first, "-o", "table"), "skip", "settled")
		s.expect(s.run("job", "wait", second), 1)
		s.expect(s.run("job", "skip", first), 1, "is failed")
		s.expect(s.run("job", "enqueue", "exec", "--keep-turn"), 64, "--keep-turn requires --ordering-key")
		node.stop(t)
	})
}
