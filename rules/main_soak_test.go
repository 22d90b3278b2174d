//go:build soak

package rules_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// killable starts such a node, and returns what kills it.
func killable(t *testing.T, database string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), envDatabase+"="+database)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	return kill
}
