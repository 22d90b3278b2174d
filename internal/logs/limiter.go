package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// LinesASecond is how many lines of one source are logged in a second.
	LinesASecond = 10
	// maxSources bounds the sources that are counted apart; beyond it, lines of the same cause
	// share one source.
	maxSources = 1000
)

// Limiter limits the rate of log lines. It lets LinesASecond lines of each source through in a
// second and counts the others; a second after the first of those it logs their number. It holds
// its lock briefly, and never while it logs.
type Limiter struct {
	log *slog.Logger
	Pen pen

	mu      sync.Mutex
	sources map[source]*flow
	swept   time.Time // last sweep
}

// source is the source of lines: jobs of one kind, for one cause.
type source struct{ kind, cause string }

// flow is the state of a source.
type flow struct {
	at    [LinesASecond]time.Time // times of the last lines, a ring buffer
	next  int                     // index of the oldest
	left  int                     // lines left out
	level slog.Level              // highest level of those
	timer *time.Timer             // logs their number; nil: none left out
}

// NewLimiter returns a limiter that logs to log.
func NewLimiter(log *slog.Logger) *Limiter {
	return &Limiter{log: log, sources: map[source]*flow{}}
}

// Say logs a line about a job, unless its source exceeds the rate limit.
func (l *Limiter) Say(level slog.Level, a About, msg string, attrs ...slog.Attr) {
	ctx := context.Background() //nolint:forbidigo // the log ends no context
	if !l.log.Enabled(ctx, level) || !l.allow(source{a.Kind, msg}, level) {
		return
	}
	l.log.LogAttrs(ctx, level, msg, append(a.Attrs(), attrs...)...) //nolint:sloglint // callers pass a constant, which a test checks
}

// SayLater is Say for callers that must not wait for the user's logger.
func (l *Limiter) SayLater(level slog.Level, a About, msg string, attrs ...slog.Attr) {
	l.Pen.Put(func() { l.Say(level, a, msg, attrs...) })
}

// allow reports whether to log a line, and counts it otherwise.
func (l *Limiter) allow(from source, level slog.Level) bool {
	now := time.Now() //nolint:forbidigo // a duration, not the time of day
	l.mu.Lock()
	defer l.mu.Unlock()
	from, f := l.flow(from, now)
	if oldest := f.at[f.next]; oldest.IsZero() || now.Sub(oldest) >= time.Second {
		f.at[f.next] = now
		f.next = (f.next + 1) % LinesASecond
		return true
	}
	if f.left++; f.left == 1 {
		f.level = level
		f.timer = time.AfterFunc(time.Second, func() { l.logCount(from, f) })
	}
	f.level = max(f.level, level)
	return false
}

// flow returns the state of a source, or of the source that it shares. l.mu is held.
func (l *Limiter) flow(from source, now time.Time) (source, *flow) {
	f := l.sources[from]
	if f != nil {
		return from, f
	}
	if len(l.sources) >= maxSources {
		l.sweep(now)
	}
	if len(l.sources) >= maxSources {
		from.kind = ""
	}
	if f = l.sources[from]; f == nil {
		f = &flow{}
		l.sources[from] = f
	}
	return from, f
}

// sweep removes sources without lines in the last second. l.mu is held.
func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Second {
		return
	}
	l.swept = now
	for from, f := range l.sources {
		last := f.at[(f.next+LinesASecond-1)%LinesASecond]
		if f.left == 0 && now.Sub(last) >= time.Second {
			delete(l.sources, from)
		}
	}
}

// logCount logs how many lines were left out.
func (l *Limiter) logCount(from source, f *flow) {
	l.mu.Lock()
	left, level := f.left, f.level
	f.left, f.timer = 0, nil
	l.mu.Unlock()
	if left == 0 {
		return // logged already
	}
	attrs := append(About{Kind: from.kind}.Attrs(), slog.String(KeyCause, from.cause), slog.Int(KeyLines, left))
	ctx := context.Background() //nolint:forbidigo // nothing ends with it
	l.log.LogAttrs(ctx, level, "similar lines were left out", attrs...)
}

// Flush logs pending counts and lines at once, because the process may end.
func (l *Limiter) Flush() {
	l.Pen.wait()
	l.mu.Lock()
	waiting := map[source]*flow{}
	for from, f := range l.sources {
		if f.timer != nil {
			f.timer.Stop()
			waiting[from] = f
		}
	}
	l.mu.Unlock()
	for from, f := range waiting {
		l.logCount(from, f)
	}
}
