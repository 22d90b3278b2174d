package machine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The stores that a machine must notice: the model, with one mistake each.

// applies changes what arrives of a batch, or what is answered.
type applies struct {
	store.Store
	before, after func(*store.Batch)
}

func onApply(before, after func(*store.Batch)) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &applies{s, before, after} }
}

func (s *applies) Apply(ctx context.Context, batch *store.Batch) error {
	sent := *batch
	if s.before != nil {
		s.before(&sent)
	}
	// What was left out is answered as if it had been done.
	for _, q := range batch.Enqueues {
		q.Result = store.EnqueueResult{ID: q.Job.ID, State: store.Available, RunAt: s.Now()}
	}
	for _, o := range batch.Outcomes {
		o.Final = o.State
	}
	for _, a := range batch.Appends {
		for _, q := range a.Enqueues {
			q.Result = store.EnqueueResult{ID: q.Job.ID, State: store.Available, RunAt: s.Now()}
		}
	}
	err := s.Store.Apply(ctx, &sent)
	batch.Woken = sent.Woken
	if s.after != nil {
		s.after(batch)
	}
	return err
}

func eachEnqueue(f func(*store.Enqueue)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, q := range b.Enqueues {
			f(q)
		}
	}
}

func eachOutcome(f func(*store.Outcome)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, o := range b.Outcomes {
			f(o)
		}
	}
}

func eachAppend(f func(*store.Append)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, a := range b.Appends {
			f(a)
		}
	}
}

func eachSend(f func(*store.Send)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, q := range b.Sends {
			f(q)
		}
	}
}

func eachRequest(f func(*store.Send)) func(*store.Batch) {
	return eachSend(func(q *store.Send) {
		if q.Message.Kind == store.MessageUpdate {
			f(q)
		}
	})
}

type grudging struct{ store.Store }

func (s *grudging) ForgetUpdate(context.Context, string, store.ID, string) error { return nil }

// eachWait changes a copy, since the machine looks at what it sent.
func eachWait(f func(*store.Wait)) func(*store.Batch) {
	return eachOutcome(func(o *store.Outcome) {
		if o.Wait != nil {
			wait := *o.Wait
			f(&wait)
			o.Wait = &wait
		}
	})
}

func mildly(q *store.Enqueue) { q.OnConflict = store.ReturnExisting }

func noDeadline(q *store.Enqueue) { q.Job.Options.Deadline = time.Time{} }

func countSnooze(o *store.Outcome) {
	if o.State == store.Scheduled {
		o.State = store.Retryable
	}
}

type claimsBackwards struct{ store.Store }

func (s *claimsBackwards) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, p)
	slices.Reverse(claimed)
	return claimed, err
}

type claimsAnew struct {
	store.Store
	shift int64
}

func (s *claimsAnew) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	if p.Repeat {
		s.shift += 1_000_000
		p.Seq, p.Repeat = p.Seq+s.shift, false
	}
	return s.Store.Claim(ctx, p)
}

type claimsMore struct{ store.Store }

func (s *claimsMore) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	p.Queues = nil
	return s.Store.Claim(ctx, p)
}

type neverPauses struct{ store.Store }

func (s *neverPauses) Pause(ctx context.Context, p store.PauseParams) error {
	p.Paused = false
	return s.Store.Pause(ctx, p)
}

type deaf struct{ store.Store }

func (s *deaf) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Cancels = nil
	return beat, err
}

type allLead struct{ store.Store }

func (s *allLead) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Leader = p.LeaderTTL > 0
	return beat, err
}

type tellsNothing struct{ store.Store }

func (s *tellsNothing) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Work = store.Work{}
	return beat, err
}

type givesUp struct{ store.Store }

func (s *givesUp) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	info.Policies = maps.Clone(info.Policies)
	for kind, p := range info.Policies {
		p.MaxAttempts = 1
		info.Policies[kind] = p
	}
	return s.Store.Join(ctx, info)
}

type undead struct{ store.Store }

func (s *undead) Rescue(context.Context, store.RescueParams) (store.Rescued, error) {
	return store.Rescued{}, nil
}

type promotesOne struct{ store.Store }

func (s *promotesOne) Promote(ctx context.Context, _ int) (store.Promoted, error) {
	promoted, err := s.Store.Promote(ctx, 1)
	promoted.More = false
	return promoted, err
}

type eager struct{ store.Store }

func (s *eager) Retain(ctx context.Context, p store.Retention) (store.Retained, error) {
	p.Completed /= 2
	p.Cancelled = p.Failed
	return s.Store.Retain(ctx, p)
}

type hides struct{ store.Store }

func (s *hides) List(ctx context.Context, p store.ListParams) (store.Page, error) {
	p.Filter.States = slices.DeleteFunc(slices.Clone(store.States), func(s store.State) bool { return s == store.Completed })
	return s.Store.List(ctx, p)
}

type forgets struct{ store.Store }

func (s *forgets) Entries(ctx context.Context, p store.JournalParams) ([]store.Entry, error) {
	p.Earlier = false
	return s.Store.Entries(ctx, p)
}

type silent struct{ store.Store }

