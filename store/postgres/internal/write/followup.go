package write

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// entriesOf is EntriesOf for enqueues that may have follow-ups. One whose follow-up cannot be
// prepared has the error of that.
func (s *Store) entriesOf(ctx context.Context, enqueues []*store.Enqueue, now int64, foreign bool) ([]*Entry, error) {
	all := store.Unfold(enqueues)
	entries, err := s.EntriesOf(ctx, all, now, foreign)
	if err != nil || len(all) == len(enqueues) {
		return entries, err
	}
	of := make(map[*store.Enqueue]*Entry, len(entries))
	for _, e := range entries {
		of[e.Enqueue] = e
	}
	var firsts []*Entry
	for _, q := range enqueues {
		if e := of[q]; e != nil && e.takeFollowUps(of) {
			firsts = append(firsts, e)
		}
	}
	return firsts, nil
}

// takeFollowUps finds the entries of the follow-ups, theirs included. It returns false if one of
// them cannot be enqueued.
func (e *Entry) takeFollowUps(of map[*store.Enqueue]*Entry) bool {
	for _, q := range e.AllFollowUps() {
		f := of[q]
		if f == nil {
			e.Err = q.Err
			return false
		}
		e.followUps = append(e.followUps, f)
	}
	return true
}

// unfold lists entries and, behind each, those of its follow-ups.
func unfold(entries []*Entry) []*Entry {
	all := entries
	for _, e := range entries {
		if len(e.followUps) > 0 {
			all = append(slices.Clip(all), e.followUps...)
		}
	}
	return all
}

// followUp enqueues the follow-ups of jobs that were inserted just now, or these are not, either.
func followUp(
	ctx context.Context, t pg.Runner, entries []*Entry, now int64, mark bool, enqueue func([]*Entry) error,
) error {
	var all []*Entry
	for _, e := range entries {
		for _, f := range e.followUps {
			f.Result, f.Err = store.EnqueueResult{}, nil
		}
		if e.Result.State != 0 && e.Err == nil {
			all = append(all, e.followUps...)
		}
	}
	return enqueueAwaiting(ctx, t, all, now, mark, enqueue)
}
