package view

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Queues implements store.Queues.
func (v Verbs) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	var queues []store.Queue
	err := v.d.Read(ctx, "list the queues", func(t *core.Tx) error {
		queues = nil
		var ids []int64
		var deleted []bool
		st := t.Stmt("queues_list")
		st.BindText(namespace)
		err := db.Each(st, func() error {
			ids = append(ids, st.ReadInt())
			queues = append(queues, store.Queue{
				Namespace: namespace, Name: st.ReadText(), CreatedAt: db.ReadTime(st),
				PausedAt: db.ReadOptTime(st), PausedBy: db.ReadOptText(st), Rest: db.ReadRest(st),
				Counts: map[store.State]store.Count{},
			})
			set, err := db.ReadAttempts(st)
			queues[len(queues)-1].Attempts = set
			deleted = append(deleted, !st.ReadNull())
			return err
		})
		if err != nil || len(queues) == 0 {
			return err
		}
		runs, err := t.RunningByQueue()
		if err != nil {
			return err
		}
		for i := range queues {
			if err := count(t, &queues[i], ids[i]); err != nil {
				return err
			}
			addCount(&queues[i], store.Running, runs[ids[i]])
		}
		queues = listed(queues, deleted)
		return nil
	})
	return queues, err
}

// AttemptsOfQueues implements store.Queues.
func (v Verbs) AttemptsOfQueues(ctx context.Context, namespace string) (set map[string]store.QueueAttempts, err error) {
	err = v.d.Read(ctx, "see what is set of queues", func(t *core.Tx) error {
		set = map[string]store.QueueAttempts{}
		s := t.Stmt("queues_attempts")
		s.BindText(namespace)
		return db.Each(s, func() (err error) {
			name := s.ReadText()
			set[name], err = db.ReadAttempts(s)
			return err
		})
	})
	return set, err
}

// listed returns the queues without those that were deleted and have no job that is not finished.
func listed(queues []store.Queue, deleted []bool) (list []store.Queue) {
	for i, q := range queues {
		if !deleted[i] || len(q.Counts) > 0 {
			list = append(list, q)
		}
	}
	return list
}

// addCount counts n more jobs in a state, up to the bound.
func addCount(q *store.Queue, state store.State, n int) {
	if n == 0 {
		return
	}
	c := q.Counts[state]
	c.N += n
	if c.N > store.CountBound {
		c.N, c.More = store.CountBound, true
	}
	q.Counts[state] = c
}

// count looks at what waits in a queue, lane by lane; no look goes further than the bound.
func count(t *core.Tx, q *store.Queue, id int64) error {
	var lanes []int64
	s := t.Stmt("lanes_of_queue")
	s.BindInt(id)
	err := db.Each(s, func() error {
		lanes = append(lanes, s.ReadInt())
		return nil
	})
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		if err := countReady(t, q, lane, "ready_oldest", "ready_count"); err != nil {
			return err
		}
		if err := countReady(t, q, lane, "gated_oldest", "gated_count"); err != nil {
			return err
		}
		for _, state := range []store.State{store.Scheduled, store.Retryable, store.Waiting} {
			if q.Counts[state].More {
				continue
			}
			s := t.Stmt("deferred_count")
			s.BindInt(lane)
			s.BindInt(int64(state))
			s.BindInt(store.CountBound + 1)
			if _, err := s.Next(); err != nil {
				return err
			}
			addCount(q, state, int(s.ReadInt()))
			s.Done()
		}
	}
	// Blocked jobs are available, too. The table is in the order of their keys, so that the oldest
	// is found among those that are counted.
	s = t.Stmt("keyed_page")
	s.BindInt(id)
	s.BindInt(store.CountBound + 1)
	return db.Each(s, func() error {
		addCount(q, store.Available, 1)
		noteDue(q, s.ReadInt())
		return nil
	})
}

func countReady(t *core.Tx, q *store.Queue, lane int64, oldest, count string) error {
	s := t.Stmt(oldest)
	s.BindInt(lane)
	found, err := s.Next()
	if err != nil || !found {
		return err
	}
	noteDue(q, s.ReadInt())
	s.Done()
	if q.Counts[store.Available].More {
		return nil
	}
	s = t.Stmt(count)
	s.BindInt(lane)
	s.BindInt(store.CountBound + 1)
	if _, err := s.Next(); err != nil {
		return err
	}
	addCount(q, store.Available, int(s.ReadInt()))
	s.Done()
	return nil
}

func noteDue(q *store.Queue, runAt int64) {
	if due := db.TimeOf(runAt); q.OldestDue.IsZero() || due.Before(q.OldestDue) {
		q.OldestDue = due
	}
}
