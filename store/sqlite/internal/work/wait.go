package work

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// before is what a held job becomes again.
type before struct {
	state store.State
	due   int64
}

// Waiter is what the pointer of a waiting job tells people, and a resume.
type Waiter struct {
	store.WaitInfo
	was         before // of a held job
	compensates bool   // of one that is handed over
}

// What the column handed_over says of a job that is.
const (
	handedOver  = 1
	compensates = 2 // and its run has registered compensations
)

// Handing is what that column says of a wait.
func Handing(w *store.Wait) int64 {
	switch {
	case w == nil || !w.HandedOver:
		return 0
	case w.Compensates:
		return compensates
	}
	return handedOver
}

// ReadHanding says of a wait what that column does.
func ReadHanding(column int64, w *store.Wait) {
	w.HandedOver, w.Compensates = column != 0, column == compensates
}

// heldFrom is how a job is held that a person pauses: one that was handed over stays so.
func heldFrom(w *store.Wait) store.Wait {
	held := store.Wait{Held: true}
	if w != nil {
		held.HandedOver, held.Compensates = w.HandedOver, w.Compensates
	}
	return held
}

// storedWait is what is kept of store.WaitInfo. Times are in microseconds, 0 for none.
type storedWait struct {
	Since  int64        `json:"since"`
	Until  int64        `json:"until,omitempty"`
	For    string       `json:"for,omitempty"`
	Reason store.Reason `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// park makes a job wait whose run has ended, until its deadline at the latest, unless it is held.
// One that is held keeps its run time.
func park(t *core.Tx, b *core.Body, e *Ending) error {
	about := storedWait{Since: t.Now, For: string(e.wait.For), Reason: e.Reason, Error: e.err}
	if e.wait.Held {
		if err := t.PutBack(b, b.RunMicros); err != nil {
			return err
		}
		return putWaiting(t, b, db.Never, store.Wait{Held: true}, before{state: store.Available}, about)
	}
	due := int64(db.Never)
	if !e.wait.Until.IsZero() {
		about.Until = e.wait.Until.UnixMicro()
		due = about.Until
	}
	if !b.Options.Deadline.IsZero() && !b.Closing {
		due = min(due, b.Options.Deadline.UnixMicro())
	}
	if err := t.PutBack(b, due); err != nil {
		return err
	}
	if due != db.Never {
		e.due = due
	}
	if e.wait.HandedOver {
		return putWaiting(t, b, due, store.Wait{HandedOver: true, Compensates: e.wait.Compensates}, before{}, about)
	}
	return putWaiting(t, b, due, *e.wait, before{}, about)
}

// holdJob makes a job whose run has ended wait for a person, who will find it in the state in which
// it would be otherwise.
func holdJob(t *core.Tx, b *core.Body, e *Ending) error {
	if err := t.PutBack(b, b.RunMicros); err != nil {
		return err
	}
	about := storedWait{Since: t.Now, Reason: store.ReasonPaused, Error: e.pause.reason}
	return putWaiting(t, b, db.Never, heldFrom(e.wait), before{e.State, e.RunAt}, about)
}

// putWaiting gives a job the pointer of one that waits, which says all that wakes it: nothing, if
// it is held. The job keeps the turn of its ordering key, and its unique key as if it ran.
func putWaiting(t *core.Tx, b *core.Body, due int64, w store.Wait, was before, about storedWait) error {
	if err := keys.ReleaseUnique(t, &b.Job, store.Running); err != nil {
		return err
	}
	return insertWait(t, b, due, w, was, about)
}

// insertWait gives a job such a pointer.
func insertWait(t *core.Tx, b *core.Body, due int64, w store.Wait, was before, about storedWait) error {
	text, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("%w: wait of job %v: %w", store.ErrInvalid, b.ID, err)
	}
	t.Tell(b.ID, store.Waiting)
	s := t.Stmt("wait_insert")
	s.BindInt(due)
	db.BindID(s, b.ID)
	s.BindInt(b.Lane.ID)
	db.BindOptText(s, b.OrderingKey)
	s.BindInt(w.Seen)
	s.BindInt(int64(w.Kinds))
	s.BindInt(w.Count)
	s.BindInt(db.BoolInt(w.Failures))
	s.BindInt(db.BoolInt(w.Held))
	db.BindOptInt(s, int64(was.state))
	db.BindOptInt(s, was.due)
	s.BindText(string(text))
	db.BindOptInt(s, Handing(&w))
	return db.Exec(s)
}

// arrived reports whether a message or a request that wakes such a wait is there already. There is
// one writer: what comes later finds the job waiting.
func arrived(t *core.Tx, id store.ID, w *store.Wait) (bool, error) {
	if w.Held || w.HandedOver {
		return false, nil
	}
	if requested, err := updates.Arrived(t, id, w); requested || err != nil {
		return requested, err
	}
	g, err := generations.Of(t, id)
	if err != nil {
		return false, err
	}
	s := t.Stmt("inbox_after")
	db.BindID(s, id)
	s.BindInt(g.Sent + w.Seen)
	for {
		found, err := s.Next()
		if err != nil || !found {
			return false, err
		}
		m := store.Message{Seq: s.ReadInt() - g.Sent, Kind: store.MessageKind(s.ReadInt()), State: store.State(db.ReadOptInt(s))}
		if w.Wakes(&m) {
			s.Done()
			return true, nil
		}
	}
}

// wake makes a waiting job available.
func wake(t *core.Tx, id store.ID, a *addressee) error {
	s := t.Stmt("deferred_delete")
	s.BindInt(a.runAt)
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return err
	}
	l, err := t.LaneOf(a.lane)
	if err != nil {
		return err
	}
	if err := setDue(t, id, t.Now); err != nil {
		return err
	}
	t.NoteWoken(l)
	return t.MakeAvailable(core.Pointer{ID: id, Lane: l, Key: a.key, RunAt: t.Now})
}

// setDue makes a body say when its pointer is due.
func setDue(t *core.Tx, id store.ID, due int64) error {
	s := t.Stmt("job_due")
	s.BindInt(due)
	db.BindID(s, id)
	return db.Exec(s)
}

// WaiterOf reads how a job waits whose pointer was found to be that of a waiting one.
func WaiterOf(t *core.Tx, b *core.Body) (Waiter, error) {
	s := t.Stmt("wait")
	s.BindInt(b.Due)
	db.BindID(s, b.ID)
	found, err := s.Next()
	if err != nil || !found {
		return Waiter{}, db.Unexpected("wait", err)
	}
	defer s.Done()
	w := Waiter{WaitInfo: store.WaitInfo{Held: db.ReadOptInt(s) != 0}}
	w.was = before{store.State(db.ReadOptInt(s)), db.ReadOptInt(s)}
	var about storedWait
	if err := json.Unmarshal([]byte(db.ReadOptText(s)), &about); err != nil {
		return w, fmt.Errorf("%w: wait of job %v: %w", store.ErrInvalid, b.ID, err)
	}
	handed := db.ReadOptInt(s)
	w.HandedOver, w.compensates = handed != 0, handed == compensates
	w.Since, w.Reason, w.Error = db.TimeOf(about.Since), about.Reason, about.Error
	if about.Until != 0 {
		w.Until = db.TimeOf(about.Until)
	}
	if about.For != "" {
		w.For = []byte(about.For)
	}
	return w, nil
}

// ReadWait completes how a job waits by the text that is kept of it.
func ReadWait(text string, p *store.Parked) error {
	var about storedWait
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		return fmt.Errorf("%w: a wait: %w", store.ErrInvalid, err)
	}
	p.Since, p.Reason, p.Error = db.TimeOf(about.Since), about.Reason, about.Error
	if about.Until != 0 {
		p.Until = db.TimeOf(about.Until)
	}
	if about.For != "" {
		p.For = []byte(about.For)
	}
	return nil
}

// WriteWait is the text that is kept of how a job waits.
func WriteWait(p *store.Parked) (string, error) {
	about := storedWait{Since: p.Since.UnixMicro(), For: string(p.For), Reason: p.Reason, Error: p.Error}
	if !p.Until.IsZero() {
		about.Until = p.Until.UnixMicro()
	}
	text, err := json.Marshal(about)
	if err != nil {
		return "", fmt.Errorf("%w: a wait: %w", store.ErrInvalid, err)
	}
	return string(text), nil
}
