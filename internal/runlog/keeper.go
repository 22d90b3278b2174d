package runlog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// Every is how long lines wait to be written at most, while the database answers.
	Every = time.Second
	// EndPatience is how long the outcome of a run waits for its lines to be written.
	EndPatience = time.Second
	// callTimeout bounds one write.
	callTimeout = 10 * time.Second
	// most is how many bytes are written at once, about.
	most = 1 << 20
	// mostLeft is of how many runs that have ended lines wait for a database that is away.
	mostLeft = 200
)

// Config says what is kept.
type Config struct {
	Off   bool         // nothing is
	Level slog.Leveler // lines from this level on; nil: slog.LevelInfo
}

// Parts are the dependencies of a keeper.
type Parts struct {
	Config

	Keep   func(context.Context, []store.LogChunk) error // of the store
	Guard  *supervise.Guard
	Outage *logs.Outage
	// Lost is called with how many lines were lost, and why.
	Lost func(lines int, err error)
}

// Keeper writes what the runs of a process log. It has no goroutine while nothing is to be written.
type Keeper struct {
	Parts

	force   context.Context
	abandon context.CancelFunc
	flushes sync.WaitGroup

	mu       sync.Mutex
	waiting  []*Run        // with lines to be written
	ends     map[*Run]bool // runs whose outcomes wait, or are just let go on
	timed    bool          // a write is due in a while
	flushing bool          // one is under way
	again    bool          // and another one is to follow at once
	closed   bool
}

// New makes a keeper, which works until Close.
func New(p Parts) *Keeper {
	k := &Keeper{Parts: p, ends: map[*Run]bool{}}
	k.force, k.abandon = context.WithCancel(context.Background())
	return k
}

func (k *Keeper) level() slog.Level {
	if k.Level == nil {
		return slog.LevelInfo
	}
	return k.Level.Level()
}

// Begin returns what a run logs, or nil if nothing is kept.
func (k *Keeper) Begin(c *store.Claimed) *Run {
	if k.Off {
		return nil
	}
	return &Run{keeper: k, job: c.Job.ID, lease: c.Lease.Number, attempt: c.Job.Attempt}
}

// End calls then, which must not block, when the lines of the run are written, which is seen to at
// once, or when that takes too long. Nil is a run that has logged nothing.
func (k *Keeper) End(r *Run, then func()) {
	if r == nil || !r.hasMore() {
		then()
		return
	}
	k.mu.Lock()
	r.ended = true
	if k.closed {
		k.mu.Unlock()
		then()
		return
	}
	r.then, k.ends[r] = then, true
	k.mu.Unlock()
	time.AfterFunc(EndPatience, func() { k.release(r) })
	k.begin()
}

// release lets what waits for the lines of a run go on.
func (k *Keeper) release(r *Run) {
	k.mu.Lock()
	then := r.then
	r.then = nil
	k.mu.Unlock()
	if then != nil {
		k.Guard.Try("the end of a run", then)
		k.mu.Lock()
		delete(k.ends, r)
		k.mu.Unlock()
	}
}

// Ending adds the jobs whose outcomes wait for lines to be written.
func (k *Keeper) Ending(jobs map[store.ID]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for r := range k.ends {
		jobs[r.job] = true
	}
}

// note notes that a run has lines to be written.
func (k *Keeper) note(r *Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append(k.waiting, r)
	k.later()
}

// later has what waits be written in a while. The lock is held.
func (k *Keeper) later() {
	if !k.timed && !k.flushing && !k.closed && len(k.waiting) > 0 {
		k.timed = true
		time.AfterFunc(Every, func() {
			k.mu.Lock()
			k.timed = false
			k.mu.Unlock()
			k.begin()
		})
	}
}

// begin writes what waits, in a goroutine of its own unless one is at it.
func (k *Keeper) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	if k.again = k.flushing; !k.flushing {
		k.flushing = true
		k.flushes.Go(k.flushAll)
	}
}

// flushAll writes until nothing has to be written at once.
func (k *Keeper) flushAll() {
	for {
		ok := false
		k.Guard.Try("logs of runs", func() { ok = k.flush() })
		k.mu.Lock()
		goOn := k.again || ok && k.hasEnds()
		if k.again = false; !goOn {
			k.flushing = false
			k.later()
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
	}
}

// hasEnds reports whether an outcome waits. The lock is held.
func (k *Keeper) hasEnds() bool {
	return slices.ContainsFunc(k.waiting, func(r *Run) bool { return r.then != nil })
}

// flush writes a portion of what waits, first of runs that have ended. It reports whether that
// succeeded.
func (k *Keeper) flush() bool {
	k.mu.Lock()
	runs := k.waiting
	k.waiting = nil
	slices.SortStableFunc(runs, func(a, b *Run) int { return rank(a) - rank(b) })
	k.mu.Unlock()
	var chunks []store.LogChunk
	size, n := 0, 0
	for ; n < len(runs) && size < most; n++ {
		for _, c := range runs[n].take() {
			chunks, size = append(chunks, c), size+len(c.Lines)
		}
	}
	runs, rest := runs[:n], runs[n:]
	k.mu.Lock()
	k.waiting = append(k.waiting, rest...)
	k.again = k.again || len(rest) > 0
	k.mu.Unlock()
	err := k.write(chunks)
	switch {
	case err == nil:
		k.Outage.Succeeded(logs.CallLogs)
		for _, r := range runs {
			if _, more := r.written(); more {
				k.note(r)
			}
		}
	case commit.Transient(err) && k.force.Err() == nil:
		k.Outage.Failed(logs.CallLogs, err)
		k.retry(runs, err)
	default:
		k.lose(runs, err)
	}
	for _, r := range runs {
		k.release(r)
	}
	return err == nil
}

// rank is 0 for a run whose outcome waits.
func rank(r *Run) int {
	if r.then != nil {
		return 0
	}
	return 1
}

// write writes chunks. A panic of the store is an error.
func (k *Keeper) write(chunks []store.LogChunk) (err error) {
	if len(chunks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(k.force, callTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			k.Guard.Report("store", p, false)
			err = supervise.ErrPanicked
		}
	}()
	return k.Keep(ctx, chunks)
}

// retry has what could not be written be written later, but for the lines of runs that ended long
// ago, if there are too many.
func (k *Keeper) retry(runs []*Run, err error) {
	var again []*Run
	for _, r := range runs {
		if r.failed() {
			again = append(again, r)
		}
	}
	k.mu.Lock()
	k.waiting = append(again, k.waiting...)
	k.again = false // not before a while
	left := 0
	var dropped []*Run
	k.waiting = slices.DeleteFunc(k.waiting, func(r *Run) bool {
		if r.ended && r.then == nil {
			left++
		}
		if left <= mostLeft || !r.ended || r.then != nil {
			return false
		}
		dropped = append(dropped, r)
		return true
	})
	k.mu.Unlock()
	k.lose(dropped, err)
}

// lose gives up lines.
func (k *Keeper) lose(runs []*Run, err error) {
	lines := 0
	for _, r := range runs {
		lines += r.forget()
	}
	if lines > 0 {
		k.Lost(lines, err)
	}
}

// Close writes what waits, once, and ends. If that fails, or ctx ends first, the rest is lost,
// which is told.
func (k *Keeper) Close(ctx context.Context) {
	unhook := context.AfterFunc(ctx, k.abandon)
	defer unhook()
	k.begin()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.flushes.Wait()
	k.abandon()
	k.mu.Lock()
	left := k.waiting
	k.waiting = nil
	k.mu.Unlock()
	k.lose(left, store.ErrClosed)
	for _, r := range left {
		k.release(r)
	}
}
