package core

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/optiontext"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Pointer is the place that the body gives the job.
func (b *Body) Pointer() Pointer { return Pointer{b.ID, b.Lane, b.OrderingKey, b.RunMicros} }

// Body reads a job.
func (t *Tx) Body(id store.ID) (*Body, bool, error) {
	s := t.Stmt("job")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return nil, false, err
	}
	b := &Body{Job: store.Job{ID: id}, ClaimedAt: db.ReadOptInt(s)}
	laneID, err := b.Scan(s)
	s.Done()
	if err != nil {
		return nil, false, err
	}
	if err := b.setLane(t, laneID); err != nil {
		return nil, false, err
	}
	return b, true, nil
}

// Scan reads the columns of a body from lane on, and leaves the lane to setLane: finding it may
// need a statement.
func (b *Body) Scan(s db.Stmt) (laneID int64, err error) {
	laneID = s.ReadInt()
	b.RunMicros = s.ReadInt()
	b.RunAt = DueTime(b.RunMicros)
	b.CreatedAt = db.ReadTime(s)
	b.LeaseNumber = s.ReadInt()
	b.Attempt = int(s.ReadInt())
	b.MaxAttempts = int(s.ReadInt())
	b.Codec = int(s.ReadInt())
	b.OrderingKey = db.ReadOptText(s)
	b.UniqueKey = db.ReadOptBlob(s)
	b.UniqueStates = store.StateSet(db.ReadOptInt(s))
	if !s.ReadNull() {
		if err := optiontext.Decode(s.ReadBlob(), &b.Options); err != nil {
			return 0, fmt.Errorf("%w: options of job %v: %w", store.ErrInvalid, b.ID, err)
		}
	}
	if !s.ReadNull() {
		if err := json.Unmarshal(s.ReadBlob(), &b.Tags); err != nil {
			return 0, fmt.Errorf("%w: tags of job %v: %w", store.ErrInvalid, b.ID, err)
		}
	}
	b.Metadata = db.ReadOptBlob(s)
	b.Args = db.ReadOptBlob(s)
	if !s.ReadNull() {
		marks := s.ReadInt()
		b.Answers, b.OnParentClose = marks&db.MarkAnswers != 0, store.ClosePolicy(marks>>db.MarkPolicy&db.PolicyBits)
		b.Closing, b.Forked, b.Successors = marks&db.MarkClosing != 0, marks&db.MarkForked != 0, marks&db.MarkSuccessors != 0
		b.Decided = marks &^ (db.MarkSuccessors | db.MarkMember) >> db.MarkDecided
		if !s.ReadNull() {
			of := &b.Parent
			if marks&db.MarkMember != 0 {
				of = &b.Batch
			}
			*of = db.ReadID(s)
		}
	}
	return laneID, nil
}

// KinOf is what the column parent has: the parent of a child, or the batch of a member.
func KinOf(job *store.Job) store.ID {
	if job.Batch != uuid.Nil {
		return job.Batch
	}
	return job.Parent
}

// BindMarks binds the column marks of a job that is not closing.
func BindMarks(s db.Stmt, job *store.Job, forked bool) { bindMarks(s, job, marksOf(job, forked)) }

// BindAllMarks binds the column marks of a body.
func BindAllMarks(s db.Stmt, b *Body) {
	marks := marksOf(&b.Job, b.Forked)
	if b.Closing {
		marks |= db.MarkClosing | b.Decided<<db.MarkDecided
	}
	bindMarks(s, &b.Job, marks)
}

func marksOf(job *store.Job, forked bool) int64 {
	return db.BoolInt(job.Answers)*db.MarkAnswers | db.BoolInt(forked)*db.MarkForked | int64(job.OnParentClose)<<db.MarkPolicy |
		db.BoolInt(job.Batch != uuid.Nil)*db.MarkMember
}

func bindMarks(s db.Stmt, job *store.Job, marks int64) {
	if job.Parent == uuid.Nil && marks == 0 {
		s.BindNull()
	} else {
		s.BindInt(marks)
	}
}

// ReopenEnd takes back the decision how the job ends.
func (t *Tx) ReopenEnd(b *Body) error {
	b.Closing, b.Decided = false, 0
	return t.WriteMarks(b)
}

// WriteMarks makes the stored body say what this one, which is not closing, says of its beginning.
func (t *Tx) WriteMarks(b *Body) error {
	s := t.Stmt("job_mark")
	bindMarks(s, &b.Job, marksOf(&b.Job, b.Forked)|db.BoolInt(b.Successors)*db.MarkSuccessors)
	db.BindID(s, b.ID)
	return db.Exec(s)
}

func (b *Body) setLane(t *Tx, id int64) (err error) {
	if b.Lane, err = t.LaneOf(id); err != nil {
		return err
	}
	b.Lane.Describe(&b.Job)
	return nil
}

