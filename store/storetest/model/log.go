package model

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// KeepLogs implements store.Logs.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckLogs(chunks); err != nil {
		return err
	}
	var opened []*job
	for _, c := range chunks {
		j := s.jobs[c.Job]
		if j == nil {
			continue
		}
		j.keepLog(c)
		if c.Opens {
			opened = append(opened, j)
		}
	}
	for _, c := range chunks { // a chunk that is removed may come with what removes it
		if j := s.jobs[c.Job]; j != nil {
			j.logs = slices.DeleteFunc(j.logs, func(l store.LogChunk) bool { return l.Lease == c.Lease && l.First < c.Keep })
		}
	}
	for _, j := range opened {
		j.dropOldLogs()
	}
	return nil
}

// keepLog puts a chunk to its place, unless it is there.
func (j *job) keepLog(c store.LogChunk) {
	c.Keep, c.Opens, c.Lines = 0, false, bytes.Clone(c.Lines)
	at, there := slices.BinarySearchFunc(j.logs, c.Place(), func(l store.LogChunk, p store.LogPlace) int {
		return cmp.Or(cmp.Compare(l.Lease, p.Lease), cmp.Compare(l.First, p.First))
	})
	if !there {
		j.logs = slices.Insert(j.logs, at, c)
	}
}

// dropOldLogs removes the runs before LogJobRuns later ones, or LogJobBytes of later ones.
func (j *job) dropOldLogs() {
	runs, bytes, run := 0, 0, int64(0)
	for i := len(j.logs) - 1; i >= 0; i-- {
		if c := &j.logs[i]; c.Lease != run {
			run = c.Lease
			if runs++; runs > store.LogJobRuns || bytes >= store.LogJobBytes {
				j.logs = slices.Delete(j.logs, 0, i+1)
				return
			}
		}
		bytes += len(j.logs[i].Lines)
	}
}

// Logs implements store.Logs.
func (s *Store) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	j := s.in(params.Namespace, params.Job)
	if j == nil {
		return nil, nil
	}
	var page []store.LogChunk
	for _, c := range j.logs {
		if params.After.Before(c.Place()) && len(page) < params.Limit {
			c.Lines = bytes.Clone(c.Lines)
			page = append(page, c)
		}
	}
	return page, nil
}
