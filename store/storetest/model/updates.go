package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// request keeps an update, and wakes its job if it waits for one.
func (s *Store) request(j *job, q *store.Send, now time.Time) (store.SendResult, error) {
	if u := j.update(q.Key); u != nil {
		return store.SendResult{Seq: u.Seq, Duplicate: true}, nil
	}
	if j.state.Finished() {
		return store.SendResult{}, store.JobIs(j.ID, j.state)
	}
	j.requests++
	m := &q.Message
	j.updates = append(j.updates, store.Update{
		Seq: j.requests, Key: q.Key, Name: m.Name, Data: bytes.Clone(m.Data), Codec: m.Codec, At: now,
	})
	result := store.SendResult{Seq: j.requests}
	if j.state == store.Waiting && !j.wait.Held && j.wait.Kinds.Has(store.MessageUpdate) {
		j.RunAt = now
		s.enter(j, store.Available)
		s.wake(j)
		result.Woken = true
	}
	return result, nil
}

// update finds a request, or returns nil.
func (j *job) update(key string) *store.Update {
	for i := range j.updates {
		if j.updates[i].Key == key {
			return &j.updates[i]
		}
	}
	return nil
}

// answerUpdates answers those of the requests that are open.
func (j *job) answerUpdates(answers []store.UpdateAnswer, now time.Time) {
	for _, a := range answers {
		for i := range j.updates {
			if u := &j.updates[i]; u.Seq == a.Seq && u.Answer == nil {
				a.At, a.Data = now, bytes.Clone(a.Data)
				u.Answer = &a
			}
		}
	}
}

// requested reports whether a request is open that a run which parks does not know.
func (j *job) requested(wait *store.Wait) bool {
	return !wait.Held && wait.Kinds.Has(store.MessageUpdate) && slices.ContainsFunc(j.updates, func(u store.Update) bool {
		return u.Answer == nil && u.Seq > wait.SeenUpdate
	})
}

// forgetOpen removes the requests that were open when the job finished.
func (j *job) forgetOpen() {
	j.updates = slices.DeleteFunc(slices.Clone(j.updates), func(u store.Update) bool { return u.Answer == nil })
}

// forgetAnswered removes the requests with an answer that entries after keep have accepted.
func (j *job) forgetAnswered(keep int64) {
	accepted := map[int64]bool{}
	for _, e := range j.journal {
		accepted[e.Ref] = accepted[e.Ref] || e.Kind == store.EntryUpdated && e.Seq > keep
	}
	j.updates = slices.DeleteFunc(slices.Clone(j.updates), func(u store.Update) bool { return u.Answer != nil && accepted[u.Seq] })
}

// forgetRefused removes the requests that were refused before a time.
func (j *job) forgetRefused(before time.Time) {
	j.updates = slices.DeleteFunc(slices.Clone(j.updates), func(u store.Update) bool {
		return u.Answer != nil && u.Answer.Verdict == store.UpdateRefused && u.Answer.At.Before(before)
	})
}

// OpenUpdates implements store.Updates.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	open := make([][]store.Update, len(of))
	for i, after := range of {
		if j := s.jobs[after.Job]; j != nil {
			for _, u := range j.updates {
				if u.Answer == nil && u.Seq > after.Seq && len(open[i]) < store.UpdateBound {
					u.Data = bytes.Clone(u.Data)
					open[i] = append(open[i], u)
				}
			}
		}
	}
	return open, nil
}

// GetUpdate implements store.Updates.
func (s *Store) GetUpdate(ctx context.Context, namespace string, id store.ID, key string) (store.Update, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Update{}, err
	}
	defer s.mu.Unlock()
	j := s.in(namespace, id)
	if j == nil {
		return store.Update{}, store.NoJob(id)
	}
	u := j.update(key)
	if u == nil {
		return store.Update{}, refusal.NoUpdate(id, key)
	}
	found := *u
	found.Data = bytes.Clone(u.Data)
	if u.Answer != nil {
		answer := *u.Answer
		answer.Data = bytes.Clone(answer.Data)
		found.Answer = &answer
	}
	return found, nil
}

// ForgetUpdate implements store.Updates.
func (s *Store) ForgetUpdate(ctx context.Context, namespace string, id store.ID, key string) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if j := s.in(namespace, id); j != nil {
		j.updates = slices.DeleteFunc(slices.Clone(j.updates), func(u store.Update) bool {
			return u.Key == key && u.Answer != nil && u.Answer.Verdict == store.UpdateRefused
		})
	}
	return nil
}