// Place gives a job its pointer: deferred in the given state if it is not due, available otherwise.
// It returns the state.
func (t *Tx) Place(p Pointer, later store.State) (store.State, error) {
	if p.RunAt > t.Now {
		return later, t.DeferUntil(p, later)
	}
	return store.Available, t.MakeAvailable(p)
}

// DeferUntil gives a job a pointer in deferred.
func (t *Tx) DeferUntil(p Pointer, state store.State) error {
	if t.notesWakes() {
		t.noteDue(p.RunAt)
	}
	s := t.Stmt("deferred_insert")
	s.BindInt(p.RunAt)
	db.BindID(s, p.ID)
	s.BindInt(p.Lane.ID)
	s.BindInt(int64(state))
	db.BindOptText(s, p.Key)
	t.Tell(p.ID, state)
	return db.Exec(s)
}

// MakeAvailable puts a job into ready, or, if another one has the turn of its ordering key, into
// the line for it.
func (t *Tx) MakeAvailable(p Pointer) error {
	t.Tell(p.ID, store.Available)
	if p.Key != "" {
		holder, held, err := t.KeyHolder(KeyName{p.Lane.Queue, p.Key})
		if err != nil {
			return err
		}
		if !held || holder != p.ID {
			return t.awaitTurn(p)
		}
	}
	if t.notesWakes() {
		t.NoteWoken(p.Lane)
	}
	s := t.Stmt("ready_insert")
	BindPointer(s, p)
	return db.Exec(s)
}

// BindPointer binds what a row of ready is.
func BindPointer(s db.Stmt, p Pointer) {
	s.BindInt(p.Lane.ID)
	s.BindInt(p.RunAt)
	db.BindID(s, p.ID)
}

// RemovePointer takes a job that waits out of its place and returns the state it was in, or 0 if it
// does not wait.
func (t *Tx) RemovePointer(b *Body) (store.State, error) {
	state, blocked, err := t.PointerState(b)
	if err != nil || state == 0 {
		return 0, err
	}
	return state, t.DeletePointer(b, state, blocked)
}

// DeletePointer deletes the pointer that was found to be where it is.
func (t *Tx) DeletePointer(b *Body, state store.State, blocked bool) error {
	var s db.Stmt
	switch {
	case blocked:
		s = t.Stmt("keyed_delete")
		bindKeyed(s, b)
	case state == store.Available:
		s = t.Stmt("ready_delete")
		s.BindInt(b.Lane.ID)
		s.BindInt(b.RunMicros)
		db.BindID(s, b.ID)
		if b.Lane.Limit != "" { // it may wait at its gate
			if err := db.Exec(s); err != nil {
				return err
			}
			s = t.Stmt("gated_delete")
			BindPointer(s, Pointer{ID: b.ID, Lane: b.Lane, RunAt: b.RunMicros})
		}
	default:
		s = t.Stmt("deferred_delete")
		s.BindInt(b.Due)
		db.BindID(s, b.ID)
	}
	return db.Exec(s)
}

// PointerState returns the state of a job that waits, or 0 if it runs or has finished. Blocked: it
// waits for the turn of its ordering key.
func (t *Tx) PointerState(b *Body) (state store.State, blocked bool, err error) {
	s := t.Stmt("ready_has")
	s.BindInt(b.Lane.ID)
	s.BindInt(b.RunMicros)
	db.BindID(s, b.ID)
	if found, err := db.Exists(s); found || err != nil {
		return store.Available, false, err
	}
	s = t.Stmt("deferred_state")
	s.BindInt(b.RunMicros)
	db.BindID(s, b.ID)
	if found, err := s.Next(); found || err != nil {
		if found {
			state, b.Due = store.State(s.ReadInt()), s.ReadInt()
			s.Done()
		}
		return state, false, err
	}
	if gated, err := t.isGated(b); gated || err != nil {
		return store.Available, false, err
	}
	if b.OrderingKey == "" {
		return 0, false, nil
	}
	s = t.Stmt("keyed_has")
	bindKeyed(s, b)
	found, err := db.Exists(s)
	if found {
		state = store.Available
	}
	return state, found, err
}

func bindKeyed(s db.Stmt, b *Body) {
	s.BindInt(b.Lane.Queue)
	s.BindText(b.OrderingKey)
	s.BindInt(int64(b.Priority))
	s.BindInt(b.RunMicros)
	db.BindID(s, b.ID)
}

// PutBack makes a body say what its new pointer says, and which run was the last.
func (t *Tx) PutBack(b *Body, runAt int64) error {
	s := t.Stmt("job_put_back")
	s.BindInt(b.Lane.ID)
	s.BindInt(runAt)
	s.BindInt(b.LeaseNumber)
	s.BindInt(int64(b.Attempt))
	db.BindOptInt(s, b.ClaimedAt)
	db.BindID(s, b.ID)
	b.RunMicros, b.RunAt = runAt, DueTime(runAt)
	return db.Exec(s)
}

// DueTime is the zero time for never.
func DueTime(due int64) time.Time {
	if due == db.Never {
		return time.Time{}
	}
	return db.TimeOf(due)
}
