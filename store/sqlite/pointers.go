package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// pointer is the place that the body gives the job.
func (b *body) pointer() pointer { return pointer{b.ID, b.lane, b.OrderingKey, b.runAt} }

// body reads a job.
func (t *tx) body(id store.ID) (*body, bool, error) {
	s := t.stmt("job")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return nil, false, err
	}
	b := &body{Job: store.Job{ID: id}, claimedAt: readOptInt(s)}
	laneID, err := b.scan(s)
	s.done()
	if err != nil {
		return nil, false, err
	}
	if err := b.setLane(t, laneID); err != nil {
		return nil, false, err
	}
	return b, true, nil
}

// scan reads the columns of a body from lane on, and leaves the lane to setLane: finding it may need a statement.
func (b *body) scan(s stmt) (laneID int64, err error) {
	laneID = s.readInt()
	b.runAt = s.readInt()
	b.RunAt = dueTime(b.runAt)
	b.CreatedAt = readTime(s)
	b.LeaseNumber = s.readInt()
	b.Attempt = int(s.readInt())
	b.MaxAttempts = int(s.readInt())
	b.Codec = int(s.readInt())
	b.OrderingKey = readOptText(s)
	b.UniqueKey = readOptBlob(s)
	b.UniqueStates = store.StateSet(readOptInt(s))
	if !s.readNull() {
		if err := json.Unmarshal(s.readBlob(), &b.Options); err != nil {
			return 0, fmt.Errorf("%w: options of job %v: %w", store.ErrInvalid, b.ID, err)
		}
	}
	if !s.readNull() {
		if err := json.Unmarshal(s.readBlob(), &b.Tags); err != nil {
			return 0, fmt.Errorf("%w: tags of job %v: %w", store.ErrInvalid, b.ID, err)
		}
	}
	b.Metadata = readOptBlob(s)
	b.Args = readOptBlob(s)
	if !s.readNull() {
		marks := s.readInt()
		b.Answers, b.OnParentClose = marks&markAnswers != 0, store.ClosePolicy(marks>>markPolicy&policyBits)
		b.Closing, b.forked, b.closing = marks&markClosing != 0, marks&markForked != 0, marks>>markDecided
		if !s.readNull() {
			b.Parent = readID(s)
		}
	}
	return laneID, nil
}

// bindMarks binds the column marks of a job that is not closing.
func bindMarks(s stmt, job *store.Job, forked bool) {
	marks := boolInt(job.Answers)*markAnswers | boolInt(forked)*markForked | int64(job.OnParentClose)<<markPolicy
	if job.Parent == uuid.Nil && marks == 0 {
		s.bindNull()
	} else {
		s.bindInt(marks)
	}
}

// reopenEnd takes back the decision how the job ends.
func (t *tx) reopenEnd(b *body) error {
	b.Closing, b.closing = false, 0
	return t.writeMarks(b)
}

// writeMarks makes the stored body say what this one, which is not closing, says of its beginning.
func (t *tx) writeMarks(b *body) error {
	s := t.stmt("job_mark")
	bindMarks(s, &b.Job, b.forked)
	bindID(s, b.ID)
	return exec(s)
}

func (b *body) setLane(t *tx, id int64) (err error) {
	if b.lane, err = t.laneOf(id); err != nil {
		return err
	}
	b.lane.describe(&b.Job)
	return nil
}

// place gives a job its pointer: deferred in the given state if it is not due, available otherwise. It returns the
// state.
func (t *tx) place(p pointer, later store.State) (store.State, error) {
	if p.runAt > t.now {
		return later, t.deferUntil(p, later)
	}
	return store.Available, t.makeAvailable(p)
}

// deferUntil gives a job a pointer in deferred.
func (t *tx) deferUntil(p pointer, state store.State) error {
	if t.isUntold() {
		t.noteDue(p.runAt)
	}
	s := t.stmt("deferred_insert")
	s.bindInt(p.runAt)
	bindID(s, p.id)
	s.bindInt(p.lane.id)
	s.bindInt(int64(state))
	bindOptText(s, p.key)
	return exec(s)
}

// makeAvailable puts a job into ready, or, if another one has the turn of its ordering key, into the line for it.
func (t *tx) makeAvailable(p pointer) error {
	if p.key != "" {
		holder, held, err := t.keyHolder(keyName{p.lane.queue, p.key})
		if err != nil {
			return err
		}
		if !held || holder != p.id {
			return t.awaitTurn(p)
		}
	}
	if t.isUntold() {
		t.noteWoken(p.lane)
	}
	s := t.stmt("ready_insert")
	bindPointer(s, p)
	return exec(s)
}

// bindPointer binds what a row of ready is.
func bindPointer(s stmt, p pointer) {
	s.bindInt(p.lane.id)
	s.bindInt(p.runAt)
	bindID(s, p.id)
}

// removePointer takes a job that waits out of its place and returns the state it was in, or 0 if it does not wait.
func (t *tx) removePointer(b *body) (store.State, error) {
	state, blocked, err := t.pointerState(b)
	if err != nil || state == 0 {
		return 0, err
	}
	return state, t.deletePointer(b, state, blocked)
}

// deletePointer deletes the pointer that was found to be where it is.
func (t *tx) deletePointer(b *body, state store.State, blocked bool) error {
	var s stmt
	switch {
	case blocked:
		s = t.stmt("keyed_delete")
		bindKeyed(s, b)
	case state == store.Available:
		s = t.stmt("ready_delete")
		s.bindInt(b.lane.id)
		s.bindInt(b.runAt)
		bindID(s, b.ID)
	default:
		s = t.stmt("deferred_delete")
		s.bindInt(b.due)
		bindID(s, b.ID)
	}
	return exec(s)
}

// pointerState returns the state of a job that waits, or 0 if it runs or has finished. Blocked: it waits for the turn of its
// ordering key.
func (t *tx) pointerState(b *body) (state store.State, blocked bool, err error) {
	s := t.stmt("ready_has")
	s.bindInt(b.lane.id)
	s.bindInt(b.runAt)
	bindID(s, b.ID)
	if found, err := exists(s); found || err != nil {
		return store.Available, false, err
	}
	s = t.stmt("deferred_state")
	s.bindInt(b.runAt)
	bindID(s, b.ID)
	if found, err := s.next(); found || err != nil {
		if found {
			state, b.due = store.State(s.readInt()), s.readInt()
			s.done()
		}
		return state, false, err
	}
	if b.OrderingKey == "" {
		return 0, false, nil
	}
	s = t.stmt("keyed_has")
	bindKeyed(s, b)
	found, err := exists(s)
	if found {
		state = store.Available
	}
	return state, found, err
}

func bindKeyed(s stmt, b *body) {
	s.bindInt(b.lane.queue)
	s.bindText(b.OrderingKey)
	s.bindInt(int64(b.Priority))
	s.bindInt(b.runAt)
	bindID(s, b.ID)
}

// putBack makes a body say what its new pointer says, and which run was the last.
func (t *tx) putBack(b *body, runAt int64) error {
	s := t.stmt("job_put_back")
	s.bindInt(b.lane.id)
	s.bindInt(runAt)
	s.bindInt(b.LeaseNumber)
	s.bindInt(int64(b.Attempt))
	bindOptInt(s, b.claimedAt)
	bindID(s, b.ID)
	b.runAt, b.RunAt = runAt, dueTime(runAt)
	return exec(s)
}

// dueTime is the zero time for never.
func dueTime(due int64) time.Time {
	if due == never {
		return time.Time{}
	}
	return timeOf(due)
}
