package move

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/schedules"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

func parked(t *core.Tx, b *core.Body) (*store.Parked, error) {
	s := t.Stmt("copy_wait")
	s.BindInt(b.Due)
	db.BindID(s, b.ID)
	found, err := s.Next()
	if err != nil || !found {
		return nil, db.Unexpected("copy_wait", err)
	}
	defer s.Done()
	p := &store.Parked{Wait: store.Wait{
		Seen: db.ReadOptInt(s), Kinds: store.MessageSet(db.ReadOptInt(s)), Count: db.ReadOptInt(s),
		Failures: db.ReadOptInt(s) != 0, Held: db.ReadOptInt(s) != 0,
	}}
	p.Was, p.WasDue = store.State(db.ReadOptInt(s)), db.ReadOptTime(s)
	text := db.ReadOptText(s)
	work.ReadHanding(db.ReadOptInt(s), &p.Wait)
	return p, work.ReadWait(text, p)
}

// readKeys tells which keys the job holds.
func readKeys(t *core.Tx, w *store.Whole, b *core.Body) error {
	if len(w.UniqueKey) > 0 {
		s := t.Stmt("unique_holder")
		s.BindBlob(w.UniqueKey)
		found, err := s.Next()
		if err != nil {
			return err
		}
		if found {
			w.HoldsKey = db.ReadID(s) == w.ID
			s.Done()
		}
	}
	if w.OrderingKey == "" {
		return nil
	}
	holder, held, err := t.KeyHolder(core.KeyName{Queue: b.Lane.Queue, Key: w.OrderingKey})
	w.HasTurn = held && holder == w.ID
	return err
}

func readRequests(t *core.Tx, w *store.Whole, _ *core.Body) error {
	s := t.Stmt("requests")
	db.BindID(s, w.ID)
	db.BindID(s, w.ID)
	return db.Each(s, func() error {
		kind := s.ReadInt()
		r := &store.Request{At: db.ReadTime(s), Reason: db.ReadOptText(s), Actor: db.ReadOptText(s)}
		if kind == db.RequestCancel {
			w.Cancel = r
		} else {
			w.Pause = r
		}
		return nil
	})
}

func readCheckpoint(t *core.Tx, w *store.Whole, _ *core.Body) error {
	s := t.Stmt("copy_checkpoint")
	db.BindID(s, w.ID)
	found, err := s.Next()
	if err != nil || !found {
		return err
	}
	defer s.Done()
	w.Checkpoint = &store.Checkpoint{
		Percent: s.ReadFloat(), UpdatedAt: db.ReadTime(s), Message: db.ReadOptText(s), Value: db.ReadOptBlob(s),
	}
	w.CheckpointLease = s.ReadInt()
	return nil
}

func readAttempts(t *core.Tx, w *store.Whole, _ *core.Body) error {
	s := t.Stmt("copy_attempts")
	db.BindID(s, w.ID)
	return db.Each(s, func() error {
		w.Attempts = append(w.Attempts, store.WholeAttempt{Attempt: store.Attempt{
			LeaseNumber: s.ReadInt(), Number: int(s.ReadInt()), Node: s.ReadInt(),
			ClaimedAt: db.ReadTime(s), StartedAt: db.ReadOptTime(s), EndedAt: db.ReadTime(s),
			Outcome: store.State(s.ReadInt()), Reason: store.Reason(db.ReadOptText(s)),
			Error: db.ReadOptText(s), Trace: db.ReadOptText(s),
		}, Lost: db.ReadOptInt(s) != 0})
		return nil
	})
}

func readActions(t *core.Tx, w *store.Whole, _ *core.Body) error {
	s := t.Stmt("actions")
	db.BindID(s, w.ID)
	s.BindInt(math.MaxInt32)
	err := db.Each(s, func() error {
		w.Actions = append(w.Actions, store.Action{
			At: db.ReadTime(s), Kind: store.ActionKind(s.ReadText()), Actor: s.ReadText(), Reason: db.ReadOptText(s),
		})
		return nil
	})
	slices.Reverse(w.Actions)
	return err
}

// memory reads the entries and messages of a job from a place on, which it moves: there is no more
// if that is not within the job afterwards.
func (p *page) memory(t *core.Tx, w *store.Whole, from *store.Place) error {
	g, err := generations.Of(t, w.ID)
	if err != nil {
		return err
	}
	if w.Durable, err = work.Durable(t, w.ID); err != nil {
		return err
	}
	from.Within = false
	if w.Durable {
		if err := p.entries(t, w, g, from); err != nil {
			return err
		}
	}
	if from.Within {
		return nil
	}
	return p.messages(t, w, g, from)
}

func (p *page) entries(t *core.Tx, w *store.Whole, g generations.Generation, from *store.Place) error {
	s := t.Stmt("copy_entries")
	db.BindID(s, w.ID)
	s.BindInt(from.Entry)
	s.BindInt(g.First)
	s.BindInt(math.MaxInt32)
	return p.each(s, from, func() {
		e := work.ScanEntry(s)
		w.Entries = append(w.Entries, e)
		from.Entry = e.Seq
		p.bytes -= 100 + len(e.Data)
	})
}

