//go:build !unix

package builtin

import (
	"errors"
	"os/exec"
)

// errNotExecutable is what starting a file that is no program fails with: here the package os/exec says so in other ways.
var errNotExecutable = errors.New("not executable")

// group is the command alone: there are no process groups to signal here.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) group { return group{cmd} }

// terminate kills at once: there is nothing to ask with.
func (g group) terminate() error { return g.cmd.Process.Kill() }

func (g group) kill() { _ = g.cmd.Process.Kill() }
