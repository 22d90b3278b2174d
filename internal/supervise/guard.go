// Package supervise keeps a process alive through panics of Holdfast's own goroutines: a Guard logs
// them, tells of them in the engine's health, and begins loops again, with a backoff. What a panic
// leaves undone is made up for by who uses the guard.
//
// Of ours, it imports store and internal/logs.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

// Guard keeps a panic in one of the engine's own goroutines from ending the process, and with it
// every job that runs there. It is logged with its stack, and told by the engine's health. What the
// panic left undone is made up for elsewhere: loops begin again, and a lease that has no run any
// more is found by the beat.
type Guard struct {
	lines *logs.Limiter

	mu    sync.Mutex
	parts map[string]Trouble
}

// Trouble is what went wrong in one part of the engine.
type Trouble struct {
	Part   string
	Panics int       // since the engine was made
	Last   string    // the value of the last one
	At     time.Time // when that was
	Down   bool      // the part is a loop that waits to begin again
}

// New returns a guard that tells of panics in lines.
func New(lines *logs.Limiter) *Guard { return &Guard{lines: lines} }

// Catch is deferred by goroutines that do one thing and end.
func (g *Guard) Catch(part string) {
	if p := recover(); p != nil {
		g.Report(part, p, false)
	}
}

// Report tells of a panic. A part that is down stays so until up says otherwise.
func (g *Guard) Report(part string, p any, down bool) {
	g.lines.Say(slog.LevelError, logs.About{}, "a panic in Holdfast itself, which keeps running; please report this",
		slog.String(logs.KeyPart, part), slog.String(logs.KeyError, fmt.Sprintf("panic: %v", p)),
		slog.String(logs.KeyStack, string(debug.Stack())))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parts == nil {
		g.parts = map[string]Trouble{}
	}
	t := g.parts[part]
	g.parts[part] = Trouble{part, t.Panics + 1, fmt.Sprint(p), time.Now(), down || t.Down} //nolint:forbidigo // for people
}

// up notes that a part has begun again.
func (g *Guard) up(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.parts[part]
	t.Down = false
	g.parts[part] = t
}

// Troubles lists the parts that have panicked, by name.
func (g *Guard) Troubles() []Trouble {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Trouble, 0, len(g.parts))
	for _, part := range slices.Sorted(maps.Keys(g.parts)) {
		list = append(list, g.parts[part])
	}
	return list
}

// beginAgain is the wait before a loop that panicked begins again.
var beginAgain = store.Backoff{Base: 100 * time.Millisecond, Cap: 10 * time.Second, Jitter: 0.2}

// ranWell is how long a loop has to run for its next panic to count as its first.
const ranWell = time.Minute

// Supervise runs a loop until it returns, and again when it panics, ever later, until ctx ends.
func (g *Guard) Supervise(ctx context.Context, part string, loop func(context.Context)) {
	g.Restart(part, func() { loop(ctx) }, func(wait time.Duration) bool {
		Sleep(ctx, wait)
		return ctx.Err() == nil
	})
}

// Restart runs a loop until it returns. Each time that it panics it rests, and ends if rest says
// so.
func (g *Guard) Restart(part string, loop func(), rest func(wait time.Duration) (goOn bool)) {
	for try := 1; ; try++ {
		began := time.Now() //nolint:forbidigo // how long it runs, and not what time it is
		if !g.calls(part, true, loop) {
			return
		}
		if time.Since(began) >= ranWell { //nolint:forbidigo // as above
			try = 1
		}
		goOn := rest(beginAgain.Delay(try))
		g.up(part)
		if !goOn {
			return
		}
	}
}

// Try calls f, which is no loop, and reports whether it panicked. Nothing is down because of it:
// what f does is done again when it is needed.
func (g *Guard) Try(part string, f func()) bool { return g.calls(part, false, f) }

func (g *Guard) calls(part string, loop bool, f func()) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			panicked = true
			g.Report(part, p, loop)
		}
	}()
	f()
	return false
}

// ErrPanicked is what callers get whose operation was under way in a panic.
var ErrPanicked = fmt.Errorf("%w: panic in Holdfast; the operation may have happened", store.ErrUnavailable)
