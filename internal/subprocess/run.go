package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

// work is the handler: it runs a job in a process.
func (p *Pool) work(run *holdfast.Run, args json.RawMessage) (json.RawMessage, error) {
	line := lineOf(run, args)
	text, err := encode(line)
	if err != nil {
		return nil, holdfast.Fail(fmt.Errorf("cannot encode the job: %w", err))
	}
	for {
		process, err := p.acquire(run)
		if err != nil {
			return nil, err
		}
		result, err, unheard := (&running{Run: run, process: process, id: line.Run}).in(text)
		if !unheard {
			return result, err
		}
	}
}

// in runs the job in the process. It is unheard if the process has ended without hearing of the
// run: one that has ended runs before, ends with status 0, and has not read the line. One that has
// read it may have done what it is told, so that the attempt counts.
func (r *running) in(line []byte) (result json.RawMessage, err error, unheard bool) { //nolint:revive // no error
	r.log = r.Logger(nil).With(logs.KeyPID, r.process.cmd.Process.Pid)
	r.process.stderr.begin(r.log)
	returned := false
	defer func() { r.process.released <- returned && !r.broken }()
	result, err = r.play(line)
	returned = true
	return result, err, r.broken && !r.spoken && r.Err() == nil && r.process.endedWithout(line, r.unsent)
}

// endedWithout reports of a process that has ended whether it has not read a line, and would have
// gone on had it wanted to.
func (p *process) endedWithout(line []byte, unsent bool) bool {
	<-p.exited
	return p.runs > 0 && p.failed == nil && (unsent || p.unread >= len(line))
}

func lineOf(run *holdfast.Run, args json.RawMessage) runLine {
	job := access.JobOf(run)
	lease := run.Lease().Number
	return runLine{
		Type: "run", Run: run.ID().String() + "/" + strconv.FormatInt(lease, 10),
		Job: run.ID().String(), Kind: run.Kind(), Queue: run.Queue(), Namespace: job.Namespace,
		Attempt: run.Attempt(), Lease: lease, EnqueuedAt: run.EnqueuedAt(), Tags: run.Tags(), Metadata: run.Metadata(),
		TraceParent: job.Options.TraceParent, TraceState: job.Options.TraceState, Args: args,
	}
}

// running is a run in a process.
type running struct {
	*holdfast.Run

	process *process
	id      string // what lines call the run
	log     *slog.Logger
	broken  bool // the process has ended
	spoken  bool // the process has said anything
	unsent  bool // the line of the run could not be written whole
	unread  bool // the process was killed because it had closed its standard input
	last    message
}

// play gives the run to the process and listens until it has ended.
func (r *running) play(line []byte) (json.RawMessage, error) {
	sent := r.send(line)
	ended := r.Done()
	var next <-chan time.Time // when the process has had time enough
	steps := []func(){func() { _ = r.process.group.Terminate() }, r.process.group.Kill}
	for {
		select {
		case h, more := <-r.process.messages:
			if over, err := r.hear(h, more); over {
				if r.broken && sent != nil { // nothing reads any more, so this does not wait
					r.unsent = <-sent != nil
				}
				return r.outcome(err)
			}
		case err := <-sent:
			sent = nil
			if r.unsent = err != nil; r.unsent { // it has ended, which is heard soon, or has closed its standard input
				steps, next = []func(){r.killUnread}, time.After(drainTime)
			}
		case <-ended:
			ended = nil
			r.tellEnd()
			next = time.After(beforeTerm)
		case <-next:
			if next = nil; len(steps) > 0 { // else it has been killed, and ends as soon as the system lets it
				steps[0]()
				steps, next = steps[1:], time.After(beforeKill)
			}
		}
	}
}

// send gives the process a line, which may wait for long.
func (r *running) send(line []byte) <-chan error {
	sent := make(chan error, 1)
	go func() { sent <- r.process.send(line) }()
	return sent
}

