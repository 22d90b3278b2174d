//go:build !unix

package procgroup

import (
	"errors"
	"os/exec"
)

// ErrNotExecutable never occurs: on these systems os/exec reports a file that is no program
// otherwise.
var ErrNotExecutable = errors.New("not executable")

// Group is the command only: these systems have no process groups to signal.
type Group struct{ cmd *exec.Cmd }

// New is the group of a command that has not started.
func New(cmd *exec.Cmd) Group { return Group{cmd} }

// Terminate kills at once, because there is no signal to ask with.
func (g Group) Terminate() error { return g.cmd.Process.Kill() }

// Kill kills at once.
func (g Group) Kill() { _ = g.cmd.Process.Kill() }
