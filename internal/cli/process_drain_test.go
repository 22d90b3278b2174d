//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDrainedProcess: a node that another process drains ends its job and its process, which
// returns 0; one that is quiet runs on.
func TestDrainedProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &shell{T: t}
	dev := startProcess(t, dir)
	id := enqueueExec(t, dir, "touch begun; until [ -e go ]; do sleep 0.02; done")
	until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
	s.expect(command(t, dir, "node", "quiet", "1"), 0)
	until(t, "the wish", func() bool { return strings.Contains(dev.stderr.String(), "a person has changed the node's mode") })
	s.expect(command(t, dir, "node", "drain", "1"), 0)
	until(t, "the drain", func() bool { return strings.Contains(dev.stderr.String(), "node stopping") })
	s.expect(command(t, dir, "node", "resume", "1"), 1, "node 1 is draining")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dev.cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	s.expect(command(t, dir, "job", "wait", id, "--wait-timeout", "60s"), 0)
}

// TestDrainOfOneNamespace: the process goes on with the others until they are drained, too.
func TestDrainOfOneNamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &shell{T: t}
	dev := startProcess(t, dir, "--namespace", "default,other")
	started := func() bool { return strings.Count(dev.stderr.String(), "node started") == 2 }
	until(t, "both nodes", started)
	for _, namespace := range []string{"other", "default"} {
		id := ""
		for _, n := range nodesOf(t, command(t, dir, "node", "list", "--output", "json")) {
			if n.Namespace == namespace {
				id = n.ID
			}
		}
		s.expect(command(t, dir, "node", "drain", id), 0)
		if namespace == "other" {
			until(t, "the end of the node", func() bool { return strings.Contains(dev.stderr.String(), "node stopped") })
			job := enqueueExec(t, dir, "true")
			s.expect(command(t, dir, "job", "wait", job, "--wait-timeout", "60s"), 0)
		}
	}
	if err := dev.cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
}

type listedNode struct{ ID, Namespace string }

func nodesOf(t *testing.T, listed outcome) (nodes []listedNode) {
	t.Helper()
	(&shell{T: t}).decode(listed.stdout, &nodes)
	return nodes
}
