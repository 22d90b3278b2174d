package machine

import (
	"context"
	"slices"
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
	} {
		notices(t, name, breaks, mode{})
	}
	givesBack := eachEnqueue(func(q *store.Enqueue) { q.Job.Options.KeepTurn = false })
	notices(t, "turns that are given back", onApply(givesBack, nil), mode{keyed: true})
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
