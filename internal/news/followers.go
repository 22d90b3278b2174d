package news

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// followAgain is the poll interval of a follower where wake-ups arrive. Where they do not, the
	// interval starts at firstLook and doubles with each empty poll, up to blindFollow.
	followAgain = 5 * time.Second
	blindFollow = time.Second
	// forNothing is about how long an empty poll takes. On SQLite a wake-up says that something has
	// happened but not to which job; all followers together spend at most a quarter of a processor
	// on polls because of such wake-ups.
	forNothing = 50 * time.Microsecond
)

// followers are the callers that read what jobs publish, or all that they do. They are notified
// when a job has news: by the commit in this process, or by a wake-up from another one.
type followers struct {
	listening *listening
	wishes    *wishes // to hear what jobs publish
	watches   *wishes // to hear all that they do

	watching atomic.Int64 // how many read all that jobs do
	ctx      context.Context
	cancel   context.CancelFunc

	mu    sync.Mutex
	count int
	byJob map[store.ID]map[*follower]struct{}
}

func newFollowers(l *listening, wishes, watches *wishes) *followers {
	f := &followers{listening: l, wishes: wishes, watches: watches, byJob: map[store.ID]map[*follower]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // ends with the engine
	return f
}

// follower waits for news of one job.
type follower struct {
	of       *followers
	job      store.ID
	detail   bool // it reads all that the job does
	deaf     func()
	news     chan struct{} // of its job
	anything chan struct{} // of some job
	interval time.Duration // poll interval where no wake-ups arrive
}

// join subscribes to a job: to what it publishes and to its end, or to all that it does. A poll
// after join misses nothing.
func (f *followers) join(job store.ID, detail bool) *follower {
	one := &follower{
		of: f, job: job, detail: detail, deaf: f.listening.use(), interval: firstLook,
		news: make(chan struct{}, 1), anything: make(chan struct{}, 1),
	}
	f.mu.Lock()
	f.count++
	if f.byJob[job] == nil {
		f.byJob[job] = map[*follower]struct{}{}
	}
	f.byJob[job][one] = struct{}{}
	f.mu.Unlock()
	f.wishes.add(job)
	if detail {
		f.watching.Add(1)
		f.watches.add(job)
	}
	return one
}

func (f *follower) leave() {
	f.of.wishes.drop(f.job)
	if f.detail {
		f.of.watching.Add(-1)
		f.of.watches.drop(f.job)
	}
	f.of.mu.Lock()
	f.of.count--
	delete(f.of.byJob[f.job], f)
	if len(f.of.byJob[f.job]) == 0 {
		delete(f.of.byJob, f.job)
	}
	f.of.mu.Unlock()
	f.deaf()
}

// wait returns when a poll is worthwhile. ended reports that the job has ended; err is ErrNotFound
// if it does not exist.
func (f *follower) wait(ctx context.Context, over <-chan answer) (ended bool, err error) {
	looked := time.Now() //nolint:forbidigo // a duration, not the time of day
	again := f.of.listening.every(followAgain)
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
			anything = nil                           // once is enough
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

// rest is the least time between two polls of a follower that may find nothing.
func (f *followers) rest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.count) * 4 * forNothing
}

// tell notifies the followers of the jobs.
func (f *followers) tell(jobs []store.ID) { f.tellSome(jobs, false) }

// tellWatchers notifies those that read all that the jobs do.
func (f *followers) tellWatchers(jobs []store.ID) { f.tellSome(jobs, true) }

func (f *followers) tellSome(jobs []store.ID, watchers bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return
	}
	for _, id := range jobs {
		for one := range f.byJob[id] {
			if one.detail || !watchers {
				supervise.Signal(one.news)
			}
		}
	}
}

// tellAll notifies all followers that some job has news.
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
