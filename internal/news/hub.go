package news

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Hub knows the waiters of this process, and the subscriptions of other processes.
type Hub struct {
	store     store.Store
	wake      func(store.Wake)
	waiters   *waiters
	followers *followers
	wanted    wanted
	watched   watched
	wishes    *wishes
	watches   *wishes
	listening *listening
}

// Parts are the dependencies of a hub.
type Parts struct {
	Store  store.Store
	Guard  *supervise.Guard
	Outage *logs.Outage
	// Elsewhere returns those jobs of a namespace ("" for any) that this process neither runs nor
	// has an unwritten outcome of.
	Elsewhere func(namespace string, jobs []store.ID) []store.ID
	// Wake is called with the wake-ups of other processes that concern nodes.
	Wake func(store.Wake)
	// Fatal is called with an error after which nothing can be read any more.
	Fatal func(error)
	// Rarely, if not 0, is the least interval of looks for what wake-ups tell: none is lost.
	Rarely time.Duration
}

// New returns a hub. It is idle until a caller waits.
func New(p Parts) *Hub {
	h := &Hub{store: p.Store, wake: p.Wake}
	h.listening = newListening(p.Store, p.Guard, p.Outage, h.hear, p.Fatal, p.Rarely)
	h.wishes = newWishes(p.Store, p.Guard, h.listening, false)
	h.watches = newWishes(p.Store, p.Guard, h.listening, true)
	h.waiters = newWaiters(p.Store, p.Guard, h.listening, h.wishes, p.Elsewhere, p.Fatal)
	h.followers = newFollowers(h.listening, h.wishes, h.watches)
	return h
}

// Close ends every wait with ErrClosed. Other processes are still notified.
func (h *Hub) Close() {
	h.waiters.close()
	h.followers.close()
	h.wishes.close()
	h.watches.close()
	h.listening.close()
}

// Listen receives the wake-ups of other processes until done is called.
func (h *Hub) Listen() (done func()) { return h.listening.use() }

// Wait calls each once for every job of a namespace ("" for any) as it finishes, or with
// ErrNotFound for a job that does not exist, until it has been called for all or returns false. For
// an id that occurs twice it is called twice.
func (h *Hub) Wait(ctx context.Context, namespace string, ids []store.ID, each func(store.Ended, error) bool) error {
	return h.waiters.wait(ctx, namespace, ids, each)
}

// Follow calls look at once, and then whenever the job may have published something, until look
// reports enough, or the job has ended and a last look found nothing. While the database does not
// answer look is retried; only a permanent error, the end of ctx or ErrClosed ends Follow. It
// returns ErrNotFound if the job does not exist and look has found nothing.
func (h *Hub) Follow(ctx context.Context, namespace string, job store.ID, look func() (found, enough bool, err error)) error {
	return h.follow(ctx, namespace, h.followers.join(job, false), look)
}

// Watch is Follow for all that the runs of a job do: entries of its journal, messages to it, and
// how runs begin and end.
func (h *Hub) Watch(ctx context.Context, namespace string, job store.ID, look func() (found, enough bool, err error)) error {
	return h.follow(ctx, namespace, h.followers.join(job, true), look)
}

func (h *Hub) follow(ctx context.Context, namespace string, f *follower, look func() (found, enough bool, err error)) error {
	defer f.leave()
	job := f.job
	over := make(chan answer, 1)
	h.waiters.begin(namespace, []store.ID{job}, over)
	defer h.waiters.forget(namespace, []store.ID{job}, over)
	var gone error
	for ended := false; ; {
		found, enough, err := look()
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !store.IsRetryable(err):
			return err
		case err != nil:
			supervise.Sleep(ctx, lastLook)
			continue
		case enough:
			return nil
		case ended:
			return gone
		case found:
			f.interval = firstLook
		}
		switch ended, err = f.wait(ctx, over); {
		case ended && errors.Is(err, store.ErrNotFound):
			gone = err
		case err != nil:
			return err
		}
	}
}

// Begun is how many waits have begun.
func (h *Hub) Begun() uint64 { return h.waiters.begunSoFar() }

