package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// The words between a node and the one who started it. A node says ready, is told to go, says how
// many jobs it has done while that grows, is told to stop, and says how many they were in the end.
const (
	wordReady   = "ready"
	wordGo      = "go"
	wordDone    = "done"
	wordStop    = "stop"
	wordStopped = "stopped"
)

// reportEvery is how often a node says how far it is.
const reportEvery = 5 * time.Millisecond

// serveNode is the node's side.
func serveNode(ctx context.Context, systems []system.System, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(first, &spec); err != nil {
		return err
	}
	sys, err := find(systems, spec.System)
	if err != nil {
		return err
	}
	client, err := sys.Open(ctx, spec.Databases[0], system.Options{Slots: spec.Sizes.Slots})
	if err != nil {
		return err
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	}
	hear := func(word string) error {
		line, err := lines.ReadString('\n')
		if err == nil && strings.TrimSpace(line) != word {
			err = fmt.Errorf("told %q instead of %q", line, word)
		}
		return err
	}
	if err := errors.Join(say(wordReady), hear(wordGo)); err != nil {
		return err
	}
	worker, err := client.Work(ctx, func(args system.Args) {
		if args.Stay {
			<-ctx.Done()
		}
	})
	if err != nil {
		return err
	}
	stop := make(chan error, 1)
	go func() { stop <- hear(wordStop) }()
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for said := int64(0); ; {
		select {
		case err := <-stop:
			if err != nil {
				return err
			}
			n, err := worker.Stop(ctx)
			if err != nil {
				return err
			}
			return errors.Join(say("%s %d", wordStopped, n), client.Close(ctx))
		case <-ticker.C:
			if n := worker.Done(); n > said {
				said = n
				if err := say("%s %d", wordDone, n); err != nil {
					return err
				}
			}
		}
	}
}

// node is the other side.
type node struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	done    int64
	ready   chan struct{}
	stopped chan struct{}
	ended   chan struct{}
}

func startNode(ctx context.Context, program Program, spec Spec) (scenario.Node, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	n := &node{
		cmd: program.command(ctx, partNode), ready: make(chan struct{}), stopped: make(chan struct{}), ended: make(chan struct{}),
	}
	n.in, err = n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go n.listen(out)
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	return n, n.until(ctx, n.ready)
}

func (n *node) listen(out io.Reader) {
	defer close(n.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, number, _ := strings.Cut(lines.Text(), " ")
		if word == wordReady {
			close(n.ready)
			continue
		}
		var count int64
		if _, err := fmt.Sscan(number, &count); err != nil {
			return
		}
		n.mu.Lock()
		n.done = count
		n.mu.Unlock()
		if word == wordStopped {
			close(n.stopped)
		}
	}
}

func (n *node) until(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-n.ended:
		select {
		case <-event: // the last thing that it said
			return nil
		default:
		}
		return errors.New("a node has ended early")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *node) Go() error {
	_, err := io.WriteString(n.in, wordGo+"\n")
	return err
}

func (n *node) Done() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done
}

func (n *node) Stop(ctx context.Context) (int64, error) {
	if _, err := io.WriteString(n.in, wordStop+"\n"); err != nil {
		return 0, err
	}
	err := n.until(ctx, n.stopped)
	return n.Done(), err
}

func (n *node) Close() error {
	<-n.ended // or Wait would close what it is reading
	return errors.Join(n.in.Close(), n.cmd.Wait())
}

// Kill does not tell how the process has ended: that is known.
func (n *node) Kill() error {
	err := n.cmd.Process.Kill()
	<-n.ended
	err = errors.Join(err, n.in.Close())
	_ = n.cmd.Wait()
	return err
}
