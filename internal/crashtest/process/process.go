// Package process starts programs that do not outlive the one that started them, and ends, freezes
// and thaws them. It is for tests that kill nodes.
package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// Process is a program that was started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// starter runs functions on one operating system thread that lives as long as this process: on
// Linux the death signal comes when the thread ends that started the child.
var starter = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go serve(calls)
	return calls
})

// serve is the thread. It does not end, so that tests that look for goroutines must know it by this
// name.
func serve(calls <-chan func()) {
	runtime.LockOSThread()
	for call := range calls {
		call()
	}
}

// Start starts a command. On Linux it is killed when this process ends, however that comes about.
func Start(cmd *exec.Cmd) (*Process, error) {
	dieWithParent(cmd)
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Kill ends the process as kill -9 does and returns when it is gone. A process that has ended is
// left in peace.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when the process has ended, with nil if it exited with status 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
