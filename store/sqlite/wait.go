package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// before is what a held job becomes again.
type before struct {
	state store.State
	due   int64
}

// waiter is what the pointer of a waiting job tells people, and a resume.
type waiter struct {
	store.WaitInfo
	was before // of a held job
}

// storedWait is what is kept of store.WaitInfo. Times are in microseconds, 0 for none.
type storedWait struct {
	Since  int64        `json:"since"`
	Until  int64        `json:"until,omitempty"`
	For    string       `json:"for,omitempty"`
	Reason store.Reason `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// park makes a job wait whose run has ended, until its deadline at the latest, unless it is held. One that is held keeps its run time.
func (t *tx) park(b *body, e *ending) error {
	about := storedWait{Since: t.now, For: string(e.wait.For)}
	if e.wait.Held {
		about.Reason, about.Error = e.reason, e.err
		if err := t.putBack(b, b.runAt); err != nil {
			return err
		}
		return t.putWaiting(b, never, store.Wait{Held: true}, before{state: store.Available}, about)
	}
	due := int64(never)
	if !e.wait.Until.IsZero() {
		about.Until = e.wait.Until.UnixMicro()
		due = about.Until
	}
	if !b.Options.Deadline.IsZero() && !b.Closing {
		due = min(due, b.Options.Deadline.UnixMicro())
	}
	if err := t.putBack(b, due); err != nil {
		return err
	}
	if due != never {
		e.due = due
	}
	return t.putWaiting(b, due, *e.wait, before{}, about)
}

// holdJob makes a job whose run has ended wait for a person, who will find it in the state in which it would be otherwise.
func (t *tx) holdJob(b *body, state store.State, due int64, words string) error {
	if err := t.putBack(b, b.runAt); err != nil {
		return err
	}
	about := storedWait{Since: t.now, Reason: store.ReasonPaused, Error: words}
	return t.putWaiting(b, never, store.Wait{Held: true}, before{state, due}, about)
}

// putWaiting gives a job the pointer of one that waits, which says all that wakes it: nothing, if it is held. The job keeps the turn of its
// ordering key, and its unique key as if it ran.
func (t *tx) putWaiting(b *body, due int64, w store.Wait, was before, about storedWait) error {
	if err := t.enter(&b.Job, store.Running); err != nil {
		return err
	}
	text, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("%w: wait of job %v: %w", store.ErrInvalid, b.ID, err)
	}
	s := t.stmt("wait_insert")
	s.bindInt(due)
	bindID(s, b.ID)
	s.bindInt(b.lane.id)
	bindOptText(s, b.OrderingKey)
	s.bindInt(w.Seen)
	s.bindInt(int64(w.Kinds))
	s.bindInt(w.Count)
	s.bindInt(boolInt(w.Failures))
	s.bindInt(boolInt(w.Held))
	bindOptInt(s, int64(was.state))
	bindOptInt(s, was.due)
	s.bindText(string(text))
	return exec(s)
}

// arrived reports whether a message that wakes such a wait is there already. There is one writer: what comes later finds the job
// waiting.
func (t *tx) arrived(id store.ID, w *store.Wait) (bool, error) {
	if w.Held {
		return false, nil
	}
	g, err := t.generation(id)
	if err != nil {
		return false, err
	}
	s := t.stmt("inbox_after")
	bindID(s, id)
	s.bindInt(g.sent + w.Seen)
	for {
		found, err := s.next()
		if err != nil || !found {
			return false, err
		}
		m := store.Message{Seq: s.readInt() - g.sent, Kind: store.MessageKind(s.readInt()), State: store.State(readOptInt(s))}
		if w.Wakes(&m) {
			s.done()
			return true, nil
		}
	}
}

// wake makes a waiting job available.
func (t *tx) wake(id store.ID, a *addressee) error {
	s := t.stmt("deferred_delete")
	s.bindInt(a.runAt)
	bindID(s, id)
	if err := exec(s); err != nil {
		return err
	}
	l, err := t.laneOf(a.lane)
	if err != nil {
		return err
	}
	if err := t.setDue(id, t.now); err != nil {
		return err
	}
	t.noteWoken(l)
	return t.makeAvailable(pointer{id, l, a.key, t.now})
}

// setDue makes a body say when its pointer is due.
func (t *tx) setDue(id store.ID, due int64) error {
	s := t.stmt("job_due")
	s.bindInt(due)
	bindID(s, id)
	return exec(s)
}

// waiter reads how a job waits whose pointer was found to be that of a waiting one.
func (t *tx) waiter(b *body) (waiter, error) {
	s := t.stmt("wait")
	s.bindInt(b.due)
	bindID(s, b.ID)
	found, err := s.next()
	if err != nil || !found {
		return waiter{}, unexpected("wait", err)
	}
	defer s.done()
	w := waiter{WaitInfo: store.WaitInfo{Held: readOptInt(s) != 0}}
	w.was = before{store.State(readOptInt(s)), readOptInt(s)}
	var about storedWait
	if err := json.Unmarshal([]byte(readOptText(s)), &about); err != nil {
		return w, fmt.Errorf("%w: wait of job %v: %w", store.ErrInvalid, b.ID, err)
	}
	w.Since, w.Reason, w.Error = timeOf(about.Since), about.Reason, about.Error
	if about.Until != 0 {
		w.Until = timeOf(about.Until)
	}
	if about.For != "" {
		w.For = []byte(about.For)
	}
	return w, nil
}
