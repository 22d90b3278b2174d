package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestDead: what failed for good is listed in groups, runs again with other args, and is exported
// and removed.
func TestDead(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	node := s.start("dev")
	var failed []string
	for i := range 3 {
		failed = append(failed, s.enqueue("exec", fmt.Sprintf(`{"command":["sh","-c","echo no file %d >&2; exit 3"]}`, i), "--max-attempts", "1"))
	}
	other := s.enqueue("exec", `{"command":["/no/such/program"]}`, "--max-attempts", "1")
	for _, id := range append(failed, other) {
		s.expect(s.run("job", "wait", id), 1)
	}
	node.stop(t)
	var groups []struct {
		Fingerprint string
		Kind        string
		Count       struct{ Jobs int }
		Job         string
	}
	if s.decode(s.ok("dead", "list", "-o", "json"), &groups); len(groups) != 2 {
		t.Fatalf("%+v", groups)
	}
	first, last := groups[1], groups[0]
	if first.Count.Jobs == 1 {
		first, last = last, first
	}
	if first.Kind != "exec" || first.Count.Jobs != 3 || last.Job != other {
		t.Fatalf("%+v", groups)
	}
	s.holds(s.ok("dead", "list", "-o", "table"), "FINGERPRINT", first.Fingerprint, " 3 ")
	s.holds(s.ok("dead", "get", first.Fingerprint, "-o", "json"), failed[0], failed[1], failed[2])
	s.holds(s.ok("dead", "redrive", first.Fingerprint, "--dry-run", "-o", "table"), "3 dead letters would be redriven\n")
	s.holds(s.ok("dead", "redrive", first.Fingerprint, "--dry-run", "-o", "json"), `"jobs": 3`)
	s.expect(s.run("dead", "redrive", first.Fingerprint, "--priority", "9"), 64, "--priority 9: must be between 1 and 4")
	s.expect(s.run("dead", "redrive", first.Fingerprint, "--in", "-5s"), 64)
	if out := s.ok("dead", "export", "--all"); strings.Count(out, "\n") != 4 {
		t.Errorf("exported: %s", out)
	}

	s.expectNote(s.run("dead", "move", first.Fingerprint, "--to-queue", "slow", "--args", `{"command":["true"]}`, "--rate", "100/s",
		"--reason", "the files are there", "-o", "table"), "3 dead letters moved.\n")
	s.holds(s.ok("job", "get", failed[0], "-o", "json"), `"queue": "slow"`, `"state": "available"`, `"true"`, "the files are there")
	s.holds(s.ok("dead", "purge", last.Fingerprint, "-o", "json"), other, `"failed"`)
	s.expect(s.run("job", "get", other), 1)
	s.expectNote(s.run("dead", "list", "-o", "table"), "There are no dead letters.\n")

	for _, wrong := range [][]string{
		{"redrive"},
		{"purge", "--all", "--kind", "exec"},
		{"redrive", "xyz"},
		{"get", "none", "--limit", "0"},
		{"move", "none"},
		{"redrive", "none", "--rate", "5/d"},
		{"redrive", "none", "--rate", "0/s"},
		{"redrive", "none", "--args", "{"},
		{"redrive", "none", "--args", "{\"password\":\"secret\",\"x\":\"\xff\"}"},
		{"redrive", "none", "--args", `"\u0000"`},
		{"redrive", "none", "--to-queue", "a\xff"},
		{"redrive", "none", "--to-queue", "a\xff", "--dry-run"},
		{"list", "--limit", "0"},
	} {
		s.expect(s.run(append([]string{"dead"}, wrong...)...), 64)
	}
}
