package subprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/logs"
)

// The pause before a process is started again that has not ended a run: it doubles.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// Pool is the processes of a kind. Several namespaces of a node can share it.
type Pool struct {
	config  Config
	log     *slog.Logger
	offers  chan offer
	closing chan struct{}
	close   sync.Once
	keepers sync.WaitGroup
}

// offer is a process that is free, or why there is none.
type offer struct {
	process *process
	failed  error
}

// Start starts the processes of a kind. The error is that of a command that cannot be started.
func Start(config Config, log *slog.Logger) (*Pool, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	p := &Pool{config: config, log: log.With(logs.KeyKind, config.Kind), offers: make(chan offer), closing: make(chan struct{})}
	begun := make(chan error, config.Count)
	for range config.Count {
		p.keepers.Go(func() { p.keep(begun) })
	}
	var failed error
	for range config.Count {
		if err := <-begun; err != nil {
			failed = err
		}
	}
	if failed != nil {
		p.Close()
		return nil, fmt.Errorf("the kind %s: %w", config.Kind, failed)
	}
	return p, nil
}

// Register makes the client's node run jobs of the kind in the processes. Args and results are any
// JSON.
func (p *Pool) Register(c *holdfast.Client, opts ...holdfast.HandleOption) error {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](p.config.Kind).Handle(c, p.work, opts...)
}

// Close ends the processes and returns when they have ended. No run may be under way but those that
// were left behind.
func (p *Pool) Close() {
	p.close.Do(func() { close(p.closing) })
	p.keepers.Wait()
}

// keep keeps one process, and tells once how its first start went.
func (p *Pool) keep(begun chan<- error) {
	runtime.LockOSThread() // see procgroup
	defer runtime.UnlockOSThread()
	for failures := 0; ; {
		process, err := start(p.config.Command, p.log)
		first := begun != nil
		if first {
			begun <- err
			begun = nil
		}
		switch {
		case err == nil && p.serve(process):
			failures = 0
		case err != nil && !first: // which Start returns
			p.log.Warn("a subprocess cannot be started", logs.KeyError, err)
			fallthrough
		default:
			failures++
		}
		if !p.pause(failures, err) {
			return
		}
	}
}

// serve offers a process for runs until it has ended, and reports whether it has ended well or has
// ended a run.
func (p *Pool) serve(process *process) (well bool) {
	for {
		select {
		case p.offers <- offer{process: process}:
			goesOn := <-process.released
			if !goesOn {
				process.kill()
				return well
			}
			well = true
			process.runs++
			if p.isWorn(process) {
				process.stop()
				return true
			}
		case h, ok := <-process.messages:
			if !p.endedIdle(process, h, ok) {
				continue
			}
			return well
		case <-p.closing:
			process.stop()
			return true
		}
	}
}

// endedIdle looks at what a process says that has no run. What comes late about a run that has
// ended is nothing; all else ends the process.
func (p *Pool) endedIdle(process *process, h heard, more bool) bool {
	if more && h.wrong == nil && !h.ends() {
		return false
	}
	process.kill()
	var words string
	switch {
	case !more && process.failed == nil && process.runs > 0:
		p.log.Debug("a subprocess ended by itself and is replaced", logs.KeyPID, process.cmd.Process.Pid)
		return true
	case !more:
		words = process.end()
	case h.wrong != nil:
		words = h.wrong.Error()
	default:
		words = fmt.Sprintf("it has ended a run, %q, which it does not have", h.run)
	}
	p.log.Warn("a subprocess without a run was ended", logs.KeyPID, process.cmd.Process.Pid, logs.KeyError, words+quote(process.stderr.end()))
	return true
}

// isWorn reports whether a process is to be replaced.
func (p *Pool) isWorn(process *process) bool {
	if p.config.MaxRuns > 0 && process.runs >= p.config.MaxRuns {
		return true
	}
	return p.config.MaxMemory > 0 && memoryOf(process.cmd.Process.Pid) > p.config.MaxMemory
}

// pause waits before the next start. If the last one has failed, one run that waits meanwhile
// fails. It reports false when the pool closes.
func (p *Pool) pause(failures int, failed error) bool {
	var wait time.Duration
	if failures > 0 {
		wait = min(firstPause<<min(failures-1, 10), maxPause)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var refusals chan<- offer
	if failed != nil {
		refusals = p.offers
	}
	for {
		select {
		case refusals <- offer{failed: failed}:
			refusals = nil
		case <-timer.C:
			return true
		case <-p.closing:
			return false
		}
	}
}

// acquire waits for a process that is free. That is no lack of progress of the run.
func (p *Pool) acquire(run *holdfast.Run) (*process, error) {
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		select {
		case <-run.Done():
			return nil, fmt.Errorf("no process was free: %w", context.Cause(run))
		case o := <-p.offers:
			if o.process != nil && run.Err() != nil { // both came at once
				o.process.released <- true
				continue
			}
			return o.process, o.failed
		case <-beat.C:
			run.Heartbeat()
		}
	}
}
