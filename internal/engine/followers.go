package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// followAgain is how often a follower looks although nobody has told it anything, where wake-ups arrive. Where they do not, it
	// begins with firstLook, and twice as long each time that it was for nothing, up to blindFollow.
	followAgain = 5 * time.Second
	blindFollow = time.Second
	// forNothing is about how long a look takes that finds nothing. Followers who are told that something has happened somewhere,
	// and not where, as on SQLite, spend a quarter of a processor on it, together.
	forNothing = 50 * time.Microsecond
)

// followers are those who read what jobs publish. They are told when a job has news: at once by what is committed in this process, by a
// wake-up of the others.
type followers struct {
	listening *listening
	wishes    *wishes
	ctx       context.Context
	cancel    context.CancelFunc

	mu    sync.Mutex
	count int
	byJob map[store.ID]map[*Follower]struct{}
}

func newFollowers(l *listening, w *wishes) *followers {
	f := &followers{listening: l, wishes: w, byJob: map[store.ID]map[*Follower]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // ends with the engine
	return f
}

// Follower waits for news of one job. It belongs to one goroutine.
type Follower struct {
	of       *followers
	job      store.ID
	deaf     func()
	news     chan struct{} // of the job
	anything chan struct{} // of some job
	looked   time.Time
	interval time.Duration // of looks while no wake-ups arrive
}

// Follow begins to listen for news of a job: what it publishes, and its end. Whoever looks after that misses nothing.
func (e *Engine) Follow(job store.ID) *Follower {
	f := &Follower{
		of: e.followers, job: job, deaf: e.listening.use(), interval: firstLook,
		news: make(chan struct{}, 1), anything: make(chan struct{}, 1),
	}
	f.of.mu.Lock()
	f.of.count++
	if f.of.byJob[job] == nil {
		f.of.byJob[job] = map[*Follower]struct{}{}
	}
	f.of.byJob[job][f] = struct{}{}
	f.of.mu.Unlock()
	e.wishes.add(job)
	return f
}

// Close ends the listening.
func (f *Follower) Close() {
	f.of.wishes.drop(f.job)
	f.of.mu.Lock()
	f.of.count--
	delete(f.of.byJob[f.job], f)
	if len(f.of.byJob[f.job]) == 0 {
		delete(f.of.byJob, f.job)
	}
	f.of.mu.Unlock()
	f.deaf()
}

// Found tells the follower that its look has found something: it looks more often while no wake-ups arrive.
func (f *Follower) Found() { f.interval = firstLook }

// Wait returns when looking is worth while, or with the error of ctx, or ErrClosed.
func (f *Follower) Wait(ctx context.Context) error {
	now := time.Now() //nolint:forbidigo // how long it is until the next look
	again := followAgain
	if !f.of.listening.store.Traits().Wakeups {
		again = f.interval
		f.interval = min(2*f.interval, blindFollow)
	}
	look := time.NewTimer(again)
	defer look.Stop()
	f.looked = now
	anything := f.anything
	for {
		select {
		case <-f.news:
			return nil
		case <-look.C:
			return nil
		case <-anything:
			anything = nil                             // it is enough to know once
			rest := f.of.rest() - time.Since(f.looked) //nolint:forbidigo // as above
			if rest <= 0 {
				return nil
			}
			look.Reset(min(rest, again))
		case <-ctx.Done():
			return ctx.Err()
		case <-f.of.ctx.Done():
			return store.ErrClosed
		}
	}
}

// rest is how long a follower rests between looks that may be for nothing.
func (f *followers) rest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.count) * 4 * forNothing
}

// tell tells those who follow one of the jobs.
func (f *followers) tell(jobs []store.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return
	}
	for _, id := range jobs {
		for follower := range f.byJob[id] {
			signal(follower.news)
		}
	}
}

// tellAll tells everybody that something has happened to some job.
func (f *followers) tellAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, those := range f.byJob {
		for follower := range those {
			signal(follower.anything)
		}
	}
}

// close ends every wait with ErrClosed.
func (f *followers) close() { f.cancel() }
