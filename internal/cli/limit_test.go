package cli

import "testing"

// TestLimits: limits are set, shown and deleted, and mistakes are told before a database is opened.
func TestLimits(t *testing.T) {
	s := newShell(t)
	s.ok("migrate", "up")
	s.holds(s.ok("limit", "set", "gpu", "--capacity", "8", "--kind", "train=4", "--kind", "infer", "-o", "table"),
		"limit gpu: 8 slots; queues: all; kinds: infer, train (4 slots)")
	s.expect(s.run("limit", "set", "gpu", "--capacity", "2"), 64, "is not between 1 and the capacity 2")
	s.expect(s.run("limit", "set", "bad", "--capacity", "2", "--kind", "train=4"), 64, "is not between 1 and the capacity 2")
	s.expect(s.run("limit", "set", "other", "--queue", "mail"), 1, "no such limit")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "1", "-o", "table"), "limit queue:mail: 1 slot; queues: mail; kinds: all")
	s.holds(s.ok("limit", "list", "-o", "table"), "queue:mail")
	s.holds(s.ok("limit", "get", "gpu", "-o", "table"), "train (4 slots)")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "none", "-o", "table"), "any number of jobs runs at once")
	s.holds(s.ok("limit", "delete", "gpu", "-o", "table"), "deleted limit gpu")
	s.expect(s.run("limit", "delete", "gpu"), 1, "no such limit")
}
