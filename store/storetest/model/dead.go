package model

import (
	"bytes"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
)

// DeadGroups implements store.Reader. How groups are ordered and put on pages is what both
// databases share; what is in them is written here once more.
func (s *Store) DeadGroups(ctx context.Context, params store.DeadParams) (page store.DeadPage, err error) {
	if _, err := s.begin(ctx); err != nil {
		return page, err
	}
	defer s.mu.Unlock()
	parts, err := lists.BeginDead(&params)
	if err != nil {
		return page, err
	}
	found := s.selected(func(j *job) bool { return j.state == store.Failed && s.matches(j, &params.Filter) })
	slices.SortFunc(found, func(a, b *job) int {
		if c := a.finishedAt.Compare(b.finishedAt); c != 0 {
			return c
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	type lane struct {
		kind, queue string
		fingerprint int64
	}
	of := map[lane][]*job{}
	for _, j := range found {
		l := lane{j.Kind, j.Queue, j.likeness}
		of[l] = append(of[l], j)
	}
	for l, jobs := range of {
		last := jobs[len(jobs)-1]
		parts.Add(lists.DeadPart{Kind: l.kind, Queue: l.queue, Fingerprint: l.fingerprint, Job: last.ID, LastSeen: last.finishedAt})
	}
	return parts.Page(false, func(parts []lists.DeadPart) ([]lists.DeadCount, error) {
		counts := make([]lists.DeadCount, len(parts))
		for i, p := range parts {
			jobs := of[lane{p.Kind, p.Queue, p.Fingerprint}]
			last := s.record(jobs[len(jobs)-1])
			counts[i] = lists.DeadCount{
				N: min(len(jobs), params.Most+1), FirstSeen: jobs[0].finishedAt, Reason: last.Reason, Error: last.Error,
			}
		}
		return counts, nil
	})
}
