package model

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// durable reports whether the job has begun to remember: it is given the chance to end itself.
func (j *job) durable() bool { return len(j.journal) > 0 }

// deadline is the job's, unless its end is decided: then it has all the time it needs.
func (j *job) deadline() time.Time {
	if j.Closing {
		return time.Time{}
	}
	return j.Options.Deadline
}

// lastEntry is the number of the last entry, 0 if there is none.
func (j *job) lastEntry() int64 {
	if len(j.journal) == 0 {
		return 0
	}
	return j.journal[len(j.journal)-1].Seq
}

// entry finds an entry by its number.
func (j *job) entry(seq int64) (store.Entry, bool) {
	i, found := slices.BinarySearchFunc(j.journal, seq, func(e store.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	if !found {
		return store.Entry{}, false
	}
	return j.journal[i], true
}

// upTo are the entries up to a number.
func (j *job) upTo(seq int64) []store.Entry {
	n := 0
	for n < len(j.journal) && j.journal[n].Seq <= seq {
		n++
	}
	return j.journal[:n:n]
}

// received reports whether an entry of the list received the message.
func received(entries []store.Entry, seq int64) bool {
	return slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Kind == store.EntryReceived && e.Ref == seq })
}

// held reports whether nothing but a person lets the job go on.
func (j *job) held() bool { return j.state == store.Waiting && j.wait.Held }

func (j *job) queueName() queueName { return queueName{j.Namespace, j.Queue} }

// lane is the name under which nodes ask for the job's kind.
func (j *job) lane() string {
	if j.Version == "" {
		return j.Kind
	}
	return j.Kind + "@" + j.Version
}

// in returns a job of a namespace, "" for any, or nil.
func (s *Store) in(namespace string, id store.ID) *job {
	if j := s.jobs[id]; j != nil && (namespace == "" || j.Namespace == namespace) {
		return j
	}
	return nil
}

// isPaused reports whether nothing of a queue is claimed.
func (s *Store) isPaused(name queueName, now time.Time) bool {
	q := s.queues[name]
	return q != nil && (!q.PausedAt.IsZero() || q.Rest.At(now))
}

// touch returns a queue, made if it does not exist, that is needed now.
func (s *Store) touch(namespace, name string, now time.Time) *queue {
	at := queueName{namespace, name}
	if s.queues[at] == nil {
		s.queues[at] = &queue{Queue: store.Queue{Namespace: namespace, Name: name, CreatedAt: now}}
	}
	s.queues[at].used = now
	return s.queues[at]
}

func (w *waiting) info() *store.WaitInfo {
	if w == nil {
		return nil
	}
	info := &store.WaitInfo{
		Since: w.since, Until: w.Until, Held: w.Held, HandedOver: w.HandedOver, For: bytes.Clone(w.For), Reason: w.reason, Error: w.err,
	}
	if w.Held {
		info.Until = time.Time{}
	}
	return info
}

// live returns the job whose live lease this is, or nil.
func (s *Store) live(lease store.Lease) *job {
	if j := s.jobs[lease.Job]; j != nil && j.state == store.Running && j.lease == lease {
		return j
	}
	return nil
}

// isTaken reports whether an open transaction has inserted the enqueue's job, or one with its
// unique key or its business key.
func (s *Store) isTaken(q *store.Enqueue) bool {
	return slices.ContainsFunc(s.open, func(t *transaction) bool {
		return t.ids[q.Job.ID]
	}) || s.isMoving(q.Job.UniqueKey) || s.isNaming(q.Job.Key())
}

// isMoving reports whether an open transaction takes a unique key, or gives it back.
func (s *Store) isMoving(key []byte) bool {
	return len(key) > 0 && slices.ContainsFunc(s.open, func(t *transaction) bool { return t.keys[string(key)] })
}

// isNaming reports whether an open transaction has inserted a job with a business key.
func (s *Store) isNaming(key store.JobKey) bool {
	return key.Key != "" && slices.ContainsFunc(s.open, func(t *transaction) bool { return t.names[key] })
}

// isWriting reports whether an open transaction is fenced by a lease of the node.
func (s *Store) isWriting(node int64) bool {
	return slices.ContainsFunc(s.open, func(t *transaction) bool { return t.nodes[node] })
}

// isHeld tells whether the run itself wants a person to look at the job.
func (e *ending) isHeld() bool { return e.wait != nil && e.wait.Held }

// isContradiction tells whether the run asked for something else than its journal holds.
func (e *ending) isContradiction() bool { return e.isHeld() && e.reason == store.ReasonNondeterminism }

func (j *job) keyName() keyName { return keyName{j.Namespace, j.Queue, j.OrderingKey} }

// deferred reports whether the job becomes available when its time comes.
func (j *job) deferred() bool {
	return j.state == store.Scheduled || j.state == store.Retryable || j.state == store.Waiting && !j.wait.due.IsZero()
}

func (s *Store) holdsKey(j *job) bool {
	holder, taken := s.unique[string(j.UniqueKey)]
	return len(j.UniqueKey) > 0 && taken && holder == j.ID
}

// hasTurn reports whether nothing but its state keeps the job from being claimed.
func (s *Store) hasTurn(j *job) bool { return j.OrderingKey == "" || s.turns[j.keyName()] == j.ID }

// blocked reports whether an available job waits for another one with its ordering key.
func (s *Store) blocked(j *job) bool {
	_, taken := s.turns[j.keyName()]
	return j.state == store.Available && taken && !s.hasTurn(j)
}

// selected returns the jobs that match, oldest first.
func (s *Store) selected(match func(*job) bool) []*job {
	var found []*job
	for _, j := range s.jobs {
		if match(j) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b *job) int { return compareIDs(a.ID, b.ID) })
	return found
}

func compareIDs(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }

// isListed reports whether a queue is there for those who look.
func (s *Store) isListed(q *queue) bool {
	return !q.deleted || s.hasUnfinished(queueName{q.Namespace, q.Name})
}

// hasUnfinished reports whether the queue has a job that is not finished.
func (s *Store) hasUnfinished(name queueName) bool {
	return len(s.selected(func(j *job) bool { return j.queueName() == name && !j.state.Finished() })) > 0
}

// isUsed reports whether the queue has a job, in whatever state.
func (s *Store) isUsed(name queueName) bool {
	return len(s.selected(func(j *job) bool { return j.queueName() == name })) > 0
}

// isToClose tells whether a child whose parent has finished was not asked to end yet.
func (j *job) isToClose() bool { return j.cancel == nil || j.OnParentClose == store.TerminateChild }
