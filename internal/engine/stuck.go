package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// The labels of the goroutines that run handlers.
const (
	labelWorker = "holdfast_worker"
	labelKind   = "holdfast_kind"
)

// worker is a goroutine that runs one handler after the other. Its labels tell its stack in reports of stuck handlers, and the kinds of
// jobs apart in CPU profiles. Whatever a handler starts inherits them.
type worker struct {
	name string
	kind string // of the labels that are set
}

var workers atomic.Int64

func newWorker() *worker { return &worker{name: strconv.FormatInt(workers.Add(1), 36)} }

// label labels the calling goroutine, which is the worker's.
func (w *worker) label(kind string) {
	if w.kind == kind {
		return
	}
	w.kind = kind
	labels := pprof.Labels(labelWorker, w.name, labelKind, kind)
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels)) //nolint:forbidigo // nothing but the labels
}

// leaveBehindLater waits, from the moment a run's context has ended, for the handler to return. A handler that does not is
// reported with its stack, the job's outcome is what the end of the context calls for, and its slot goes to the next job.
// The goroutine cannot be killed and stays; what it returns some day is dropped.
func (n *node) leaveBehindLater(x *execution, cause error) {
	time.AfterFunc(n.cfg.StuckAfter, func() {
		defer x.run.Catch("giving up a stuck handler")
		x.run.mu.Lock()
		over := x.run.over
		x.run.mu.Unlock()
		if over || x.run.durable.IsCompensating() {
			return
		}
		n.leaveBehind(x, cause)
	})
}

func (n *node) leaveBehind(x *execution, cause error) {
	stack := stackOf(x.worker)
	text := fmt.Sprintf("the handler ignored the end of its context (%v) for %v and was left behind", cause, n.cfg.StuckAfter)
	var o *store.Outcome
	switch {
	case errors.Is(cause, usercode.ErrCancelled):
		o = &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CancelReason(cause)}
	case errors.Is(cause, usercode.ErrShutdown):
		o = &store.Outcome{State: store.Available, Reason: store.ReasonReleased, Error: text}
	case errors.Is(cause, usercode.ErrTimeout):
		o = x.timedOut(text, usercode.CutTrace(stack))
	case errors.Is(cause, replay.ErrClosing):
		o = x.decided(text, usercode.CutTrace(stack))
	}
	if n.settleElsewhere(x, o) {
		n.lines.Say(slog.LevelError, x.run.about(), "handler is stuck: it ignores its context; its job is taken from it, its goroutine stays",
			slog.String(logs.KeyCause, cause.Error()), slog.String(logs.KeyStack, stack))
	}
}

// decided is the outcome of a run that has failed or was cancelled, and whose strands do not end. If there is something to undo, which
// may be what they are doing, the end is decided again by another run.
func (x *execution) decided(text, trace string) *store.Outcome {
	if o := x.run.durable.Decided(); o != nil {
		return o
	}
	return x.again(store.ReasonError, text, trace, -1)
}

// stackOf returns the stack of the goroutines that carry the worker's label, or "" if there are none.
func stackOf(w *worker) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return ""
	}
	label := fmt.Sprintf("%q:%q", labelWorker, w.name)
	// The profile is one paragraph for each distinct stack, with the labels in a line of their own.
	var found []string
	for paragraph := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(paragraph, label) {
			found = append(found, paragraph)
		}
	}
	return strings.Join(found, "\n\n")
}
