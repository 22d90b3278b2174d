package subprocess

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/procgroup"
)

// How long a process may take to end once it is told to, before SIGTERM and before SIGKILL.
const (
	beforeTerm = 2 * time.Second
	beforeKill = 3 * time.Second // after SIGTERM
)

// drainTime is how long outputs are read after a process has ended: only what has left its group
// can keep them open.
const drainTime = time.Second

// process is one that runs jobs, one after the other.
type process struct {
	cmd   *exec.Cmd
	group procgroup.Group
	runs  int

	stdin    *os.File
	writing  sync.Mutex // held for a line
	messages chan heard // closed at the end of standard output
	stderr   *stderr
	deaf     chan struct{} // closed when messages are not received any more
	deafen   func()
	exited   chan struct{} // closed when it has ended and nothing of it is left
	failed   error         // of its end, once exited
	unread   int           // bytes of its standard input, once exited

	released chan bool // whether it goes on after a run
}

// heard is what a process has said, or why that cannot be understood.
type heard struct {
	message

	wrong error
}

// pipes are the ends of the three pipes of a process.
type pipes struct{ ours, theirs [3]*os.File }

func openPipes() (p pipes, err error) {
	for i := range p.ours {
		read, write, failed := os.Pipe()
		if failed != nil {
			p.close()
			return pipes{}, failed
		}
		p.ours[i], p.theirs[i] = read, write
		if i == 0 {
			p.ours[i], p.theirs[i] = write, read
		}
	}
	return p, nil
}

func (p *pipes) close() {
	for i := range p.ours {
		_, _ = p.ours[i].Close(), p.theirs[i].Close() // which a nil file allows
	}
}

// start starts a process. The goroutine must keep its thread until the process has ended, see
// procgroup.
func start(command []string, log *slog.Logger) (*process, error) {
	p, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx,gosec // it lives as long as the pool, and the node says which it is
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	s := &process{
		cmd: cmd, group: procgroup.New(cmd), stdin: p.ours[0],
		messages: make(chan heard), deaf: make(chan struct{}), exited: make(chan struct{}), released: make(chan bool, 1),
	}
	s.deafen = sync.OnceFunc(func() { close(s.deaf) })
	if err := cmd.Start(); err != nil {
		p.close()
		return nil, fmt.Errorf("cannot start %s: %w", command[0], err)
	}
	for _, f := range p.theirs {
		_ = f.Close()
	}
	s.stderr = newStderr(p.ours[2], log.With(logs.KeyPID, cmd.Process.Pid))
	go s.stderr.copy()
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		s.listen(p.ours[1])
	}()
	go s.reap(p, listened)
	return s, nil
}

// reap waits for the end of the process and ends all that belongs to it.
func (p *process) reap(ends pipes, listened <-chan struct{}) {
	defer close(p.exited)
	p.failed = p.cmd.Wait()
	p.group.Kill() // what it has started and left behind
	p.unread = unread(p.stdin)
	_ = p.stdin.Close()
	closing := time.AfterFunc(drainTime, func() { _, _ = ends.ours[1].Close(), ends.ours[2].Close() })
	<-p.stderr.done
	<-listened
	closing.Stop()
	_, _ = ends.ours[1].Close(), ends.ours[2].Close()
}

// listen reads what the process says.
func (p *process) listen(stdout *os.File) {
	defer close(p.messages)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		m, err := parse(lines.Bytes())
		h := heard{message: m}
		if err != nil {
			h.wrong = wrongLine(lines.Bytes(), err)
		}
		if !p.hear(h) {
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.hear(heard{wrong: fmt.Errorf("it wrote a line of more than %d bytes to standard output", maxLine)})
	}
	for more := lines.Err() == nil; more; { // it must not hang on a full pipe while it ends
		more = lines.Scan()
	}
}

// hear hands on what the process has said, and reports whether that was received.
func (p *process) hear(h heard) bool {
	select {
	case p.messages <- h:
		return true
	case <-p.deaf:
		return false
	}
}

func wrongLine(line []byte, err error) error {
	const shown = 200
	more := ""
	if len(line) > shown {
		line, more = line[:shown], "…"
	}
	return fmt.Errorf("it wrote a line to standard output that cannot be understood: %w: %q%s; "+
		"what is meant for people goes to standard error", err, text(line), more)
}

// send writes a line. It waits until the process reads, or has ended.
func (p *process) send(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.stdin.Write(line)
	return err
}

// kill ends the process at once, if it has not ended.
func (p *process) kill() {
	p.deafen()
	select {
	case <-p.exited: // its number may be that of another one
	default:
		p.group.Kill()
		<-p.exited
	}
}

// stop lets the process end, and ends it if it does not.
func (p *process) stop() {
	p.deafen()
	_ = p.stdin.Close()
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{beforeTerm, func() { _ = p.group.Terminate() }}, {beforeKill, p.group.Kill}} {
		timer := time.NewTimer(step.wait)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
			step.then()
		}
	}
	<-p.exited
}

// name is what errors call the process.
func (p *process) name() string { return filepath.Base(p.cmd.Path) }

// end says how the process has ended, once it has.
func (p *process) end() string {
	var exit *exec.ExitError
	switch {
	case p.failed == nil:
		return "it ended with exit status 0"
	case errors.As(p.failed, &exit) && exit.Exited():
		return fmt.Sprintf("it ended with exit status %d", exit.ExitCode())
	}
	return "it ended: " + p.failed.Error()
}
