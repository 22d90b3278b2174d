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
	// maxSources bounds those that are kept apart at a time; what there is beyond that shares one
	// for each cause.
	maxSources = 1000
)

// Limiter keeps a storm of failures from being a storm of lines. Of each source it lets so many
// through in a second, counts the others, and says the count a second after the first of them,
// which is also when the storm is over. It holds its lock for moments, and never while it logs.
type Limiter struct {
	log *slog.Logger
	Pen pen

	mu      sync.Mutex
	sources map[source]*flow
	swept   time.Time // when those were last looked for that may be forgotten
}

// source is where lines come from: jobs of one kind, for one cause.
type source struct{ kind, cause string }

// flow is what came of a source.
type flow struct {
	at    [LinesASecond]time.Time // of the last lines, in a ring
	next  int                     // which of them is the oldest
	left  int                     // lines that were left out
	level slog.Level              // the highest of theirs
	timer *time.Timer             // that says how many; nil: none was
}

// NewLimiter returns a limiter of what is said to the log.
func NewLimiter(log *slog.Logger) *Limiter {
	return &Limiter{log: log, sources: map[source]*flow{}}
}

// Say logs a line about a job, unless there were too many of them.
func (l *Limiter) Say(level slog.Level, a About, msg string, attrs ...slog.Attr) {
	ctx := context.Background() //nolint:forbidigo // nothing ends with it
	if !l.log.Enabled(ctx, level) || !l.allow(source{a.Kind, msg}, level) {
		return
	}
	l.log.LogAttrs(ctx, level, msg, append(a.Attrs(), attrs...)...) //nolint:sloglint // callers give it as a constant, which a test checks
}

// SayLater is say for those who must not wait for the user's logger.
func (l *Limiter) SayLater(level slog.Level, a About, msg string, attrs ...slog.Attr) {
	l.Pen.Put(func() { l.Say(level, a, msg, attrs...) })
}

// allow reports whether a line is to be logged. One that is not is counted.
func (l *Limiter) allow(from source, level slog.Level) bool {
	now := time.Now() //nolint:forbidigo // how often, and not what time it is
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
		f.timer = time.AfterFunc(time.Second, func() { l.tell(from, f) })
	}
	f.level = max(f.level, level)
	return false
}

// flow returns the flow of a source, or of what stands for it. l.mu is held.
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

// sweep forgets sources of which nothing came in the last second: none of it is needed any more.
// l.mu is held.
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

// tell says how many lines were left out.
func (l *Limiter) tell(from source, f *flow) {
	l.mu.Lock()
	left, level := f.left, f.level
	f.left, f.timer = 0, nil
	l.mu.Unlock()
	if left == 0 {
		return // it was said
	}
	attrs := append(About{Kind: from.kind}.Attrs(), slog.String(KeyCause, from.cause), slog.Int(KeyLines, left))
	ctx := context.Background() //nolint:forbidigo // nothing ends with it
	l.log.LogAttrs(ctx, level, "similar lines were left out", attrs...)
}

// Flush says at once what would be said in a moment: the process may end.
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
		l.tell(from, f)
	}
}
