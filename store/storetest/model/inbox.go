package model

import (
	"bytes"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// message is one of a job's inbox, with the key of its send.
type message struct {
	store.Message
	key string
}

func (s *Store) send(q *store.Send, now time.Time) (store.SendResult, error) {
	if err := q.Check(); err != nil {
		return store.SendResult{}, err
	}
	if s.holder(q.Job) != nil {
		return store.SendResult{}, store.ErrBusy
	}
	j := s.jobs[q.Job]
	if j == nil {
		return store.SendResult{}, store.NoJob(q.Job)
	}
	for _, m := range j.inbox {
		if q.Key != "" && m.key == q.Key {
			return store.SendResult{Seq: m.Seq, Duplicate: true}, nil
		}
	}
	if j.state.Finished() {
		return store.SendResult{}, store.JobIs(q.Job, j.state)
	}
	if q.Message.Kind != store.MessageSignal {
		if err := j.takes(q.Message.Name); err != nil {
			return store.SendResult{}, err
		}
	}
	return s.deliver(j, message{store.Message{
		Kind: q.Message.Kind, Name: q.Message.Name, Data: bytes.Clone(q.Message.Data), Codec: q.Message.Codec, Error: q.Message.Error,
	}, q.Key}, now), nil
}

// takes returns an error if the job has no such callback, or if the callback has had its end.
func (j *job) takes(token string) error {
	opened := false
	for _, entry := range j.journal {
		opened = opened || entry.Kind == store.EntryCallback && entry.Name == token
	}
	if !opened {
		return store.NoCallback(j.ID)
	}
	for _, m := range j.inbox {
		if m.Name == token && (m.Kind == store.MessageCallback || m.Kind == store.MessageCallbackFailed) {
			return store.CallbackAnswered(j.ID)
		}
	}
	return nil
}

// deliver puts a message into a job's inbox, and wakes the job if it waits for it.
func (s *Store) deliver(j *job, m message, now time.Time) store.SendResult {
	m.Seq, m.At = 1, now
	if n := len(j.inbox); n > 0 {
		m.Seq = j.inbox[n-1].Seq + 1 // in the inbox of a fork there are gaps
	}
	j.inbox = append(j.inbox, m)
	result := store.SendResult{Seq: m.Seq}
	if j.state == store.Waiting && j.wait.Wakes(&m.Message) {
		j.RunAt = now
		s.enter(j, store.Available)
		s.wake(j)
		result.Woken = true
	}
	return result
}

// wake notes that a job of a queue became available.
func (s *Store) wake(j *job) {
	for _, w := range s.woken {
		if w.Namespace == j.Namespace && w.Queue == j.Queue {
			return
		}
	}
	s.woken = append(s.woken, store.Wake{Kind: store.WakeReady, Namespace: j.Namespace, Queue: j.Queue})
}
