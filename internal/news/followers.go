package news

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
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
	byJob map[store.ID]map[*follower]struct{}
}

func newFollowers(l *listening, w *wishes) *followers {
	f := &followers{listening: l, wishes: w, byJob: map[store.ID]map[*follower]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // ends with the engine
	return f
}

// follower waits for news of one job.
type follower struct {
	of       *followers
	job      store.ID
	deaf     func()
	news     chan struct{} // of the job
	anything chan struct{} // of some job
	interval time.Duration // of looks while no wake-ups arrive
}

// join begins to listen for news of a job: what it publishes, and its end. Whoever looks after that misses nothing.
func (f *followers) join(job store.ID) *follower {
	one := &follower{
		of: f, job: job, deaf: f.listening.use(), interval: firstLook, news: make(chan struct{}, 1), anything: make(chan struct{}, 1),
	}
	f.mu.Lock()
	f.count++
	if f.byJob[job] == nil {
		f.byJob[job] = map[*follower]struct{}{}
	}
	f.byJob[job][one] = struct{}{}
	f.mu.Unlock()
	f.wishes.add(job)
	return one
}

func (f *follower) leave() {
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

// wait returns when looking is worth while, and whether the job has ended; with ErrNotFound, because it is not there.
func (f *follower) wait(ctx context.Context, over <-chan answer) (ended bool, err error) {
	looked := time.Now() //nolint:forbidigo // how long it is until the next look
	again := followAgain
	if !f.of.listening.store.Traits().Wakeups {
		again = f.interval
		f.interval = min(2*f.interval, blindFollow)
	}
	look := time.NewTimer(again)
	defer look.Stop()
	anything := f.anything
	for {
		select {
		case a := <-over:
			return true, a.err
		case <-f.news:
			return false, nil
		case <-look.C:
			return false, nil
		case <-anything:
			anything = nil                           // it is enough to know once
			rest := f.of.rest() - time.Since(looked) //nolint:forbidigo // as above
			if rest <= 0 {
				return false, nil
			}
			look.Reset(min(rest, again))
		case <-ctx.Done():
			return false, ctx.Err()
		case <-f.of.ctx.Done():
			return false, store.ErrClosed
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
		for one := range f.byJob[id] {
			supervise.Signal(one.news)
		}
	}
}

// tellAll tells everybody that something has happened to some job.
func (f *followers) tellAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, those := range f.byJob {
		for one := range those {
			supervise.Signal(one.anything)
		}
	}
}

// close ends every wait with ErrClosed.
func (f *followers) close() { f.cancel() }
