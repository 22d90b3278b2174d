package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// guard keeps a panic in one of the engine's own goroutines from ending the process, and with it every job that runs there. It is logged
// with its stack, and told by the engine's health. What the panic left undone is made up for elsewhere: loops begin again, and a lease that
// nobody works on any more is found by the beat.
type guard struct {
	log *slog.Logger

	mu    sync.Mutex
	parts map[string]Trouble
}

// Trouble is what went wrong in one part of the engine.
type Trouble struct {
	Part   string
	Panics int       // since the engine was made
	Last   string    // the value of the last one
	At     time.Time // when that was
	Down   bool      // the part waits to begin again
}

// catch is deferred by goroutines that do one thing and end.
func (g *guard) catch(part string) {
	if p := recover(); p != nil {
		g.note(part, p, false)
	}
}

func (g *guard) note(part string, p any, down bool) {
	g.log.Error("a panic in Holdfast itself; it goes on, please report this",
		"part", part, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parts == nil {
		g.parts = map[string]Trouble{}
	}
	t := g.parts[part]
	g.parts[part] = Trouble{part, t.Panics + 1, fmt.Sprint(p), time.Now(), down} //nolint:forbidigo // for people
}

// up notes that a part has begun again.
func (g *guard) up(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.parts[part]
	t.Down = false
	g.parts[part] = t
}

// troubles lists the parts that have panicked, by name.
func (g *guard) troubles() []Trouble {
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

// supervise runs a loop until it returns, and again when it panics, ever later, until ctx ends.
func (g *guard) supervise(ctx context.Context, part string, loop func(context.Context)) {
	for try := 1; g.panics(part, func() { loop(ctx) }); try++ {
		sleepFor(ctx, beginAgain.Delay(try))
		g.up(part)
		if ctx.Err() != nil {
			return
		}
	}
}

// panics calls f and reports whether it panicked.
func (g *guard) panics(part string, f func()) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			panicked = true
			g.note(part, p, true)
		}
	}()
	f()
	return false
}
