package move

import (
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

func insertBody(t *core.Tx, w *store.Whole, lane *core.Lane) error {
	options, tags, err := work.Documents(&w.Job)
	if err != nil {
		return err
	}
	s := t.Stmt("copy_job_insert")
	db.BindID(s, w.ID)
	s.BindInt(lane.ID)
	s.BindInt(due(w))
	s.BindInt(w.CreatedAt.UnixMicro())
	s.BindInt(w.LeaseNumber)
	s.BindInt(int64(w.Attempt))
	s.BindInt(int64(w.MaxAttempts))
	s.BindInt(int64(w.Codec))
	db.BindOptText(s, w.OrderingKey)
	if len(w.UniqueKey) > 0 {
		s.BindBlob(w.UniqueKey)
		s.BindInt(int64(w.UniqueStates))
	} else {
		s.BindNull()
		s.BindNull()
	}
	db.BindOptText(s, options)
	db.BindOptText(s, tags)
	db.BindOptText(s, string(w.Metadata))
	db.BindPayload(s, w.Args)
	if of := core.KinOf(&w.Job); of == uuid.Nil {
		s.BindNull()
	} else {
		db.BindID(s, of)
	}
	// A job that has a journal before its first run is a fork.
	core.BindAllMarks(s, &core.Body{Job: w.Job, Forked: w.Durable && w.LeaseNumber == 0, Decided: w.Decided})
	db.BindOptTime(s, w.RanAt)
	return db.Exec(s)
}

// due is the run time of the body: never, if no time wakes the job.
func due(w *store.Whole) int64 {
	if w.RunAt.IsZero() {
		return db.Never
	}
	return w.RunAt.UnixMicro()
}

// insertPlace gives the job its pointer.
func insertPlace(t *core.Tx, w *store.Whole, lane *core.Lane) error {
	if w.End != nil {
		t.TellEnd(w.ID, w.State, w.End.Reason)
	} else {
		t.Tell(w.ID, w.State)
	}
	switch {
	case w.End != nil:
		return insertEnd(t, w, lane)
	case w.Parked != nil:
		return insertWait(t, w, lane)
	case w.State == store.Available && (w.OrderingKey == "" || w.HasTurn):
		s := t.Stmt("ready_insert")
		core.BindPointer(s, core.Pointer{ID: w.ID, Lane: lane, RunAt: due(w)})
		return db.Exec(s)
	case w.State == store.Available:
		s := t.Stmt("keyed_insert")
		s.BindInt(lane.Queue)
		s.BindText(w.OrderingKey)
		s.BindInt(int64(w.Priority))
		s.BindInt(due(w))
		db.BindID(s, w.ID)
		s.BindInt(lane.ID)
		return db.Exec(s)
	}
	s := t.Stmt("deferred_insert")
	s.BindInt(due(w))
	db.BindID(s, w.ID)
	s.BindInt(lane.ID)
	s.BindInt(int64(w.State))
	db.BindOptText(s, w.OrderingKey)
	return db.Exec(s)
}

func insertEnd(t *core.Tx, w *store.Whole, lane *core.Lane) error {
	e := w.End
	s := t.Stmt("finished_insert_lane")
	db.BindID(s, w.ID)
	s.BindInt(int64(w.State))
	s.BindInt(e.FinishedAt.UnixMicro())
	db.BindOptInt(s, e.LeaseNumber)
	db.BindOptInt(s, e.Node)
	db.BindOptTime(s, e.ClaimedAt)
	db.BindOptTime(s, e.StartedAt)
	db.BindOptText(s, string(e.Reason))
	db.BindOptText(s, e.Error)
	db.BindOptInt(s, e.Fingerprint)
	db.BindPayload(s, e.Result)
	db.BindOptInt(s, int64(e.Codec))
	if w.State == store.Completed {
		s.BindNull()
	} else {
		s.BindInt(lane.ID)
	}
	if err := db.Exec(s); err != nil || !w.Closes {
		return err
	}
	s = t.Stmt("closed_put")
	db.BindID(s, w.ID)
	return db.Exec(s)
}

func insertWait(t *core.Tx, w *store.Whole, lane *core.Lane) error {
	p := w.Parked
	text, err := work.WriteWait(p)
	if err != nil {
		return err
	}
	at := due(w)
	if p.Held {
		at = db.Never
	}
	s := t.Stmt("wait_insert")
	s.BindInt(at)
	db.BindID(s, w.ID)
	s.BindInt(lane.ID)
	db.BindOptText(s, w.OrderingKey)
	s.BindInt(p.Seen)
	s.BindInt(int64(p.Kinds))
	s.BindInt(p.Count)
	s.BindInt(db.BoolInt(p.Failures))
	s.BindInt(db.BoolInt(p.Held))
	db.BindOptInt(s, int64(p.Was))
	db.BindOptTime(s, p.WasDue)
	s.BindText(text)
	db.BindOptInt(s, work.Handing(&p.Wait))
	return db.Exec(s)
}

func insertKeys(t *core.Tx, w *store.Whole, lane *core.Lane) error {
	if w.HoldsKey {
		s := t.Stmt("unique_insert")
		s.BindBlob(w.UniqueKey)
		db.BindID(s, w.ID)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	if !w.HasTurn {
		return nil
	}
	s := t.Stmt("key_holder_insert")
	s.BindInt(lane.Queue)
	s.BindText(w.OrderingKey)
	db.BindID(s, w.ID)
	return db.Exec(s)
}

func insertRequests(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	for name, r := range map[string]*store.Request{"cancel_request_put": w.Cancel, "pause_request_put": w.Pause} {
		if r == nil {
			continue
		}
		s := t.Stmt(name)
		db.BindID(s, w.ID)
		s.BindInt(r.At.UnixMicro())
		db.BindOptText(s, r.Reason)
		db.BindOptText(s, r.Actor)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

func insertCheckpoint(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	c := w.Checkpoint
	if c == nil {
		return nil
	}
	s := t.Stmt("checkpoint_put")
	db.BindID(s, w.ID)
	s.BindInt(w.CheckpointLease)
	s.BindFloat(c.Percent)
	s.BindInt(c.UpdatedAt.UnixMicro())
	db.BindOptText(s, c.Message)
	db.BindPayload(s, c.Value)
	return db.Exec(s)
}

// insertHistory writes the attempts and what people did. No run of an attempt will tell its outcome
// again: its node was one of the other database.
func insertHistory(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		s := t.Stmt("attempt_insert")
		db.BindID(s, w.ID)
		s.BindInt(a.LeaseNumber)
		s.BindInt(int64(a.Number))
		s.BindInt(a.Node)
		s.BindInt(a.ClaimedAt.UnixMicro())
		db.BindOptTime(s, a.StartedAt)
		s.BindInt(a.EndedAt.UnixMicro())
		s.BindInt(int64(a.Outcome))
		s.BindInt(taken(a.Lost))
		db.BindOptText(s, string(a.Reason))
		db.BindOptText(s, a.Error)
		db.BindOptText(s, a.Trace)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	for _, a := range w.Actions {
		s := t.Stmt("audit_insert")
		s.BindInt(a.At.UnixMicro())
		s.BindText(a.Actor)
		s.BindText(string(a.Kind))
		db.BindID(s, w.ID)
		db.BindOptText(s, a.Reason)
		s.BindNull() // nothing is known of before and after
		s.BindNull()
		db.BindID(s, w.ID)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// taken is the column taken of an attempt, which is never 0 here.
func taken(lost bool) int64 {
	if lost {
		return db.TakenLost
	}
	return 1
}

// insertMemory writes entries and messages, but for those that are there: a page may be imported
// again.
func insertMemory(t *core.Tx, w *store.Whole) error {
	for i := range w.Entries {
		e := &w.Entries[i]
		s := t.Stmt("copy_entry_insert")
		db.BindID(s, w.ID)
		s.BindInt(e.Seq)
		s.BindInt(e.At.UnixMicro())
		s.BindInt(e.LeaseNumber)
		s.BindInt(int64(e.Kind))
		db.BindOptText(s, e.Path)
		db.BindOptText(s, e.Name)
		db.BindOptInt(s, e.Ref)
		s.BindInt(int64(e.Codec))
		db.BindPayload(s, e.Data)
		db.BindOptInt(s, e.Took.Microseconds())
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	for i := range w.Messages {
		if err := insertMessage(t, w.ID, &w.Messages[i]); err != nil {
			return err
		}
	}
	return nil
}

func insertMessage(t *core.Tx, id store.ID, m *store.KeyedMessage) error {
	s := t.Stmt("copy_message_insert")
	db.BindID(s, id)
	s.BindInt(m.Seq)
	s.BindInt(m.At.UnixMicro())
	s.BindInt(int64(m.Kind))
	db.BindOptText(s, m.Name)
	db.BindOptText(s, m.Key)
	s.BindInt(int64(m.Codec))
	db.BindPayload(s, m.Data)
	db.BindOptText(s, m.Error)
	if m.Kind != store.MessageChild {
		s.BindNull()
		s.BindNull()
		s.BindNull()
	} else {
		db.BindID(s, m.From)
		s.BindInt(int64(m.State))
		db.BindOptText(s, string(m.Reason))
	}
	db.BindOptText(s, m.TraceParent)
	return db.Exec(s)
}
