package cli

import (
	"strings"
	"testing"
)

// TestFollowUps: follow-ups are enqueued with a job, show what they wait for, and are let go or
// cancelled by its end.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		first := s.enqueue("load", "--in", "1h", "--follow", `cancelled=alert:{"to":"ops"}`, "--follow", "completed=report")
		var alert, report map[string]any
		for id := range strings.FieldsSeq(s.ok("job", "list", "--state", "waiting", "-q")) {
			switch v := s.job(id); v["kind"] {
			case "alert":
				alert = v
			case "report":
				report = v
			}
		}
		if alert == nil || report == nil || alert["follows"] != first || report["follows"] != first {
			t.Fatalf("the follow-ups are %v and %v", alert, report)
		}
		id, other := alert["id"].(string), report["id"].(string) //nolint:errcheck // always ids
		s.holds(s.ok("job", "get", id, "-o", "table"), "waiting (dependency)", first+", scheduled; runs only-cancelled",
			"it runs only if job "+first+" is cancelled, which is scheduled", `{"to":"ops"}`)
		s.expect(s.run("job", "enqueue", "load", "--follow", "later=alert"), 64, "must begin with completed=")
		s.expect(s.run("job", "enqueue", "load", "--follow", "failed=alert:{"), 64, "ARGS is JSON")
		late := s.enqueue("alert", "--after", first, "--on-failure", "only-failed")
		s.holds(s.ok("job", "get", late, "-o", "table"), first+", scheduled; runs only-failed")
		s.holds(s.ok("job", "get", other, "-o", "table"), "follows", first+", scheduled; if it does not complete: cancel")
	})
}