func (s *silent) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	ended, err := s.Store.Ended(ctx, namespace, ids)
	return slices.DeleteFunc(ended, func(e store.Ended) bool { return e.State == store.Completed }), err
}

type neverHolds struct{ store.Store }

func (s *neverHolds) PauseJobs(ctx context.Context, p store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.Store.PauseJobs(ctx, p)
	for _, r := range results {
		if r.Err == nil {
			_, _, _ = s.Resume(ctx, store.ResumeParams{Job: r.Job, Keep: -1, Expect: -1})
		}
	}
	return results, wakes, err
}

type deafToPauses struct{ store.Store }

func (s *deafToPauses) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Pauses = nil
	return beat, err
}

type keepsAll struct{ store.Store }

func (s *keepsAll) Resume(ctx context.Context, p store.ResumeParams) (store.State, []store.Wake, error) {
	p.Keep = -1
	return s.Store.Resume(ctx, p)
}

type expectsAll struct{ store.Store }

func (s *expectsAll) Resume(ctx context.Context, p store.ResumeParams) (store.State, []store.Wake, error) {
	p.Expect = -1
	return s.Store.Resume(ctx, p)
}

type gentle struct{ store.Store }

func (s *gentle) Cancel(ctx context.Context, p store.CancelParams) ([]store.Result, []store.Wake, error) {
	p.Terminate = false
	return s.Store.Cancel(ctx, p)
}

type forksMore struct{ store.Store }

func (s *forksMore) Fork(ctx context.Context, p store.ForkParams) ([]store.Wake, error) {
	p.Keep++
	return s.Store.Fork(ctx, p)
}

type orphans struct{ store.Store }

func (s *orphans) CloseChildren(context.Context, int) (store.Closed, error) {
	return store.Closed{}, nil
}

type untold struct{ store.Store }

func (s *untold) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, p)
	for i := range claimed {
		claimed[i].CancelRequested, claimed[i].CancelReason = false, ""
	}
	return claimed, err
}

// eachStarted changes what a batch tells of the jobs that it started.
func eachStarted(f func(*store.Claimed)) func(*store.Batch) {
	return func(b *store.Batch) {
		if b.Start != nil {
			for i := range b.Start.Claimed {
				f(&b.Start.Claimed[i])
			}
		}
	}
}

func tellNoStart(b *store.Batch) {
	if b.Start != nil {
		b.Start.Claimed = nil
	}
}

func tellBackwards(b *store.Batch) {
	if b.Start != nil {
		slices.Reverse(b.Start.Claimed)
	}
}

// tellNoRepeatedStart forgets what a batch started that is not new.
func tellNoRepeatedStart(b *store.Batch) {
	known := func(q *store.Enqueue) bool { return q.Start && q.Result.Existing }
	if slices.ContainsFunc(b.Enqueues, known) {
		tellNoStart(b)
	}
}

// startsElsewhere starts jobs on some other node if theirs is dead.
type startsElsewhere struct{ store.Store }

func (s *startsElsewhere) Apply(ctx context.Context, batch *store.Batch) error {
	if batch.Start == nil {
		return s.Store.Apply(ctx, batch)
	}
	if _, err := s.Beat(ctx, store.BeatParams{Node: batch.Start.Node}); err == nil {
		return s.Store.Apply(ctx, batch)
	}
	node, err := s.Join(ctx, store.NodeInfo{})
	if err != nil {
		return err
	}
	batch.Start.Node = node
	return s.Store.Apply(ctx, batch)
}

// startsPaused starts jobs of paused queues.
type startsPaused struct{ store.Store }

func (s *startsPaused) Apply(ctx context.Context, batch *store.Batch) error {
	if batch.Start == nil || len(batch.Enqueues) == 0 {
		return s.Store.Apply(ctx, batch)
	}
	queues, err := s.Queues(ctx, batch.Enqueues[0].Job.Namespace)
	if err != nil {
		return err
	}
	pause := func(paused bool) {
		for _, q := range queues {
			if !q.PausedAt.IsZero() {
				_ = s.Pause(ctx, store.PauseParams{Namespace: q.Namespace, Queue: q.Name, Paused: paused, Actor: "ada"})
			}
		}
	}
	pause(false)
	defer pause(true)
	return s.Store.Apply(ctx, batch)
}

// startsFirst starts jobs before it does what comes before the enqueues.
type startsFirst struct{ store.Store }

func (s *startsFirst) Apply(ctx context.Context, batch *store.Batch) error {
	keyed := func(q *store.Enqueue) bool { return len(q.Job.UniqueKey) > 0 } // which an outcome may have freed
	if batch.Start == nil || slices.ContainsFunc(batch.Enqueues, keyed) {
		return s.Store.Apply(ctx, batch)
	}
	if err := s.Store.Apply(ctx, &store.Batch{Enqueues: batch.Enqueues, Start: batch.Start}); err != nil {
		return err
	}
	rest := *batch
	rest.Enqueues, rest.Start = nil, nil
	err := s.Store.Apply(ctx, &rest)
	batch.Woken = rest.Woken
	return err
}
