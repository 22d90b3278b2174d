package model

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// StuckKeys implements store.Reader, in the order of the keys' bytes.
func (s *Store) StuckKeys(ctx context.Context, params store.StuckKeysParams) (page store.StuckPage, err error) {
	if _, err := s.begin(ctx); err != nil {
		return page, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return page, err
	}
	var keys []string
	for name := range s.turns {
		if name.namespace == params.Namespace && name.queue == params.Queue && name.key > params.After {
			keys = append(keys, name.key)
		}
	}
	slices.Sort(keys)
	keys = keys[:min(len(keys), params.Look)]
	for _, key := range keys {
		name := keyName{params.Namespace, params.Queue, key}
		j := s.jobs[s.turns[name]]
		if j.state != store.Failed {
			page.Add(key, nil)
			continue
		}
		behind := len(s.selected(func(b *job) bool { return b.state == store.Available && b.ID != j.ID && b.keyName() == name }))
		page.Add(key, &store.StuckKey{
			Key: key, Job: j.ID, Since: j.finishedAt, Reason: j.reason,
			Waiting: store.Count{N: min(behind, store.StuckBound), More: behind > store.StuckBound},
		})
	}
	page.End(&params, len(keys))
	return page, nil
}
