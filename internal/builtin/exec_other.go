//go:build !unix

package builtin

import (
	"errors"
	"os/exec"
)

// errNotExecutable never occurs: on these systems os/exec reports a file that is no program
// otherwise.
var errNotExecutable = errors.New("not executable")

// group is the command only: these systems have no process groups to signal.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) group { return group{cmd} }

// terminate kills at once, because there is no signal to ask with.
func (g group) terminate() error { return g.cmd.Process.Kill() }

func (g group) kill() { _ = g.cmd.Process.Kill() }
