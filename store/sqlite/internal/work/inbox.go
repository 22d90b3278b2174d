package work

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// SendTx implements store.Writer.
func (v Verbs) SendTx(ctx context.Context, wrapped store.Tx, sends []*store.Send) error {
	return v.d.InCallers(ctx, "send", wrapped, func(t *core.Tx) error { return sendAll(t, sends) })
}

// sendAll delivers messages in the order given. Each has its own result; an error ends the
// transaction.
func sendAll(t *core.Tx, sends []*store.Send) error {
	for _, q := range sends {
		q.Result, q.Err = store.SendResult{}, nil
		if q.Err = q.Check(); q.Err != nil {
			continue
		}
		if err := send(t, q); err != nil {
			return err
		}
	}
	return nil
}

func send(t *core.Tx, q *store.Send) error {
	to, found, err := addresseeOf(t, q.Job)
	if found && err == nil {
		found, err = t.IsIn(q.Namespace, q.Job)
	}
	if err != nil {
		return err
	}
	if !found {
		q.Err = store.NoJob(q.Job)
		return nil
	}
	if q.Message.Kind == store.MessageUpdate {
		return request(t, q, to)
	}
	if q.Key != "" {
		if known, err := sentBefore(t, q, to); known || err != nil {
			return err
		}
	}
	if to.ended != 0 {
		q.Err = store.JobIs(q.Job, to.ended)
		return nil
	}
	if q.Message.Kind != store.MessageSignal {
		if q.Err, err = refuseCallback(t, q); q.Err != nil || err != nil {
			return err
		}
	}
	m := store.Message{
		Kind: q.Message.Kind, Name: q.Message.Name, Data: q.Message.Data, Codec: q.Message.Codec, Error: q.Message.Error,
		TraceParent: q.Message.TraceParent,
	}
	q.Result.Woken, err = deliver(t, q.Job, to, &m, q.Key)
	q.Result.Seq = m.Seq
	return err
}

// request keeps an update, unless it is known, and wakes its job if that waits for one.
func request(t *core.Tx, q *store.Send, to *addressee) error {
	seq, known, err := updates.Known(t, q.Job, q.Key)
	switch {
	case err != nil:
		return err
	case known:
		q.Result = store.SendResult{Seq: seq, Duplicate: true}
		return nil
	case to.ended != 0:
		q.Err = store.JobIs(q.Job, to.ended)
		return nil
	}
	if q.Result.Seq, err = updates.Insert(t, q); err != nil {
		return err
	}
	if to.wait == nil || to.wait.Held || !to.wait.Kinds.Has(store.MessageUpdate) {
		return nil
	}
	q.Result.Woken = true
	return wake(t, q.Job, to)
}

// sentBefore answers a send whose key is known.
func sentBefore(t *core.Tx, q *store.Send, to *addressee) (bool, error) {
	s := t.Stmt("inbox_key")
	db.BindID(s, q.Job)
	s.BindText(q.Key)
	found, err := s.Next()
	if err != nil || !found {
		return false, err
	}
	row := s.ReadInt()
	s.Done()
	if row <= to.sent { // forgotten, and not removed yet
		s := t.Stmt("inbox_delete")
		db.BindID(s, q.Job)
		s.BindInt(row)
		return false, db.Exec(s)
	}
	q.Result = store.SendResult{Seq: row - to.sent, Duplicate: true}
	return true, nil
}

// refuseCallback returns why the message of a callback cannot be delivered, or nil.
func refuseCallback(t *core.Tx, q *store.Send) (refused, err error) {
	g, err := generations.Of(t, q.Job)
	if err != nil {
		return nil, err
	}
	s := t.Stmt("callback_opened")
	db.BindID(s, q.Job)
	s.BindText(q.Message.Name)
	s.BindInt(g.First)
	opened, err := db.Exists(s)
	if err != nil {
		return nil, err
	}
	if !opened {
		return store.NoCallback(q.Job), nil
	}
	s = t.Stmt("callback_answered")
	db.BindID(s, q.Job)
	s.BindText(q.Message.Name)
	s.BindInt(g.Sent)
	answered, err := db.Exists(s)
	if answered {
		refused = store.CallbackAnswered(q.Job)
	}
	return refused, err
}

