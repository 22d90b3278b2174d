package model

import (
	"bytes"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func (s *Store) send(q *store.Send, now time.Time) (store.SendResult, error) {
	if err := q.Check(); err != nil {
		return store.SendResult{}, err
	}
	if s.holder(q.Job) != nil {
		return store.SendResult{}, store.ErrBusy
	}
	j := s.in(q.Namespace, q.Job)
	if j == nil {
		return store.SendResult{}, store.NoJob(q.Job)
	}
	if q.Message.Kind == store.MessageUpdate {
		return s.request(j, q, now)
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
		TraceParent: q.Message.TraceParent,
	}, q.Key}, now), nil
}
