package kept

import (
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// startOver is how often a store looks at all that it keeps, once more: what it could not see
	// when it passed, since a clock was set or a copy came, is found then.
	startOver = 24 * time.Hour
	// mostLeft bounds what a walk remembers of jobs that were over and had to stay.
	mostLeft = 10_000
)

// Walks are how far a store has looked, by state and time: of the jobs that are that old, which
// belong to a queue that keeps them no longer. It passes each job once for each of the times
// (Rules.Times), and not again and again. It lives in memory: a process that begins to lead looks
// at all of it once.
type Walks struct {
	mu          sync.Mutex
	mark        uint64
	began, last time.Time
	walks       map[Which]*Walk
}

// Which names a walk.
type Which struct {
	State store.State
	Keep  time.Duration
}

// Walk is how far one has come.
type Walk struct {
	At  int64    // when the last job that it has seen finished, in microseconds
	Row int64    // its row, on SQLite
	ID  store.ID // its id
	// Left are jobs that were over and had to stay, as others wait for them. They are looked at
	// again.
	Left []Ended
}

// Ended is a finished job: if it is so in this state since this moment it has not run since.
type Ended struct {
	ID    store.ID
	State store.State
	At    int64
	// Archived is where the job was archived, if it is to leave a stub.
	Archived string
}

// Take returns the walks for as long as they are not given back, or false if another call has
// them.
func (w *Walks) Take(rules *Rules, now time.Time) bool {
	if !w.mu.TryLock() {
		return false
	}
	if w.walks == nil || w.mark != rules.Mark() || now.Sub(w.began) >= startOver || now.Before(w.last) {
		w.walks, w.mark, w.began = map[Which]*Walk{}, rules.Mark(), now
	}
	w.last = now
	return true
}

// Give gives them back.
func (w *Walks) Give() { w.mu.Unlock() }

// Of returns a walk, which begins with the oldest job.
func (w *Walks) Of(which Which) *Walk {
	walk := w.walks[which]
	if walk == nil {
		walk = &Walk{}
		w.walks[which] = walk
	}
	return walk
}

// Again takes some of the jobs that had to stay, to be looked at again, for who removes up to n:
// at most half of that, so that a walk goes on however many others have to stay.
func (w *Walk) Again(n int) []Ended {
	n = min(n/2, len(w.Left))
	again := append([]Ended{}, w.Left[:n]...)
	w.Left = append(w.Left[:0:0], w.Left[n:]...)
	return again
}

// Stay notes jobs that had to stay. Of more than it remembers the rest is found when the store
// starts over.
func (w *Walk) Stay(ids []Ended) {
	w.Left = append(w.Left, ids[:min(len(ids), max(0, mostLeft-len(w.Left)))]...)
}