// Committed notifies the waiters of this process of what a committed batch has ended or published,
// and returns the wake-ups for those of other processes. begun waits had begun before the commit.
func (h *Hub) Committed(batch *store.Batch, begun uint64) []store.Wake {
	for _, o := range batch.Outcomes {
		if o.Err == nil && o.Final.Finished() {
			h.waiters.deliver(o, begun)
		}
	}
	var wakes []store.Wake
	if h.IsWatched() {
		wakes = h.WentOn(wentOn(batch)...)
	}
	jobs := hasNews(batch)
	if len(jobs) == 0 {
		return wakes
	}
	h.followers.tell(jobs)
	return append(wakes, h.forOthers(jobs)...)
}

// IsWatched reports whether anybody watches the runs of any job.
func (h *Hub) IsWatched() bool { return h.followers.watching.Load() > 0 || h.watched.some.Load() }

// WentOn notifies those of this process who watch the runs of jobs, and returns the wake-ups for
// those of other processes.
func (h *Hub) WentOn(jobs ...store.ID) []store.Wake {
	if len(jobs) == 0 {
		return nil
	}
	h.followers.tellWatchers(jobs)
	if jobs = h.watched.of(jobs, h.store.Now()); len(jobs) == 0 {
		return nil
	}
	return []store.Wake{{Kind: store.WakeDetail, Jobs: jobs}}
}

// Ended notifies the waiters of this process of jobs that have ended otherwise than by an outcome,
// and returns the wake-ups for those of other processes.
func (h *Hub) Ended(jobs ...store.ID) []store.Wake {
	if len(jobs) == 0 {
		return nil
	}
	h.EndedHere(jobs)
	return h.forOthers(jobs)
}

// EndedHere is Ended for this process only.
func (h *Hub) EndedHere(jobs []store.ID) {
	h.waiters.look(jobs...)
	h.followers.tell(jobs)
}

// MayHaveEnded is Ended for jobs whose ids are not known.
func (h *Hub) MayHaveEnded() []store.Wake {
	h.waiters.look()
	h.followers.tellAll()
	if !h.wanted.any() {
		return nil
	}
	return []store.Wake{{Kind: store.WakeNews}}
}

// forOthers returns the wake-ups for other processes that wait for the jobs.
func (h *Hub) forOthers(jobs []store.ID) []store.Wake {
	wanted := h.wanted.news(jobs, h.store.Now())
	if len(wanted) == 0 {
		return nil
	}
	return []store.Wake{{Kind: store.WakeNews, Jobs: wanted}}
}

// hear handles a wake-up from another process.
func (h *Hub) hear(w store.Wake) {
	switch w.Kind {
	case store.WakeWanted, store.WakeStillWanted:
		if late := h.wanted.heard(w, h.store.Now()); len(late) > 0 {
			h.store.Notify(store.Wake{Kind: store.WakeNews, Jobs: late})
		}
		return
	case store.WakeWatched:
		if len(w.Jobs) == 0 {
			h.watches.again() // it has not heard who watches before
			return
		}
		// What runs here may have gone on between the first look of who watches and this moment.
		fresh := h.watched.heard(w.Jobs, h.store.Now())
		elsewhere := h.waiters.elsewhere("", slices.Clone(fresh)) // which changes it
		if here := slices.DeleteFunc(fresh, func(id store.ID) bool { return slices.Contains(elsewhere, id) }); len(here) > 0 {
			h.store.Notify(store.Wake{Kind: store.WakeDetail, Jobs: here})
		}
		return
	case store.WakeDetail:
		if len(w.Jobs) == 0 {
			h.followers.tellAll()
		}
		h.followers.tellWatchers(w.Jobs)
		return
	case store.WakeNews, store.WakeAll:
		if w.Kind == store.WakeAll {
			h.store.Notify(store.Wake{Kind: store.WakeWatched})
		}
		h.waiters.look(w.Jobs...)
		if len(w.Jobs) > 0 {
			h.followers.tell(w.Jobs)
		} else {
			h.followers.tellAll()
		}
	default: // concerns nodes only
	}
	h.wake(w)
}
