package engine

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
)

// Labels of the goroutines that run handlers.
const (
	labelWorker = "holdfast_worker"
	labelKind   = "holdfast_kind"
)

var workers atomic.Int64

func newWorker() *worker { return &worker{name: strconv.FormatInt(workers.Add(1), 36)} }

// label sets the labels of the calling goroutine, which must be the worker's.
func (w *worker) label(kind string) {
	if w.kind == kind {
		return
	}
	w.kind = kind
	labels := pprof.Labels(labelWorker, w.name, labelKind, kind)
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels)) //nolint:forbidigo // only for the labels
}

// stackOf returns the stack of the goroutines that carry the worker's label, or "" if there are
// none.
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
