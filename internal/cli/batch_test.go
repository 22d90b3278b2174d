package cli

import (
	"strings"
	"testing"
)

// TestBatches: batches are made, filled, listed and cancelled, and mistakes are told before a
// database is opened.
func TestBatches(t *testing.T) {
	s := newShell(t)
	s.ok("migrate", "up")
	id := strings.TrimSpace(s.ok("batch", "create", "--name", "import", "--on-success", "report",
		"--on-failure", `alert:{"to":"ops"}`, "-o", "table"))
	s.holds(s.ok("batch", "get", id, "-o", "table"), "import", "open", "if it has succeeded", "of kind alert")
	s.ok("batch", "add", id, "load", `{"file":"a"}`)
	s.ok("job", "enqueue", "load", `{"file":"b"}`, "--batch", id)
	s.ok("job", "enqueue", "load")
	if got := strings.Count(s.ok("job", "list", "--batch", id, "-o", "json"), `"batch": "`+id); got != 2 {
		t.Errorf("%d members", got)
	}
	s.holds(s.ok("batch", "close", id, "-o", "json"), `"state": "closed"`)
	s.expect(s.run("batch", "add", id, "load"), 1, "is closed")
	s.expect(s.run("job", "enqueue", "load", "--batch", id), 1, "is closed")
	s.holds(s.ok("batch", "cancel", id, "-o", "table"), "asked 2 of its members to stop")
	s.holds(s.ok("batch", "list", "--undone", "-o", "table"), id, "import", "closed", "COUNTED")
	s.expect(s.run("batch", "get", "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"), 1, "no such batch")
	if quiet := s.ok("batch", "create", "-q"); len(quiet) != len(id)+1 {
		t.Errorf("batch create -q says %q", quiet)
	}
	s.holds(s.ok("batch", "cancel", "batch/"+id, "-o", "name"), "batch/"+id)
	for _, wrong := range [][]string{
		{"batch", "create", "--on-end", `report:{`},
		{"batch", "create", "--on-end", ":{}"},
		{"batch", "create", "--id", "x"},
		{"batch", "create", "--name", strings.Repeat("n", 201)},
		{"batch", "get", "x"},
		{"batch", "add", id, "load", "{"},
		{"batch", "list", "--limit", "0"},
		{"job", "enqueue", "load", "--batch", "x"},
		{"job", "list", "--batch", "00000000-0000-0000-0000-000000000000"},
	} {
		if got := s.run(wrong...); got.code != 64 {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
}
