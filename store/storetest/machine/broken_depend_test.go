package machine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesDependencies breaks what concerns jobs that come after others.
func TestTheMachineNoticesDependencies(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(store.Store) store.Store{
		"jobs that do not wait": onApply(eachEnqueue(func(q *store.Enqueue) { q.After = nil }), nil),
		"another policy": onApply(eachEnqueue(func(q *store.Enqueue) {
			q.After = slices.Clone(q.After) // the model has the same
			for i := range q.After {
				q.After[i].IfFailed = store.RunIfFailed
			}
		}), nil),
		"failures and cancels confused": onApply(eachEnqueue(func(q *store.Enqueue) {
			q.After = slices.Clone(q.After)
			for i := range q.After {
				if q.After[i].IfFailed == store.OnlyIfFailed {
					q.After[i].IfFailed = store.OnlyIfCancelled
				}
			}
		}), nil),
		"the first one is enough":       onApply(eachEnqueue(func(q *store.Enqueue) { q.After = q.After[:min(1, len(q.After))] }), nil),
		"follow-ups that are forgotten": onApply(eachEnqueue(func(q *store.Enqueue) { q.FollowUps = nil }), nil),
		"ends that are not told":        func(s store.Store) store.Store { return &orphans{s} },
		"a wait that is not kept":       func(s store.Store) store.Store { return &dependsNever{s} },
		"another one that is named":     func(s store.Store) store.Store { return &namesOther{s} },
		"one that is said to be gone":   func(s store.Store) store.Store { return &namesLater{Store: s, gone: true} },
	} {
		notices(t, name, breaks, mode{})
	}
	givesBack := eachEnqueue(func(q *store.Enqueue) { q.Job.Options.KeepTurn = false })
	namesALater := func(s store.Store) store.Store { return &namesLater{Store: s} }
	notices(t, "a later one that is named", namesALater, mode{durable: true})
	notices(t, "turns that are given back", onApply(givesBack, nil), mode{keyed: true})
}

// namesOther says of a job that it was cancelled because of itself.
type namesOther struct{ store.Store }

func (s *namesOther) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	page, err := s.Store.List(ctx, params)
	for i := range page.Jobs {
		if r := &page.Jobs[i]; strings.HasPrefix(r.Error, "not needed: ") {
			r.Error = store.OnlyIfFailed.UnmetWords(r.ID, store.Completed)
		}
	}
	return page, err
}

// namesLater says of a job that it was cancelled because of one that has ended since, or that the
// one because of which it was is not there any more.
type namesLater struct {
	store.Store

	gone  bool
	after map[store.ID][]store.Dependency
	ended map[store.ID][]store.ID // of those that have been cancelled, which had ended before
}

func (s *namesLater) Apply(ctx context.Context, b *store.Batch) error {
	if s.after == nil {
		s.after, s.ended = map[store.ID][]store.Dependency{}, map[store.ID][]store.ID{}
	}
	for _, q := range store.Unfold(b.Enqueues) {
		s.after[q.Job.ID] = q.After
	}
	return s.Store.Apply(ctx, b)
}

func (s *namesLater) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	page, err := s.Store.List(ctx, params)
	for i := range page.Jobs {
		if r := &page.Jobs[i]; r.State == store.Cancelled && strings.Contains(r.Error, "job ") {
			s.name(ctx, r)
		}
	}
	return page, err
}

func (s *namesLater) name(ctx context.Context, r *store.Record) {
	before, known := s.ended[r.ID]
	for _, d := range s.after[r.ID] {
		p, err := s.Get(ctx, "", d.On)
		switch {
		case d.IfFailed == store.HoldIfFailed || d.IfFailed.Lets(p.State):
		case s.gone && err != nil && strings.Contains(r.Error, d.On.String()):
			r.Error = d.IfFailed.UnmetWords(d.On, 0)
		case err != nil || !p.State.Finished():
		case !known:
			s.ended[r.ID] = append(s.ended[r.ID], d.On)
		case !s.gone && !slices.Contains(before, d.On):
			r.Error = d.IfFailed.UnmetWords(d.On, p.State)
		}
	}
}

// dependsNever says that a job waits, and lets it run.
type dependsNever struct{ store.Store }

func (s *dependsNever) Depend(ctx context.Context, params store.DependParams) (store.State, []store.Wake, error) {
	before, err := s.Get(ctx, params.Namespace, params.Job)
	state, wakes, err2 := s.Store.Depend(ctx, params)
	if err == nil && err2 == nil && before.State != store.Waiting && state == store.Waiting {
		_, _, err2 = s.Resume(ctx, store.ResumeParams{Job: params.Job, Keep: -1, Expect: -1})
	}
	return state, wakes, err2
}