// hear takes what the process has said, and reports whether the run is over, and if the process has
// broken it why.
func (r *running) hear(h heard, more bool) (over bool, broken error) {
	r.spoken = r.spoken || more
	switch {
	case !more:
		return true, r.breaks(nil)
	case h.wrong != nil:
		return true, r.breaks(h.wrong)
	case h.run != r.id && h.ends():
		return true, r.breaks(fmt.Errorf("it has ended a run, %q, which it does not have", h.run))
	case h.run != r.id:
		return false, nil // it comes late
	case h.ends():
		r.last = h.message
		return true, nil
	}
	switch is := h.is.(type) {
	case *progress:
		r.Progress(is.Percent, is.Message)
	case *heartbeat:
		r.Heartbeat()
	case *logged:
		attrs := make([]slog.Attr, 0, len(is.Attrs))
		for key, value := range is.Attrs {
			attrs = append(attrs, slog.Attr{Key: key, Value: slog.AnyValue(value)})
		}
		r.log.LogAttrs(r, is.level, is.Message, attrs...) //nolint:sloglint // the process says it
	}
	return false, nil
}

// breaks ends the process, because of what it has done or because it has ended, and is why the run
// cannot go on.
func (r *running) breaks(why error) error {
	r.broken = true
	r.process.kill()
	switch {
	case why != nil:
		return why
	case r.unread:
		return errors.New("it has closed its standard input, and was killed")
	}
	return errors.New(r.process.end())
}

func (r *running) killUnread() {
	r.unread = true
	r.process.group.Kill()
}

// tellEnd tells the process that the run has to end.
func (r *running) tellEnd() {
	cause := context.Cause(r)
	line, err := encode(cancelLine{Type: "cancel", Run: r.id, Reason: reasonOf(cause), Text: withoutPrefix(cause)})
	if err != nil {
		return // texts always encode
	}
	go func() { _ = r.process.send(line) }() // one that does not read is ended all the same
}

// reasonOf is the cause of the end of a run's context as a word.
func reasonOf(cause error) string {
	for _, reason := range []struct {
		err  error
		word string
	}{
		{holdfast.ErrCancelled, "cancelled"},
		{holdfast.ErrHeartbeat, "heartbeat"},
		{holdfast.ErrTimeout, "timeout"},
		{store.ErrLeaseLost, "lease_lost"},
	} {
		if errors.Is(cause, reason.err) {
			return reason.word
		}
	}
	return "shutdown"
}

// outcome is what the handler returns, when the process has said how the run has ended, or has
// broken it.
func (r *running) outcome(broken error) (json.RawMessage, error) {
	said := r.process.stderr.end()
	if is, ok := r.last.is.(*result); ok { // which is success even if the context has ended meanwhile
		return is.Result, nil
	}
	var err error
	switch is := r.last.is.(type) {
	case *failure:
		text := is.Error
		if text == "" {
			text = "the subprocess gave no reason"
		}
		err = errors.New(text)
		if broken == nil && context.Cause(r) == nil {
			return nil, is.asked(err)
		}
	case *snooze:
		if context.Cause(r) == nil {
			return nil, holdfast.Snooze(is.wait)
		}
		err = fmt.Errorf("it asked to run again after %v", is.wait)
	default:
		err = fmt.Errorf("%w%s", broken, quote(said))
	}
	name := r.process.name()
	if cause := context.Cause(r); cause != nil {
		return nil, &stoppedError{fmt.Sprintf("%s was stopped: %s: %v", name, withoutPrefix(cause), err), cause}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

// asked is the error with what the process wants to come of it.
func (f *failure) asked(err error) error {
	switch {
	case f.Permanent:
		return holdfast.Fail(err)
	case f.RetryAfter != "":
		return holdfast.RetryAfter(f.after, err)
	}
	return err
}

// stoppedError is that of a run whose context has ended.
type stoppedError struct {
	text  string
	cause error
}

func (e *stoppedError) Error() string { return e.text }
func (e *stoppedError) Unwrap() error { return e.cause }

func withoutPrefix(err error) string { return strings.TrimPrefix(err.Error(), "holdfast: ") }

// quote is the end of what was written to standard error, for an error.
func quote(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}
