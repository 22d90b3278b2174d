package cli

import "testing"

// TestDepend: jobs wait for others, show for which, and are let go, cancelled or held.
func TestDepend(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		first, second := s.enqueue("load", "--in", "1h"), s.enqueue("load")
		id := s.enqueue("report", "--after", first, "--after", second[:13], "--on-failure", "hold")
		v := s.job(id)
		waits, _ := v["predecessors"].([]any)
		if v["state"] != "waiting" || len(waits) != 2 {
			t.Fatalf("the job is %v, after %v", v["state"], v["predecessors"])
		}
		one, _ := waits[0].(map[string]any)
		if one["job"] != first || one["if_failed"] != "hold" || one["state"] != "scheduled" {
			t.Errorf("it comes after %v", one)
		}
		s.holds(s.ok("job", "get", id, "-o", "table"), "waiting (dependency)", first+", scheduled; if it does not complete: hold",
			"it comes after job "+first+", which is scheduled")
		s.holds(s.ok("job", "list", "-o", "table"), "waiting (dependency)")

		s.expect(s.run("job", "depend", first, "--on", id), 1, "job "+first+" was not changed", "job "+id+" waits for it")
		const missing = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"
		s.expect(s.run("job", "depend", second, "--on", missing), 1, "there is no job "+missing)
		s.expect(s.run("job", "depend", id, "--on", first, "--on-failure", "later"), 64,
			"must be cancel, run, hold, only-failed or only-cancelled")
		s.expect(s.run("job", "depend", id), 64, "needs --on")
		s.expect(s.run("job", "enqueue", "report", "--on-failure", "run"), 64, "--on-failure requires --after")
		s.holds(s.ok("job", "depend", second, "--on", first, "-o", "table"), "job "+second+" waits")

		s.ok("job", "cancel", first)
		s.holds(s.ok("job", "get", id, "-o", "table"), "which was cancelled; retry that one, or resume this one to run it anyway")
		s.holds(s.ok("job", "resume", id, "-o", "table"), "job "+id)
		if v := s.job(id); v["state"] != "available" || v["predecessors"] != nil {
			t.Errorf("the job that was resumed is %v, after %v", v["state"], v["predecessors"])
		}
		s.expect(s.run("job", "enqueue", "report", "--after", "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"), 1, "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64")
	})
}
