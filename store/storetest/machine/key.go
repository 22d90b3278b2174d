package machine

import (
	"errors"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// Business keys: jobs that have them, the signals that go along, and who has which key.

var machineKeys = []string{"order 1", "order 2"}

// drawKey gives a new job a business key, and mostly lets a signal go along where jobs remember.
func (m *machine) drawKey(t *rapid.T, q *store.Enqueue) {
	q.Job.Options.Key = pick(t, "business key", machineKeys...)
	q.Job.Options.KeepKey = pick(t, "keep key", 0, 0, 20*time.Second, 26*time.Hour, store.KeepForever)
	if m.mode.durable && chance(t, "along", 60) {
		q.Send = &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: pick(t, "name", "a", "b"), Data: []byte("1")}}
		if chance(t, "key", 30) {
			q.Send.Key = pick(t, "of", "k1", "k2")
		}
	}
}

// withoutKeys makes a job one that takes no key.
func withoutKeys(q *store.Enqueue) {
	q.Job.UniqueKey, q.Job.UniqueStates, q.OnConflict = nil, 0, 0
	q.Job.Options.Key, q.Job.Options.KeepKey, q.Send = "", 0, nil
}

// forTwo returns an enqueue for each side.
func forTwo(q store.Enqueue) (a, b *store.Enqueue) {
	x, y := q, q
	x.FollowUps, y.FollowUps = copyFollowUps(q.FollowUps), copyFollowUps(q.FollowUps)
	if q.Send != nil {
		s, t := *q.Send, *q.Send
		x.Send, y.Send = &s, &t
	}
	return &x, &y
}

// checkAlong compares what became of the signal of an enqueue, and remembers one that went to
// another job, so that it is repeated.
func (m *machine) checkAlong(plain, q, model *store.Enqueue) {
	if q.Send == nil {
		return
	}
	got, want := q.Send.Result, model.Send.Result
	if m.mode.lossy { // the second time it is a duplicate
		got, want = store.SendResult{Seq: got.Seq}, store.SendResult{Seq: want.Seq}
	}
	m.same("job of the signal", q.Send.Job, model.Send.Job)
	m.same("signal", got, want)
	if q.Result.ID != q.Job.ID && len(m.along) < 20 {
		m.along = append(m.along, *plain)
	}
}

// checkKeys compares who has which key. Reading: which job held a key last, when no job does, is
// told at least as long as the job is to be kept.
func (m *machine) checkKeys(records []store.Record) {
	holders := map[store.JobKey]store.ID{}
	for _, r := range records {
		key := r.Key()
		if key.Key == "" || r.State.Finished() {
			continue
		}
		if other, taken := holders[key]; taken {
			m.t.Fatalf("UniqueIsUnique: jobs %v and %v both hold the business key %q", r.ID, other, key.Key)
		}
		holders[key] = r.ID
	}
	for _, kind := range machineKinds {
		for _, text := range machineKeys {
			key := store.JobKey{Namespace: m.namespace, Kind: kind, Key: text}
			got, err := m.store.Find(m.ctx, key)
			want, err2 := m.model.Find(m.ctx, key)
			if holder, held := holders[key]; held && (err != nil || got != holder) {
				m.t.Fatalf("the key %q of %s is that of %v, %v; it is held by %v", text, kind, got, err, holder)
			}
			if errors.Is(err, store.ErrNotFound) && m.isFree(key) {
				continue
			}
			m.sameErr("Find", err, err2)
			m.same("Find", got, want)
		}
	}
}

// isFree reports whether no job holds a key.
func (m *machine) isFree(key store.JobKey) bool { return !m.model.Holds(key) }
