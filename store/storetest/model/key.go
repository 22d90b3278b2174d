package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

func enqueueIDOf(q *store.Enqueue) enqueueID { return enqueueID{q.Job.Namespace, q.Job.ID} }

// holds reports whether the job of the key, or what it has left behind, keeps others from taking
// it.
func (k businessKey) holds(s *Store, now time.Time) bool {
	j := s.jobs[k.job]
	switch {
	case k.keep < 0:
		return true
	case j == nil:
		return k.until.After(now)
	case j.state.Finished():
		return k.keep > 0 && j.finishedAt.Add(k.keep).After(now) // finished perhaps by a clock that is ahead
	}
	return true
}

// keyHolder answers an enqueue whose business key another job holds.
func (s *Store) keyHolder(q *store.Enqueue, now time.Time) (result store.EnqueueResult, held bool) {
	k, known := s.keys[q.Job.Key()]
	if q.Job.Options.Key == "" || !known || !k.holds(s, now) {
		return store.EnqueueResult{}, false
	}
	result = store.EnqueueResult{ID: k.job, Existing: true, Differs: k.args != string(q.Job.HashArgs())}
	if j := s.jobs[k.job]; j != nil {
		result.RunAt = j.RunAt
	}
	return result, true
}

// takeKey makes a job the holder of its business key, unless another one is.
func (s *Store) takeKey(j *job, now time.Time) error {
	if j.Options.Key == "" {
		return nil
	}
	name := j.Key()
	k, known := s.keys[name]
	switch {
	case s.isNaming(name):
		return store.ErrBusy
	case known && k.job == j.ID:
	case known && k.holds(s, now):
		return &store.UniqueError{Holder: k.job, Key: name.Key}
	default:
		k.args = string(j.HashArgs())
	}
	s.keys[name] = businessKey{job: j.ID, keep: time.Duration(j.Options.KeepMicros()) * time.Microsecond, args: k.args}
	return nil
}

// leaveKey is called when a job is removed.
func (s *Store) leaveKey(j *job) {
	name := j.Key()
	k, known := s.keys[name]
	switch {
	case !known || k.job != j.ID:
	case k.keep == 0:
		delete(s.keys, name)
	default:
		k.until = j.finishedAt.Add(max(k.keep, 0))
		s.keys[name] = k
	}
}

// freeKey takes the key from a job that a person deletes.
func (s *Store) freeKey(j *job) {
	if name := j.Key(); s.keys[name].job == j.ID {
		delete(s.keys, name)
	}
}

// forgetKeys removes the keys that removed jobs do not keep any more, and what was sent along with
// enqueues long ago.
func (s *Store) forgetKeys(now time.Time) {
	for name, k := range s.keys {
		if s.jobs[k.job] == nil && !k.holds(s, now) {
			delete(s.keys, name)
		}
	}
	for id, sent := range s.sent {
		if now.Sub(sent.at) >= store.SentKept {
			delete(s.sent, id)
		}
	}
}

// ForgetKeys does what Retain does about keys, for a property test that follows a store.
func (s *Store) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetKeys(s.Now())
}

// Holds reports whether a job holds a business key, or keeps it.
func (s *Store) Holds(key store.JobKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.keys[key]
	return known && k.holds(s, s.Now())
}

// Find implements store.Keys.
func (s *Store) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.ID{}, err
	}
	defer s.mu.Unlock()
	k, known := s.keys[key]
	if !known || s.jobs[k.job] == nil && !k.holds(s, now) {
		return store.ID{}, refusal.NoKey(key)
	}
	return k.job, nil
}
