package postgres

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

func isOfCallback(kind store.MessageKind) bool {
	return kind == store.MessageCallback || kind == store.MessageCallbackFailed || kind == store.MessageHeartbeat
}

// waves splits sends into lists that are sent one after the other: in none of them are two that have one job and one key or one callback,
// of which the first decides over the second. Nearly always there is one wave.
func waves(sends []*store.Send) [][]*store.Send {
	type name struct {
		job      store.ID
		callback bool
		text     string
	}
	var list [][]*store.Send
	of := map[name]int{}          // the wave of the last one that has it
	reached := map[store.ID]int{} // so that the messages of a job keep their order
	for _, q := range sends {
		wave := reached[q.Job]
		names := make([]name, 0, 2)
		if q.Key != "" {
			names = append(names, name{q.Job, false, q.Key})
		}
		if isOfCallback(q.Message.Kind) {
			names = append(names, name{q.Job, true, q.Message.Name})
		}
		for _, n := range names {
			if last, ok := of[n]; ok {
				wave = max(wave, last+1)
			}
		}
		for _, n := range names {
			of[n] = wave
		}
		reached[q.Job] = wave
		if wave == len(list) {
			list = append(list, nil)
		}
		list[wave] = append(list[wave], q)
	}
	return list
}

// sending is the statement that stores one wave of sends. Their jobs are locked.
func sending(wave []*store.Send, now int64) statement {
	n := len(wave)
	ids, spaces := make([]pgtype.UUID, n), make([]*string, n)
	keys, kinds, names := make([]*string, n), make([]int32, n), make([]*string, n)
	data, codecs, words := make([][]byte, n), make([]int32, n), make([]*string, n)
	for i, q := range wave {
		m := &q.Message
		ids[i], spaces[i] = uuidOf(q.Job), optText(q.Namespace)
		keys[i], kinds[i], names[i] = optText(q.Key), int32(m.Kind), optText(m.Name)
		data[i], codecs[i], words[i] = m.Data, int32(m.Codec), optText(m.Error)
		if isOfCallback(m.Kind) {
			name := cleanText(m.Name) // "" is a name, too
			names[i] = &name
		}
	}
	args := []any{ids, ifAny(spaces), ifAny(keys), kinds, ifAny(names), ifAnyBytes(data), codecs, ifAny(words), now}
	return statement{name: "send", args: args, each: func(r row) error {
		var place, seq int64
		var verdict int32
		if err := r.Scan(&place, &seq, &verdict); err != nil {
			return err
		}
		q := wave[place-1]
		q.Result, q.Err = store.SendResult{}, nil
		switch verdict {
		case sendStored:
			q.Result.Seq = seq
		case sendDuplicate:
			q.Result.Seq, q.Result.Duplicate = seq, true
		case sendNoJob:
			q.Err = store.NoJob(q.Job)
		case sendFinished:
			q.Err = store.JobIs(q.Job, store.State(seq))
		case sendNoCallback:
			q.Err = store.NoCallback(q.Job)
		case sendAnswered:
			q.Err = store.CallbackAnswered(q.Job)
		}
		return nil
	}}
}

// sendings are the statements that store sends. Their jobs are locked, and waking is left to the end of the transaction.
func sendings(sends []*store.Send, now int64) []statement {
	var list []statement
	for _, wave := range waves(sends) {
		list = append(list, sending(wave, now))
	}
	return list
}

// receivers returns the jobs of sends, and what is new for each of them.
func receivers(sends []*store.Send) (jobs []pgtype.UUID, n wakeCandidates) {
	count := make(map[store.ID]int64, len(sends))
	for _, q := range sends {
		count[q.Job]++
	}
	for _, q := range sends {
		if number := count[q.Job]; number > 0 {
			jobs = append(jobs, uuidOf(q.Job))
			n.add(q.Job, number)
			delete(count, q.Job)
		}
	}
	return jobs, n
}

// settleSends tells the sends that woke their jobs.
func (w woken) settleSends(sends []*store.Send) {
	for _, q := range sends {
		job, ok := w[q.Job]
		q.Result.Woken = ok && q.Err == nil && !q.Result.Duplicate && q.Result.Seq == job.seq
	}
}

// deliver stores sends and wakes who waits for them, in a transaction that may be a caller's.
func deliver(ctx context.Context, t runner, sends []*store.Send, now int64) (woken, error) {
	if len(sends) == 0 {
		return nil, nil
	}
	jobs, n := receivers(sends)
	w := woken{}
	list := append([]statement{lockBodies(jobs, nil)}, sendings(sends, now)...)
	for _, st := range append(list, w.wake(n, now)) {
		if err := t.run(ctx, st.name, st.each, st.args...); err != nil {
			return nil, err
		}
	}
	w.settleSends(sends)
	return w, nil
}

// sendEach sends together, and if that fails because of one of them, one by one behind savepoints.
func (s *writeStore) sendEach(ctx context.Context, t session, sends []*store.Send, now int64) (woken, error) {
	together := func(sends []*store.Send) (w woken, err error) {
		err = t.attempt(ctx, func(t session) (err error) {
			w, err = deliver(ctx, t, sends, now)
			return err
		})
		return w, err
	}
	if w, err := together(sends); !isData(err) {
		return w, err
	}
	w := woken{}
	sorted := slices.Clone(sends)
	slices.SortStableFunc(sorted, func(a, b *store.Send) int { return bytes.Compare(a.Job[:], b.Job[:]) })
	for _, q := range sorted {
		one, err := together([]*store.Send{q})
		switch {
		case err == nil:
			maps.Copy(w, one)
		case isData(err):
			q.Result, q.Err = store.SendResult{}, classify(ctx, "send to job "+q.Job.String(), err)
		default:
			return nil, err
		}
	}
	return w, nil
}

// messageRow is what is scanned of a message or an entry, which have most of their columns in common.
type messageRow struct {
	seq, at       int64
	kind          int16
	codec         int32
	name, path    *string
	data          []byte
	lease, ref    *int64
	took          *int64
	from          pgtype.UUID
	state         *int16
	reason, words *string
}

func (m *messageRow) message() store.Message {
	message := store.Message{
		Seq: m.seq, Kind: store.MessageKind(m.kind), Name: textOf(m.name), Data: m.data, Codec: int(m.codec), Error: textOf(m.words),
		From: m.from.Bytes, Reason: store.Reason(textOf(m.reason)), At: timeOf(m.at),
	}
	if m.state != nil {
		message.State = store.State(*m.state)
	}
	return message
}

func (m *messageRow) entry() store.Entry {
	entry := store.Entry{
		Seq: m.seq, Kind: store.EntryKind(m.kind), Path: textOf(m.path), Name: textOf(m.name),
		Data: m.data, Codec: int(m.codec), At: timeOf(m.at),
	}
	if m.ref != nil {
		entry.Ref = *m.ref
	}
	if m.lease != nil {
		entry.LeaseNumber = *m.lease
	}
	entry.Took = time.Duration(optInt(m.took)) * time.Microsecond
	return entry
}