func addresseeOf(t *core.Tx, id store.ID) (a *addressee, found bool, err error) {
	s := t.Stmt("addressee")
	db.BindID(s, id)
	found, err = s.Next()
	if err != nil || !found {
		return nil, false, err
	}
	defer s.Done()
	a = &addressee{
		lane: s.ReadInt(), runAt: s.ReadInt(), key: db.ReadOptText(s), ended: store.State(db.ReadOptInt(s)), last: db.ReadOptInt(s),
		sent: db.ReadOptInt(s),
	}
	a.last = max(a.last, a.sent)
	if !s.ReadNull() {
		a.wait = &store.Wait{
			Held: s.ReadInt() != 0, Seen: s.ReadInt(), Kinds: store.MessageSet(s.ReadInt()), Count: s.ReadInt(), Failures: s.ReadInt() != 0,
		}
	}
	return a, true, nil
}

// deliver stores a message, sets its number, and wakes the job if it waits for it.
func deliver(t *core.Tx, id store.ID, to *addressee, m *store.Message, key string) (woken bool, err error) {
	to.last++
	m.Seq, m.At = to.last-to.sent, db.TimeOf(t.Now)
	s := t.Stmt("inbox_insert")
	db.BindID(s, id)
	s.BindInt(to.last)
	s.BindInt(t.Now)
	s.BindInt(int64(m.Kind))
	db.BindOptText(s, m.Name)
	db.BindOptText(s, key)
	s.BindInt(int64(m.Codec))
	db.BindPayload(s, m.Data)
	db.BindOptText(s, m.Error)
	if m.Kind == store.MessageChild {
		db.BindID(s, m.From)
		s.BindInt(int64(m.State))
		db.BindOptText(s, string(m.Reason))
	} else {
		s.BindNull()
		s.BindNull()
		s.BindNull()
	}
	db.BindOptText(s, m.TraceParent)
	if err := db.Exec(s); err != nil {
		return false, err
	}
	if to.wait == nil || to.ended != 0 || !to.wait.Wakes(m) {
		return false, nil
	}
	return true, wake(t, id, to)
}

// Messages implements store.Journals.
func (v Verbs) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	var messages []store.Message
	err := v.d.Read(ctx, "read the messages to job "+params.Job.String(), func(t *core.Tx) (err error) {
		if own, err := t.IsIn(params.Namespace, params.Job); !own {
			return err
		}
		g, there, err := generations.Visible(t, params.Job)
		if there {
			messages, err = readMessages(t, params.Job, g, params.After, int64(params.Limit))
		}
		return err
	})
	return messages, err
}

// readMessages returns what was sent to a job after a message; a negative limit is none.
func readMessages(t *core.Tx, id store.ID, g generations.Generation, after, limit int64) ([]store.Message, error) {
	var messages []store.Message
	s := t.Stmt("inbox")
	db.BindID(s, id)
	s.BindInt(g.Sent + min(after, math.MaxInt64-g.Sent))
	s.BindInt(limit)
	return messages, db.Each(s, func() error {
		m := store.Message{
			Seq: s.ReadInt() - g.Sent, Kind: store.MessageKind(s.ReadInt()), Name: db.ReadOptText(s), Data: db.ReadOptBlob(s),
			Codec: int(s.ReadInt()), Error: db.ReadOptText(s),
		}
		if !s.ReadNull() {
			m.From = db.ReadID(s)
		}
		m.State, m.Reason, m.At = store.State(db.ReadOptInt(s)), store.Reason(db.ReadOptText(s)), db.ReadTime(s)
		m.TraceParent = db.ReadOptText(s)
		messages = append(messages, m)
		return nil
	})
}

// CountMessages returns how many messages a generation has.
func CountMessages(t *core.Tx, id store.ID, g generations.Generation) (int64, error) {
	s := t.Stmt("inbox_count")
	db.BindID(s, id)
	s.BindInt(g.Sent)
	found, err := s.Next()
	if err != nil || !found {
		return 0, db.Unexpected("inbox_count", err)
	}
	defer s.Done()
	return s.ReadInt(), nil
}
