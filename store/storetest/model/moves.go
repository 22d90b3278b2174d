package model

import (
	"bytes"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// enter moves a job to a state. A unique key is released in the first state in which the job does
// not hold it, and is not taken back by itself. A job that waits holds it as it would if it ran.
func (s *Store) enter(j *job, state State) {
	j.state = state
	s.feedState(j, state, j.reason, s.Now())
	if state != store.Waiting {
		j.wait = nil
		delete(s.after, j.ID)
	}
	holds := state
	if state == store.Waiting {
		holds = store.Running
	}
	if !j.UniqueStates.Has(holds) && s.holdsKey(j) {
		delete(s.unique, string(j.UniqueKey))
	}
	switch state {
	case store.Available:
		if s.hasTurn(j) {
			s.tell(store.Wake{Kind: store.WakeReady, Namespace: j.Namespace, Queue: j.Queue})
		} else {
			s.tellTurn(j.keyName())
		}
	case store.Scheduled, store.Retryable:
		s.tell(store.Wake{Kind: store.WakeDeferred, Due: j.RunAt})
	default:
	}
}

// put makes a job scheduled or available, by its run time.
func (s *Store) put(j *job, runAt, now time.Time) {
	j.RunAt = runAt
	s.enter(j, stateAt(runAt, now))
}

func stateAt(runAt, now time.Time) State {
	if runAt.After(now) {
		return store.Scheduled
	}
	return store.Available
}

// finish ends a job for good: its ordering key is free, and requests to cancel it are answered. Its
// parent is told, and its children closed: see children.go.
func (s *Store) finish(j *job, state State, reason store.Reason, text string, now time.Time) {
	j.reason, j.err, j.finishedAt = reason, text, now
	s.enter(j, state)
	j.cancel, j.pause = nil, nil
	if !j.KeepsTurn(state) {
		s.giveUpTurn(j)
	}
}

// giveUpTurn frees the ordering key of a job, if it has the turn, and reports whether it had.
func (s *Store) giveUpTurn(j *job) bool {
	if s.turns[j.keyName()] != j.ID {
		return false
	}
	delete(s.turns, j.keyName())
	s.tellTurn(j.keyName())
	return true
}

// keepsTurn reports whether a job has failed and keeps the turn of its ordering key.
func (s *Store) keepsTurn(j *job) bool {
	return j.state.Finished() && j.OrderingKey != "" && s.turns[j.keyName()] == j.ID
}

// tellTurn notes that Promote has the turn of a key to hand on, if it is free and a job waits for
// it.
func (s *Store) tellTurn(key keyName) {
	_, taken := s.turns[key]
	if !taken && slices.ContainsFunc(s.waitingForTurns(), func(j *job) bool { return j.keyName() == key }) {
		s.tell(store.Wake{Kind: store.WakeDeferred, Due: s.Now()})
	}
}

// park makes a job wait, until its deadline at the latest, unless it is held.
func (s *Store) park(j *job, wait *store.Wait, reason store.Reason, text string, now time.Time) {
	j.wait = &waiting{Wait: *wait, since: now, reason: reason, err: text, was: store.Available}
	if !wait.Held {
		j.wait.due = wait.Until
		if d := j.deadline(); !d.IsZero() && (wait.Until.IsZero() || d.Before(wait.Until)) {
			j.wait.due = d
		}
		j.RunAt = j.wait.due
	}
	s.enter(j, store.Waiting)
}

// hold makes a job wait for a person, who will find it in the state in which it would be otherwise.
func (s *Store) hold(j *job, was State, runAt time.Time, asked *pauseRequest, now time.Time) {
	j.wait = &waiting{
		Wait: store.Wait{Held: true}, since: now, reason: store.ReasonPaused, err: asked.reason, was: was, wasRunAt: runAt,
	}
	s.enter(j, store.Waiting)
}

// staysHandedOver lets a job be finished from outside while it is held.
func (w *waiting) staysHandedOver(was *store.Wait) {
	if was != nil {
		w.HandedOver, w.Compensates = was.HandedOver, was.Compensates
	}
}

// wake notes that a job of a queue became available.
func (s *Store) wake(j *job) {
	s.woken = store.AddWake(s.woken, store.Wake{Kind: store.WakeReady, Namespace: j.Namespace, Queue: j.Queue})
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

// answer tells the parent of a finished job, in the same breath, what became of it. A parent that
// has failed or was cancelled gets the message too, in case it is resumed.
func (s *Store) answer(j *job, now time.Time) {
	parent := s.jobs[j.Parent]
	if !j.Answers || parent == nil || parent.state == store.Completed {
		return
	}
	s.deliver(parent, message{Message: store.Message{
		Kind: store.MessageChild, From: j.ID, State: j.state, Reason: j.reason, Error: j.err,
		Data: bytes.Clone(j.result), Codec: j.codec,
	}}, now)
}

// close notes that the children of a finished job are to be closed.
func (s *Store) close(j *job) {
	if s.hasChildren(j) {
		s.closed[j.ID] = true
	}
}

// unfinishedChildren are those that the end of their parent concerns, oldest first.
func (s *Store) unfinishedChildren(parent store.ID) []*job {
	return s.selected(func(j *job) bool {
		return j.Parent == parent && !j.state.Finished() && j.OnParentClose != store.AbandonChild
	})
}

func (s *Store) hasChildren(j *job) bool { return len(s.unfinishedChildren(j.ID)) > 0 }

func (s *Store) remove(j *job) {
	if s.holdsKey(j) {
		delete(s.unique, string(j.UniqueKey))
	}
	s.leaveKey(j)
	s.giveUpTurn(j)
	delete(s.jobs, j.ID)
	s.queues[j.queueName()].used = s.Now()
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

// awaited reports whether a message has come that a run which parks would be woken by.
func (j *job) awaited(wait *store.Wait) bool {
	for _, m := range j.inbox {
		if wait.Wakes(&m.Message) {
			return true
		}
	}
	return false
}
