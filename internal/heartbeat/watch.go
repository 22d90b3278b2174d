// Package heartbeat watches whether code makes progress that is supposed to say so: a handler, or
// the function of a step.
//
// It imports nothing of ours.
package heartbeat

import (
	"sync"
	"sync/atomic"
	"time"
)

// Watch calls a function once there was no beat for a limit of time. Its methods may be called
// from anywhere, and do nothing on a nil Watch, so that code that nothing watches pays only for
// the question.
type Watch struct {
	limit time.Duration
	late  func()
	began time.Time // what the times below are counted from, by the monotonic clock

	last  atomic.Int64 // time of the last beat
	holds atomic.Int64 // waits under way that are not those of the watched code

	mu    sync.Mutex
	timer *time.Timer
	due   time.Duration // when the timer fires
	over  bool          // late was called, or Stop
}

// stall is how late a timer may be before it tells more about the process than about the watched
// code: the process was frozen, and the code with it.
const stall = time.Second

// Begin begins to watch. late is called once, in a goroutine of its own, when the limit has passed
// without a beat; until the first beat it counts from now.
func Begin(limit time.Duration, late func()) *Watch {
	w := &Watch{limit: limit, late: late, began: time.Now(), due: limit}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.check)
	return w
}

// Beat notes that there is progress.
func (w *Watch) Beat() {
	if w != nil {
		w.last.Store(int64(w.now()))
	}
}

// Hold stops the time for a wait that is not the watched code's, such as one for the database.
// Release ends it. Calls may overlap.
func (w *Watch) Hold() {
	if w != nil {
		w.holds.Add(1)
	}
}

// Release ends a Hold. It is a beat.
func (w *Watch) Release() {
	if w != nil {
		w.Beat()
		w.holds.Add(-1)
	}
}

// Stop ends the watch. A call of late that has begun goes on.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

func (w *Watch) now() time.Duration { return time.Since(w.began) }

// check calls late if the limit is over, and otherwise looks again when it may be.
func (w *Watch) check() {
	if w.isLate() {
		w.late()
	}
}

func (w *Watch) isLate() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	next := time.Duration(w.last.Load()) + w.limit
	switch {
	case w.over:
		return false
	case w.holds.Load() > 0, now-w.due > stall:
		next = now + w.limit
		w.last.Store(int64(now))
	case next <= now:
		w.over = true
		return true
	}
	w.due = next
	w.timer.Reset(next - now)
	return false
}
