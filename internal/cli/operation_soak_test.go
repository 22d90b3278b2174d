//go:build soak

package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOperationOnANode: the node of "holdfast dev" changes the jobs, and the command waits for it.
func TestOperationOnANode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startProcess(t, dir)
	s := &shell{T: t}
	lines := exec.Command(binary(t), "job", "enqueue", "mail", "--file", "-", "--in", "1h")
	lines.Dir, lines.Env, lines.Stdin = dir, environ(), strings.NewReader(strings.Repeat("{}\n", 1001))
	if out, err := lines.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var done operationJSON
	s.decode(s.expect(command(t, dir, "job", "cancel", "--kind", "mail", "--yes", "--reason", "enough"), 0), &done)
	if done.State != "completed" || done.Changed != 1001 || done.Action != "cancel" {
		t.Errorf("%+v", done)
	}
	if out := s.expect(command(t, dir, "operation", "list", "-o", "name"), 0); out != "operation/"+done.ID+"\n" {
		t.Errorf("%q", out)
	}
	out := s.expect(command(t, dir, "operation", "follow", "operation/"+done.ID, "-o", "table"), 0)
	if out != "cancel: 1001 jobs: 1001 changed\n" {
		t.Errorf("%q", out)
	}
	// Those that were cancelled have finished: none of them can be moved.
	move := command(t, dir, "job", "move", "--state", "cancelled", "--to", "slow", "--yes")
	if move.code != 1 || !strings.Contains(move.stderr, "1001 jobs not changed; the first: job ") {
		t.Errorf("%+v", move)
	}
	s.decode(move.stdout, &done)
	if done.State != "completed" || done.Changed != 0 {
		t.Errorf("%+v", done)
	}
}
