package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestRetention: classes are set, named, shown and deleted, and mistakes are told before a database
// is opened.
func TestRetention(t *testing.T) {
	s := newShell(t)
	s.expect(s.run("retention", "set", "short", "--completed", "1ms"), 64, "--completed: 1ms is too short; it is 1s or more, or forever")
	s.expect(s.run("retention", "set", "short", "--completed", "never"), 64,
		`--completed: "never" is not a duration`, "to keep it for ever, write forever")
	s.expect(s.run("retention", "set", "short", "--failed", "-1h"), 64, "--failed: -1h is negative; to keep it for ever, write forever")
	s.expect(s.run("retention", "set", "short"), 64, "say for how long the class keeps jobs, with --completed, --failed or --cancelled")
	s.expect(s.run("retention", "set", "short", "--failed", "0"), 64, "--failed is nothing; leave it out")
	s.expect(s.run("retention", "set", "sho*", "--failed", "1h"), 64, "pattern")
	s.expect(s.run("queue", "set", "mail", "--retention", ""), 64, "--retention is empty")
	s.expect(s.run("queue", "set", "mail", "--retention", "short", "--max-workers", "2"), 64, "are set by two commands")
	s.ok("migrate", "up")
	s.holds(s.ok("retention", "set", "short", "--completed", "1h", "--failed", "forever", "-o", "table"),
		"retention short: completed 1h0m0s, failed forever, cancelled as in other queues; set ")
	s.expect(s.run("queue", "set", "mail", "--retention", "none"), 1, "there is no retention class")
	s.holds(s.ok("queue", "set", "mail", "--retention", "short", "-o", "table"), `queue mail: retention "short"`)
	s.holds(s.ok("queue", "get", "mail", "-o", "json"), `"retention": "short"`)
	s.holds(s.ok("queue", "get", "mail", "-o", "table"), `retention "short"`)
	for args, want := range map[string]string{"-o id": "short\n", "-q": "short\n", "-o name": "retention/short\n"} {
		if out := s.ok(append([]string{"retention", "list"}, strings.Fields(args)...)...); out != want {
			t.Errorf("retention list %s: %q, want %q", args, out, want)
		}
	}
	s.expect(s.run("retention", "removed", "-o", "id"), 64, "has no ids")
	if found, _ := s.complete("queue", "set", "other", "--retention", ""); !slices.Equal(found, []string{"short"}) {
		t.Errorf("completed: %v", found)
	}
	s.holds(s.ok("retention", "list", "-o", "table"), "short", "1h0m0s", "forever", "as in other queues")
	s.holds(s.ok("retention", "get", "short", "-o", "json"), `"failed": "forever"`, `"cancelled": null`)
	s.expect(s.run("retention", "delete", "short"), 1, `queue "mail" of namespace "default" names retention class "short"`)
	s.ok("queue", "set", "mail", "--unset", "retention")
	s.holds(s.ok("retention", "delete", "short", "-o", "table"), "deleted retention short")
	s.expect(s.run("retention", "delete", "short"), 1, "there is no retention class")
	s.expect(s.run("retention", "get", "short"), 1, "there is no retention class")
	s.expect(s.run("retention", "removed", "--limit", "0"), 64, "it is 1 to 1000")
	s.ok("retention", "removed", "--queue", "mail")
}
