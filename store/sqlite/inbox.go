package sqlite

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
)

// SendTx implements store.Writer.
func (v workVerbs) SendTx(ctx context.Context, wrapped store.Tx, sends []*store.Send) error {
	return v.d.inCallers(ctx, "send", wrapped, func(t *tx) error { return t.sendAll(sends) })
}

// sendAll delivers messages in the order given. Each has its own result; an error ends the transaction.
func (t *tx) sendAll(sends []*store.Send) error {
	for _, q := range sends {
		q.Result, q.Err = store.SendResult{}, nil
		if q.Err = q.Check(); q.Err != nil {
			continue
		}
		if err := t.send(q); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) send(q *store.Send) error {
	to, found, err := t.addressee(q.Job)
	if found && err == nil {
		found, err = t.isIn(q.Namespace, q.Job)
	}
	if err != nil {
		return err
	}
	if !found {
		q.Err = store.NoJob(q.Job)
		return nil
	}
	if q.Key != "" {
		if known, err := t.sentBefore(q, to); known || err != nil {
			return err
		}
	}
	if to.ended != 0 {
		q.Err = store.JobIs(q.Job, to.ended)
		return nil
	}
	if q.Message.Kind != store.MessageSignal {
		if q.Err, err = t.refuseCallback(q); q.Err != nil || err != nil {
			return err
		}
	}
	m := store.Message{
		Kind: q.Message.Kind, Name: q.Message.Name, Data: q.Message.Data, Codec: q.Message.Codec, Error: q.Message.Error,
	}
	q.Result.Woken, err = t.deliver(q.Job, to, &m, q.Key)
	q.Result.Seq = m.Seq
	return err
}

// sentBefore answers a send whose key is known.
func (t *tx) sentBefore(q *store.Send, to *addressee) (bool, error) {
	s := t.stmt("inbox_key")
	bindID(s, q.Job)
	s.bindText(q.Key)
	found, err := s.next()
	if err != nil || !found {
		return false, err
	}
	row := s.readInt()
	s.done()
	if row <= to.sent { // forgotten, and not removed yet
		s := t.stmt("inbox_delete")
		bindID(s, q.Job)
		s.bindInt(row)
		return false, exec(s)
	}
	q.Result = store.SendResult{Seq: row - to.sent, Duplicate: true}
	return true, nil
}

// refuseCallback returns why the message of a callback cannot be delivered, or nil.
func (t *tx) refuseCallback(q *store.Send) (refused, err error) {
	g, err := t.generation(q.Job)
	if err != nil {
		return nil, err
	}
	s := t.stmt("callback_opened")
	bindID(s, q.Job)
	s.bindText(q.Message.Name)
	s.bindInt(g.first)
	opened, err := exists(s)
	if err != nil {
		return nil, err
	}
	if !opened {
		return store.NoCallback(q.Job), nil
	}
	s = t.stmt("callback_answered")
	bindID(s, q.Job)
	s.bindText(q.Message.Name)
	s.bindInt(g.sent)
	answered, err := exists(s)
	if answered {
		refused = store.CallbackAnswered(q.Job)
	}
	return refused, err
}

func (t *tx) addressee(id store.ID) (a *addressee, found bool, err error) {
	s := t.stmt("addressee")
	bindID(s, id)
	found, err = s.next()
	if err != nil || !found {
		return nil, false, err
	}
	defer s.done()
	a = &addressee{
		lane: s.readInt(), runAt: s.readInt(), key: readOptText(s), ended: store.State(readOptInt(s)), last: readOptInt(s),
		sent: readOptInt(s),
	}
	a.last = max(a.last, a.sent)
	if !s.readNull() {
		a.wait = &store.Wait{
			Held: s.readInt() != 0, Seen: s.readInt(), Kinds: store.MessageSet(s.readInt()), Count: s.readInt(), Failures: s.readInt() != 0,
		}
	}
	return a, true, nil
}

// deliver stores a message, sets its number, and wakes the job if it waits for it.
func (t *tx) deliver(id store.ID, to *addressee, m *store.Message, key string) (woken bool, err error) {
	to.last++
	m.Seq, m.At = to.last-to.sent, timeOf(t.now)
	s := t.stmt("inbox_insert")
	bindID(s, id)
	s.bindInt(to.last)
	s.bindInt(t.now)
	s.bindInt(int64(m.Kind))
	bindOptText(s, m.Name)
	bindOptText(s, key)
	s.bindInt(int64(m.Codec))
	bindPayload(s, m.Data)
	bindOptText(s, m.Error)
	if m.Kind == store.MessageChild {
		bindID(s, m.From)
		s.bindInt(int64(m.State))
		bindOptText(s, string(m.Reason))
	} else {
		s.bindNull()
		s.bindNull()
		s.bindNull()
	}
	if err := exec(s); err != nil {
		return false, err
	}
	if to.wait == nil || to.ended != 0 || !to.wait.Wakes(m) {
		return false, nil
	}
	return true, t.wake(id, to)
}

// Messages implements store.Reader.
func (v workVerbs) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	var messages []store.Message
	err := v.d.read(ctx, "read the messages to job "+params.Job.String(), func(t *tx) (err error) {
		if own, err := t.isIn(params.Namespace, params.Job); !own {
			return err
		}
		g, there, err := t.memory(params.Job)
		if there {
			messages, err = t.messages(params.Job, g, params.After, int64(params.Limit))
		}
		return err
	})
	return messages, err
}

// messages returns what was sent to a job after a message; a negative limit is none.
func (t *tx) messages(id store.ID, g generation, after, limit int64) ([]store.Message, error) {
	var messages []store.Message
	s := t.stmt("inbox")
	bindID(s, id)
	s.bindInt(g.sent + min(after, math.MaxInt64-g.sent))
	s.bindInt(limit)
	return messages, each(s, func() error {
		m := store.Message{
			Seq: s.readInt() - g.sent, Kind: store.MessageKind(s.readInt()), Name: readOptText(s), Data: readOptBlob(s),
			Codec: int(s.readInt()), Error: readOptText(s),
		}
		if !s.readNull() {
			m.From = readID(s)
		}
		m.State, m.Reason, m.At = store.State(readOptInt(s)), store.Reason(readOptText(s)), readTime(s)
		messages = append(messages, m)
		return nil
	})
}

// countMessages returns how many messages a generation has.
func (t *tx) countMessages(id store.ID, g generation) (int64, error) {
	s := t.stmt("inbox_count")
	bindID(s, id)
	s.bindInt(g.sent)
	found, err := s.next()
	if err != nil || !found {
		return 0, unexpected("inbox_count", err)
	}
	defer s.done()
	return s.readInt(), nil
}
