package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Queues implements store.Reader.
func (v viewVerbs) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	var queues []store.Queue
	err := v.d.read(ctx, "list the queues", func(t *tx) error {
		queues = nil
		var ids []int64
		st := t.stmt("queues_list")
		st.bindText(namespace)
		err := each(st, func() error {
			ids = append(ids, st.readInt())
			queues = append(queues, store.Queue{
				Namespace: namespace, Name: st.readText(), CreatedAt: readTime(st),
				PausedAt: readOptTime(st), PausedBy: readOptText(st),
				Counts: map[store.State]store.Count{},
			})
			return nil
		})
		if err != nil || len(queues) == 0 {
			return err
		}
		runs, err := t.runningByQueue()
		if err != nil {
			return err
		}
		for i := range queues {
			if err := t.count(&queues[i], ids[i]); err != nil {
				return err
			}
			addCount(&queues[i], store.Running, runs[ids[i]])
		}
		return nil
	})
	return queues, err
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
func (t *tx) count(q *store.Queue, id int64) error {
	var lanes []int64
	s := t.stmt("lanes_of_queue")
	s.bindInt(id)
	if err := each(s, func() error {
		lanes = append(lanes, s.readInt())
		return nil
	}); err != nil {
		return err
	}
	for _, lane := range lanes {
		if err := t.countReady(q, lane); err != nil {
			return err
		}
		for _, state := range []store.State{store.Scheduled, store.Retryable, store.Waiting} {
			if q.Counts[state].More {
				continue
			}
			s := t.stmt("deferred_count")
			s.bindInt(lane)
			s.bindInt(int64(state))
			s.bindInt(store.CountBound + 1)
			if _, err := s.next(); err != nil {
				return err
			}
			addCount(q, state, int(s.readInt()))
			s.done()
		}
	}
	// Blocked jobs are available, too. The table is in the order of their keys, so that the oldest is found among
	// those that are counted.
	s = t.stmt("keyed_page")
	s.bindInt(id)
	s.bindInt(store.CountBound + 1)
	return each(s, func() error {
		addCount(q, store.Available, 1)
		noteDue(q, s.readInt())
		return nil
	})
}

func (t *tx) countReady(q *store.Queue, lane int64) error {
	s := t.stmt("ready_oldest")
	s.bindInt(lane)
	found, err := s.next()
	if err != nil || !found {
		return err
	}
	noteDue(q, s.readInt())
	s.done()
	if q.Counts[store.Available].More {
		return nil
	}
	s = t.stmt("ready_count")
	s.bindInt(lane)
	s.bindInt(store.CountBound + 1)
	if _, err := s.next(); err != nil {
		return err
	}
	addCount(q, store.Available, int(s.readInt()))
	s.done()
	return nil
}

func noteDue(q *store.Queue, runAt int64) {
	if due := timeOf(runAt); q.OldestDue.IsZero() || due.Before(q.OldestDue) {
		q.OldestDue = due
	}
}

// runningByQueue counts the running jobs of each queue. Claim records do not tell the queue, the bodies do.
func (t *tx) runningByQueue() (map[int64]int, error) {
	runs, err := t.runningJobs()
	if err != nil {
		return nil, err
	}
	counts := map[int64]int{}
	for id := range runs {
		s := t.stmt("job_lane")
		bindID(s, id)
		found, err := s.next()
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		lane := s.readInt()
		s.done()
		l, err := t.laneOf(lane)
		if err != nil {
			return nil, err
		}
		counts[l.queue]++
	}
	return counts, nil
}
