package shortlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// The lines of a node that a Handler rewords: docs/logging.md.
const (
	LineStarted     = "job started"
	LineEnded       = "job ended"
	LineFailed      = "job failed"
	LineAttempt     = "attempt failed; the job will be retried"
	linePanicked    = "attempt panicked; the job will be retried"
	linePanickedOut = "attempt panicked; the job was cancelled or paused meanwhile"
	lineHeld        = "run held: its code does not fit its journal; resume or fork the job"
	lineStep        = "step failed; it will be retried"
	lineUnserved    = "jobs are waiting, but no node serves them"
	lineLeftOut     = "similar lines were left out"
	LineNodeStarted = "node started"
	lineNodeStopped = "node stopped"
)

const (
	// shortLines is how many lines of jobs that start and end are shown in a second. In a second
	// with more, and until a second has fewer, they are counted.
	shortLines = 20
	// shortBuffer bounds the bytes that wait for a blocked terminal.
	shortBuffer = 64 << 10
	// shortPatience is how long the end of a command waits for a blocked terminal.
	shortPatience = time.Second
	// shortText is how many runes of an error are shown. "job get" shows all of it.
	shortText = 300
)

// Handler writes a node's log as short lines for a person at a terminal: which jobs start, how they
// end, what fails. A blocked terminal costs lines and never blocks the node.
type Handler struct {
	out   io.Writer
	level slog.Level

	mu      sync.Mutex
	pending []byte        // lines to write
	lost    int           // lines dropped because the buffer was full
	writing chan struct{} // closed when the writer goroutine ends; nil: none runs

	second *time.Timer // ends the current second; nil: nothing has happened in it
	storm  bool        // the last second had too many lines
	jobs   jobCounts   // of the current second
	ended  bool
}

// jobCounts counts events of jobs.
type jobCounts struct{ started, done, other int }

func (c jobCounts) all() int { return c.started + c.done + c.other }

// New returns a Handler that writes lines of a level and above.
func New(out io.Writer, level slog.Level) *Handler { return &Handler{out: out, level: level} }

// Enabled implements slog.Handler. Starts and successful ends are logged at DEBUG, and shown as if
// they were INFO.
func (s *Handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= s.level || s.level <= slog.LevelInfo && level >= slog.LevelDebug
}

// Handle implements slog.Handler.
func (s *Handler) Handle(_ context.Context, r slog.Record) error {
	switch {
	case r.Level == slog.LevelDebug && r.Message == LineStarted:
		s.job(r, jobCounts{started: 1})
	case r.Level == slog.LevelDebug && r.Message == LineEnded:
		s.job(r, endOf(r))
	case r.Level >= s.level:
		s.write(shortLine(r), r.Message == lineNodeStopped)
	}
	return nil
}

// endOf returns what to count for a job that ends. A failed one has a line of its own, which the
// node rate-limits.
func endOf(r slog.Record) (c jobCounts) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "state" {
			return true
		}
		switch a.Value.String() {
		case "completed":
			c.done = 1
		case "failed", "retryable":
		default:
			c.other = 1
		}
		return false
	})
	return c
}

// WithAttrs implements slog.Handler. Nodes do not use it.
func (s *Handler) WithAttrs(attrs []slog.Attr) slog.Handler { return withAttrs{s, attrs} }

// WithGroup implements slog.Handler. Nodes do not use it.
func (s *Handler) WithGroup(string) slog.Handler { return s }

// withAttrs is a Handler with attributes.
type withAttrs struct {
	*Handler

	attrs []slog.Attr
}

func (w withAttrs) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(w.attrs...)
	return w.Handler.Handle(ctx, r)
}

func (w withAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withAttrs{w.Handler, slices.Concat(w.attrs, attrs)}
}

// job shows a job that starts or ends well, or counts it.
func (s *Handler) job(r slog.Record, c jobCounts) {
	if c == (jobCounts{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.second == nil && !s.ended {
		s.second = time.AfterFunc(time.Second, s.endSecond)
	}
	s.jobs.started += c.started
	s.jobs.done += c.done
	s.jobs.other += c.other
	if !s.storm && s.jobs.all() <= shortLines {
		s.put(shortLine(r))
	}
}

// endSecond prints the counts.
func (s *Handler) endSecond() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printCounts()
	s.second = nil
	if s.storm && !s.ended { // until a second has fewer
		s.second = time.AfterFunc(time.Second, s.endSecond)
	}
}

// printCounts prints the counts that were not shown. s.mu is held.
func (s *Handler) printCounts() {
	counts := s.jobs
	over := counts.all() > shortLines
	s.jobs = jobCounts{}
	if counts.all() > 0 && (over || s.storm) {
		s.put(time.Now().Format(time.TimeOnly) + "  " + counts.String() + " in the last second")
	}
	s.storm = over
}

// String formats the counts, such as "1,240 jobs done, 3 started".
func (c jobCounts) String() string {
	var parts []string
	count := func(n int, what string) {
		if n == 0 {
			return
		}
		text := thousands(n)
		if len(parts) == 0 {
			text += map[bool]string{true: " job", false: " jobs"}[n == 1]
		}
		parts = append(parts, text+" "+what)
	}
	count(c.done, "done")
	count(c.other, "parked, snoozed, cancelled or given back")
	if c.started > c.done+c.other {
		count(c.started, "started")
	}
	if len(parts) == 0 {
		return "nothing done"
	}
	return strings.Join(parts, ", ")
}

// thousands formats a number with separators: 1,240.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// write writes a line, and before it the counts if it is the last one.
func (s *Handler) write(line string, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last {
		s.printCounts()
	}
	s.put(line)
}

// put queues a line for the writer goroutine if there is room; a line that no other waits before
// always has room. s.mu is held.
func (s *Handler) put(line string) {
	if len(s.pending) > 0 && len(s.pending)+len(line) > shortBuffer {
		s.lost++
		return
	}
	s.printLost()
	s.pending = append(append(s.pending, line...), '\n')
	s.flush()
}

// printLost prints how many lines were dropped. s.mu is held.
func (s *Handler) printLost() {
	if s.lost > 0 {
		s.pending = fmt.Appendf(s.pending, "(%s more: nobody took them in time)\n", output.Plural(s.lost, "line"))
		s.lost = 0
	}
}

// flush starts the writer goroutine for pending lines. s.mu is held.
func (s *Handler) flush() {
	if s.writing == nil && len(s.pending) > 0 {
		s.writing = make(chan struct{})
		go s.writeOut()
	}
}

// writeOut writes until nothing is pending.
func (s *Handler) writeOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > 0 {
		lines := s.pending
		s.pending = nil
		s.mu.Unlock()
		_, _ = s.out.Write(lines) // a closed terminal takes none
		s.mu.Lock()
	}
	close(s.writing)
	s.writing = nil
}

// End prints what is left, and waits shortPatience for the terminal.
func (s *Handler) End() {
	s.mu.Lock()
	if s.second != nil {
		s.second.Stop()
		s.second = nil
	}
	s.printCounts()
	s.printLost()
	s.flush()
	s.ended = true
	writing := s.writing
	s.mu.Unlock()
	if writing == nil {
		return
	}
	patience := time.NewTimer(shortPatience)
	defer patience.Stop()
	select {
	case <-writing:
	case <-patience.C:
	}
}