func (p *page) messages(t *core.Tx, w *store.Whole, g generations.Generation, from *store.Place) error {
	s := t.Stmt("copy_messages")
	db.BindID(s, w.ID)
	s.BindInt(g.Sent + from.Message)
	s.BindInt(math.MaxInt32)
	return p.each(s, from, func() {
		var m store.KeyedMessage
		m.Seq, m.Kind, m.Name = s.ReadInt()-g.Sent, store.MessageKind(s.ReadInt()), db.ReadOptText(s)
		m.Data, m.Codec, m.Error, m.From = db.ReadOptBlob(s), int(s.ReadInt()), db.ReadOptText(s), uuid.Nil
		if !s.ReadNull() {
			m.From = db.ReadID(s)
		}
		m.State, m.Reason, m.At = store.State(db.ReadOptInt(s)), store.Reason(db.ReadOptText(s)), db.ReadTime(s)
		m.Key, m.TraceParent = db.ReadOptText(s), db.ReadOptText(s)
		w.Messages = append(w.Messages, m)
		from.Message = m.Seq
		p.bytes -= 100 + len(m.Data)
	})
}

// each reads rows while the page may have more. If it may not, the place is within the job.
func (p *page) each(s db.Stmt, from *store.Place, row func()) error {
	for {
		found, err := s.Next()
		if err != nil || !found {
			return err
		}
		if p.rows <= 0 || p.bytes <= 0 {
			from.Within = true
			s.Done()
			return nil
		}
		row()
		p.rows--
	}
}

// keys reads business keys.
func (p *page) keys(t *core.Tx, params store.ExportParams) error {
	s := t.Stmt("copy_keys")
	s.BindText(params.After.Key.Namespace)
	s.BindText(params.After.Key.Kind)
	s.BindText(params.After.Key.Key)
	s.BindInt(int64(params.Limit))
	err := db.Each(s, func() error {
		k := store.KeyHold{Namespace: s.ReadText(), Kind: s.ReadText(), Key: s.ReadText(), Job: db.ReadID(s)}
		k.Keep = time.Duration(s.ReadInt()) * time.Microsecond
		k.Until, k.Args = db.ReadOptTime(s), s.ReadBlob()
		p.Keys, p.Next.Key = append(p.Keys, k), k
		return nil
	})
	if len(p.Keys) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Signals: true}
	}
	return err
}

// signals reads those that were sent along with enqueues.
func (p *page) signals(t *core.Tx, params store.ExportParams) error {
	s := t.Stmt("copy_signals")
	db.BindID(s, params.After.Signal.ID)
	s.BindText(params.After.Signal.Namespace)
	s.BindInt(int64(params.Limit))
	err := db.Each(s, func() error {
		sent := store.SentAlong{
			ID: db.ReadID(s), Namespace: s.ReadText(), Job: db.ReadID(s), Seq: s.ReadInt(), Differs: s.ReadInt() != 0, At: db.ReadTime(s),
		}
		p.Signals, p.Next.Signal = append(p.Signals, sent), sent
		return nil
	})
	if len(p.Signals) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Schedules: true}
	}
	return err
}

// schedules reads schedules. Of the last page nothing is left.
func (p *page) schedules(t *core.Tx, params store.ExportParams) (err error) {
	p.Schedules, err = schedules.Export(t, params.After.Schedule, params.Limit, params.Bytes)
	if n := len(p.Schedules); n > 0 {
		last := &p.Schedules[n-1]
		p.Next.Schedule = store.ScheduleName{Namespace: last.Namespace, Name: last.Name}
	} else {
		p.Next = store.Place{Job: p.Next.Job, Runs: true}
	}
	return err
}

// runs reads those of schedules.
func (p *page) runs(t *core.Tx, params store.ExportParams) (err error) {
	p.Runs, err = schedules.ExportRuns(t, params.After.Run, params.Limit)
	if n := len(p.Runs); n > 0 {
		p.Next.Run = p.Runs[n-1]
	}
	if len(p.Runs) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Batches: true}
	}
	return err
}

// batches reads batches.
func (p *page) batches(t *core.Tx, params store.ExportParams) (err error) {
	p.Batches, err = batches.Export(t, params.After.Batch, params.Limit)
	if n := len(p.Batches); n > 0 {
		p.Next.Batch = p.Batches[n-1].ID
	}
	if len(p.Batches) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Stubs: true}
	}
	return err
}

// stubs reads stubs of archived jobs.
func (p *page) stubs(t *core.Tx, params store.ExportParams) (err error) {
	p.Stubs, err = remains.ExportStubs(t, params.After.Stub, params.Limit)
	if n := len(p.Stubs); n > 0 {
		p.Next.Stub = p.Stubs[n-1].ID
	}
	p.End = len(p.Stubs) < params.Limit
	return err
}
