package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// SetRetention implements store.Retentions.
func (s *Store) SetRetention(ctx context.Context, class store.RetentionClass) (store.RetentionClass, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.RetentionClass{}, err
	}
	defer s.mu.Unlock()
	var before *store.RetentionClass
	was, known := s.classes[class.Name]
	if known {
		before = &was
	}
	switch {
	case class.Check() != nil:
		return store.RetentionClass{}, class.Check()
	case known && was.Same(&class):
		return was, nil
	case class.Allows(before) != nil:
		return store.RetentionClass{}, class.Allows(before)
	case !known && len(s.classes) >= store.MostRetentionClasses:
		return store.RetentionClass{}, store.TooManyRetentions(class.Name)
	}
	class.SetAt = now.Truncate(time.Microsecond)
	s.audit(now, audited.RetentionSet(before, &class))
	s.classes[class.Name] = class
	return class, nil
}

// RetentionClasses implements store.Retentions.
func (s *Store) RetentionClasses(ctx context.Context) ([]store.RetentionClass, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	all := []store.RetentionClass{}
	for _, name := range slices.Sorted(maps.Keys(s.classes)) {
		all = append(all, s.classes[name])
	}
	return all, nil
}

// DeleteRetention implements store.Retentions.
func (s *Store) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckRetentionName(class.Name); err != nil {
		return err
	}
	for of, q := range s.queues {
		if q.Attempts.Retention == class.Name {
			return store.RetentionInUse(class.Name, of.namespace, of.name)
		}
	}
	was, known := s.classes[class.Name]
	if !known {
		return store.NoRetention(class.Name)
	}
	if err := class.Allows(&was); err != nil {
		return err
	}
	s.audit(now, audited.RetentionDeleted(&was, class.SetBy))
	delete(s.classes, class.Name)
	return nil
}

// Removed implements store.Retentions.
func (s *Store) Removed(ctx context.Context, params store.RemovedParams) ([]store.Removed, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	var all []store.Removed
	for of, n := range s.removed {
		if of.queue.namespace == params.Namespace && (params.Queue == "" || of.queue.name == params.Queue) {
			all = append(all, store.Removed{Day: of.day, Queue: of.queue.name, State: of.state, Jobs: n.jobs, Stubs: n.stubs})
		}
	}
	slices.SortFunc(all, func(a, b store.Removed) int {
		return cmp.Or(b.Day.Compare(a.Day), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.State, b.State))
	})
	return all[:min(len(all), params.Limit)], nil
}

// Expired implements store.Retentions.
func (s *Store) Expired(ctx context.Context, params store.Retention) (jobs []store.EndedJob, more bool, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer s.mu.Unlock()
	limit := 1000
	if params.Limit > 0 {
		limit = params.Limit
	}
	for _, j := range s.selected(func(j *job) bool { return s.isExpired(j, params, now) }) {
		if len(jobs) == limit {
			return jobs, true, nil
		}
		jobs = append(jobs, store.EndedJob{ID: j.ID, State: j.state, FinishedAt: j.finishedAt})
	}
	return jobs, false, nil
}

// RemoveExpired implements store.Retentions.
func (s *Store) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (removed int, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if err := store.CheckArchived(jobs); err != nil {
		return 0, err
	}
	for _, e := range jobs {
		j := s.jobs[e.ID]
		if j == nil || j.state != e.State || !j.finishedAt.Equal(e.FinishedAt) || s.isKept(j.ID) || s.isNeeded(j) {
			continue
		}
		n := s.countRemoved(j, now)
		if e.Archived != "" {
			n.stubs++
			s.stubs[j.ID] = store.Stub{
				ID: j.ID, Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind, State: j.state, FinishedAt: j.finishedAt,
				ArchivedAt: now.Truncate(time.Microsecond), Archive: e.Archived,
			}
		}
		s.remove(j)
		removed++
	}
	return removed, nil
}
