package runlog

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// chunkLines bounds the lines of a chunk, so that not too many go at once when the oldest go.
const chunkLines = 100

// Run is what one run logs.
type Run struct {
	keeper  *Keeper
	job     store.ID
	lease   int64
	attempt int

	mu      sync.Mutex
	next    int64    // the number of the last line
	pending [][]byte // lines that are not written, up to the last one
	size    int      // of pending
	flight  []store.LogChunk
	kept    []piece // chunks that were written, or are being
	lines   int     // of kept
	bytes   int
	keep    int64 // the first line that is kept; 0: all are
	opened  bool  // a chunk was written
	noted   bool  // the keeper knows that there is something to write

	// Guarded by the lock of the keeper.
	ended bool
	then  func() // what waits for the lines to be written; nil: nothing
}

// piece is a chunk that is kept.
type piece struct {
	first        int64
	lines, bytes int
}

// Logger returns a logger that writes to out, and keeps lines for which replays says no.
func (r *Run) Logger(out slog.Handler, replays func() bool) *slog.Logger {
	lines := slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.Level(-1 << 30)})
	return slog.New(&handler{run: r, out: out, lines: lines.WithGroup(attrsKey), replays: replays})
}

// handler keeps lines of a run, and passes them on.
type handler struct {
	run     *Run
	out     slog.Handler
	lines   slog.Handler // writes to the run
	replays func() bool
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.keeps(level) || h.out.Enabled(ctx, level)
}

func (h *handler) keeps(level slog.Level) bool { return level >= h.run.keeper.level() && !h.replays() }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, line slog.Record) error {
	if h.keeps(line.Level) {
		h.keep(ctx, line)
	}
	if !h.out.Enabled(ctx, line.Level) {
		return nil
	}
	return h.out.Handle(ctx, line)
}

// keep keeps a line. Attributes that panic lose it, and nothing else.
func (h *handler) keep(ctx context.Context, line slog.Record) {
	defer func() { _ = recover() }()
	_ = h.lines.Handle(ctx, line.Clone())
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.run, h.out.WithAttrs(attrs), h.lines.WithAttrs(attrs), h.replays}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.run, h.out.WithGroup(name), h.lines.WithGroup(name), h.replays}
}

// Write takes one line. It waits for nothing.
func (r *Run) Write(line []byte) (int, error) {
	own := line
	if len(line) > MaxLine {
		own = cut(line)
	} else {
		own = bytes.Clone(own)
	}
	r.mu.Lock()
	r.next++
	r.pending, r.size = append(r.pending, own), r.size+len(own)
	for len(r.pending) > store.LogRunLines || r.size > store.LogRunBytes {
		r.size -= len(r.pending[0])
		r.pending[0] = nil
		r.pending = r.pending[1:]
	}
	known := r.noted
	r.noted = true
	r.mu.Unlock()
	if !known {
		r.keeper.note(r)
	}
	return len(line), nil
}

// hasMore reports whether there are lines to write.
func (r *Run) hasMore() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) > 0 || len(r.flight) > 0
}

// take returns the chunks to write: those whose fate is unknown, or all that is pending.
func (r *Run) take() []store.LogChunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted = false
	if len(r.flight) > 0 {
		return r.flight
	}
	first := r.next - int64(len(r.pending)) + 1
	for len(r.pending) > 0 {
		n, size := 0, 0
		for n < min(len(r.pending), chunkLines) && size+len(r.pending[n]) <= store.LogChunkBytes {
			size += len(r.pending[n])
			n++
		}
		r.flight = append(r.flight, store.LogChunk{
			Job: r.job, Lease: r.lease, Attempt: r.attempt, First: first, Count: n, Lines: bytes.Join(r.pending[:n], nil),
		})
		r.kept = append(r.kept, piece{first, n, size})
		r.lines, r.bytes = r.lines+n, r.bytes+size
		first, r.pending = first+int64(n), r.pending[n:]
	}
	r.pending, r.size = nil, 0
	for r.lines > store.LogRunLines || r.bytes > store.LogRunBytes {
		r.lines, r.bytes = r.lines-r.kept[0].lines, r.bytes-r.kept[0].bytes
		r.kept = r.kept[1:]
		r.keep = r.kept[0].first
	}
	if len(r.flight) > 0 {
		r.flight[0].Keep, r.flight[0].Opens = r.keep, !r.opened && r.lease > 1 // no run came before the first one
	}
	return r.flight
}

// written says that what was taken is there, or that it never will be. It reports how many lines
// that is, and whether the keeper is to note that there are more.
func (r *Run) written() (lines int, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.flight {
		lines += r.flight[i].Count
	}
	r.flight, r.opened = nil, true
	more = len(r.pending) > 0 && !r.noted
	r.noted = r.noted || more
	return lines, more
}

// failed says that it is unknown whether what was taken is there. It reports whether the keeper is
// to note that.
func (r *Run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.noted
	r.noted = true
	return !known
}

// forget drops what is not written, and returns how many lines that is.
func (r *Run) forget() (lines int) {
	r.mu.Lock()
	lines = len(r.pending)
	r.pending, r.size = nil, 0
	r.mu.Unlock()
	more, _ := r.written()
	return lines + more
}
