package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/storetest/model/match"
)

// List implements store.Reader. Where pages begin, and how a cursor is written, is what both
// databases share; which jobs fit is written here once more, as plainly as it can be.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.mu.Unlock()
	after, err := lists.Begin(&params)
	if err != nil {
		return store.Page{}, err
	}
	if _, err := s.wanted(&params.Filter); err != nil {
		return store.Page{}, err
	}
	found := s.selected(func(j *job) bool {
		return params.Sort.States().Has(j.state) && s.matches(j, &params.Filter) &&
			(after == nil || lists.Compare(params.Sort, j.place(params.Sort), *after) > 0)
	})
	slices.SortFunc(found, func(a, b *job) int { return lists.Compare(params.Sort, a.place(params.Sort), b.place(params.Sort)) })
	var page store.Page
	for i, j := range found {
		if i == params.Limit {
			page.Next = lists.Cursor(params.Sort, found[i-1].place(params.Sort))
			break
		}
		page.Jobs = append(page.Jobs, s.record(j))
	}
	return page, nil
}

// place is where a job is in an order.
func (j *job) place(sort store.Sort) lists.Place {
	p := lists.Place{ID: j.ID}
	switch {
	case sort == store.SortFinished:
		p.At = j.finishedAt.UnixMicro()
	case sort == store.SortRunAt && j.due().IsZero():
		p.At = lists.NoTime
	case sort == store.SortRunAt:
		p.At = j.due().UnixMicro()
	}
	return p
}

// due is the run time of a job as records tell it.
func (j *job) due() time.Time {
	if j.held() {
		return time.Time{}
	}
	return j.RunAt
}

// Count implements store.Reader, in one part.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Counted{}, err
	}
	defer s.mu.Unlock()
	if _, _, err := lists.BeginCount(&params); err != nil {
		return store.Counted{}, err
	}
	if _, err := s.wanted(&params.Filter); err != nil {
		return store.Counted{}, err
	}
	return store.Counted{N: len(s.selected(func(j *job) bool { return s.matches(j, &params.Filter) }))}, nil
}

// WaitingOfKeys implements store.Reader.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if _, err := lists.NewWaiting(params); err != nil {
		return nil, err
	}
	counts := make([]int, len(params.Keys))
	for i, key := range params.Keys {
		counts[i] = min(params.Most, len(s.selected(func(j *job) bool {
			return j.Namespace == params.Namespace && j.Queue == params.Queue && lists.Waits.Has(j.state) &&
				j.Options.Limit == key.Limit && j.Options.LimitKey == key.Key
		})))
	}
	return counts, nil
}

// matches reports whether a job fits a filter: each line is a field.
func (s *Store) matches(j *job, f *store.Filter) bool {
	none, ended := store.ID{}, j.state.Finished()
	made := time.UnixMilli(int64(j.ID[0])<<40 | int64(j.ID[1])<<32 | int64(j.ID[2])<<24 |
		int64(j.ID[3])<<16 | int64(j.ID[4])<<8 | int64(j.ID[5]))
	return (f.Namespace == "" || f.Namespace == j.Namespace) &&
		match.Among(f.Queues, j.Queue) &&
		match.Among(f.Kinds, j.Kind) &&
		match.Among(f.IDs, j.ID) &&
		match.Among(f.States, j.state) &&
		(len(f.Reasons) == 0 || (j.state == store.Failed || j.state == store.Cancelled) && slices.Contains(f.Reasons, j.reason)) &&
		(len(f.Fingerprints) == 0 || j.state == store.Failed && slices.Contains(f.Fingerprints, j.likeness)) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(j.Tags, tag) }) &&
		(len(f.UniqueKey) == 0 || bytes.Equal(f.UniqueKey, j.UniqueKey) && s.holdsKey(j)) &&
		(f.Key == "" || f.Key == j.Options.Key && s.keys[j.Key()].job == j.ID) &&
		(f.Parent == none || f.Parent == j.Parent) &&
		(f.Batch == none || f.Batch == j.Batch) &&
		(!f.NoParent || j.Parent == none) &&
		(f.Root == none || s.descends(j, f.Root)) &&
		(f.LostFrom == 0 || slices.ContainsFunc(j.lost, func(node int64) bool { return node == f.LostFrom })) &&
		match.Within(f.CreatedAfter, f.CreatedBefore, time.Millisecond, made) &&
		(f.RunAfter.IsZero() && f.RunBefore.IsZero() ||
			!ended && !j.due().IsZero() && match.Within(f.RunAfter, f.RunBefore, time.Microsecond, j.due())) &&
		(f.FinishedAfter.IsZero() && f.FinishedBefore.IsZero() ||
			ended && match.Within(f.FinishedAfter, f.FinishedBefore, time.Microsecond, j.finishedAt)) &&
		match.All(f.Metadata, j.Metadata) &&
		s.valued(j, f) &&
		(len(f.Args) == 0 || j.Codec == 0 && match.All(f.Args, j.Args))
}

// descends reports whether a job is a child of another one, or of one of its descendants.
func (s *Store) descends(j *job, root store.ID) bool {
	for j != nil && j.Parent != (store.ID{}) {
		if j.Parent == root {
			return true
		}
		j = s.jobs[j.Parent]
	}
	return false
}
