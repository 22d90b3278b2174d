package write

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
)

func isOfCallback(kind store.MessageKind) bool {
	return kind == store.MessageCallback || kind == store.MessageCallbackFailed || kind == store.MessageHeartbeat
}

// waves splits sends into lists that are sent one after the other: in none of them are two that
// have one job and one key or one callback, of which the first decides over the second. Nearly
// always there is one wave.
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
func sending(wave []*store.Send, now int64) pg.Statement {
	n := len(wave)
	ids, spaces := make([]pgtype.UUID, n), make([]*string, n)
	keys, kinds, names := make([]*string, n), make([]int32, n), make([]*string, n)
	data, codecs, words, traces := make([][]byte, n), make([]int32, n), make([]*string, n), make([]*string, n)
	for i, q := range wave {
		m := &q.Message
		ids[i], spaces[i] = pg.UUIDOf(q.Job), pg.OptText(q.Namespace)
		keys[i], kinds[i], names[i] = pg.OptText(q.Key), int32(m.Kind), pg.OptText(m.Name)
		data[i], codecs[i], words[i] = m.Data, int32(m.Codec), pg.OptText(m.Error)
		traces[i] = pg.OptText(m.TraceParent)
		if isOfCallback(m.Kind) {
			name := pg.CleanText(m.Name) // "" is a name, too
			names[i] = &name
		}
	}
	args := []any{
		ids, pg.IfAny(spaces), pg.IfAny(keys), kinds, pg.IfAny(names), pg.IfAnyBytes(data), codecs, pg.IfAny(words), pg.IfAny(traces), now,
	}
	return pg.Statement{Name: "send", Args: args, Each: func(r pg.Row) error {
		var place, seq int64
		var verdict int32
		if err := r.Scan(&place, &seq, &verdict); err != nil {
			return err
		}
		q := wave[place-1]
		q.Result, q.Err = store.SendResult{}, nil
		switch verdict {
		case pg.SendStored:
			q.Result.Seq = seq
		case pg.SendDuplicate:
			q.Result.Seq, q.Result.Duplicate = seq, true
		case pg.SendNoJob:
			q.Err = store.NoJob(q.Job)
		case pg.SendFinished:
			q.Err = store.JobIs(q.Job, store.State(seq))
		case pg.SendNoCallback:
			q.Err = store.NoCallback(q.Job)
		case pg.SendAnswered:
			q.Err = store.CallbackAnswered(q.Job)
		}
		return nil
	}}
}

// sendings are the statements that store sends. Their jobs are locked. Updates wake those that wait
// for them; for messages that is left to the end of the transaction.
func (w Woken) sendings(sends []*store.Send, now int64) []pg.Statement {
	var list []pg.Statement
	for _, wave := range waves(sends) {
		messages, requests := apart(wave)
		if len(messages) > 0 {
			list = append(list, sending(messages, now))
		}
		if len(requests) > 0 {
			list = append(list, updates.Sending(requests, now, w.note))
		}
	}
	return list
}

func isUpdate(q *store.Send) bool { return q.Message.Kind == store.MessageUpdate }

// apart tells updates from messages.
func apart(sends []*store.Send) (messages, requests []*store.Send) {
	if !slices.ContainsFunc(sends, isUpdate) {
		return sends, nil
	}
	for _, q := range sends {
		if isUpdate(q) {
			requests = append(requests, q)
		} else {
			messages = append(messages, q)
		}
	}
	return messages, requests
}

// receivers returns the jobs of sends, and what is new for each of them.
func receivers(sends []*store.Send) (jobs []pgtype.UUID, n WakeCandidates) {
	count := make(map[store.ID]int64, len(sends))
	for _, q := range sends {
		if number := count[q.Job]; isUpdate(q) {
			count[q.Job] = number // which is no message
		} else {
			count[q.Job] = number + 1
		}
	}
	for _, q := range sends {
		number, open := count[q.Job]
		if open {
			jobs = append(jobs, pg.UUIDOf(q.Job))
			delete(count, q.Job)
		}
		if number > 0 {
			n.add(q.Job, number)
		}
	}
	return jobs, n
}

// settleSends tells the messages that woke their jobs.
func (w Woken) settleSends(sends []*store.Send) {
	for _, q := range sends {
		if isUpdate(q) {
			continue // it has told itself
		}
		job, ok := w[q.Job]
		q.Result.Woken = ok && q.Err == nil && !q.Result.Duplicate && q.Result.Seq == job.seq
	}
}

// deliver stores sends and wakes who waits for them, in a transaction that may be a caller's.
func deliver(ctx context.Context, t pg.Runner, sends []*store.Send, now int64) (Woken, error) {
	if len(sends) == 0 {
		return nil, nil
	}
	jobs, n := receivers(sends)
	w := Woken{}
	list := append([]pg.Statement{lockBodies(jobs, nil)}, w.sendings(sends, now)...)
	if err := pg.Together(ctx, t, append(list, w.waking(n, now)...)...); err != nil {
		return nil, err
	}
	w.settleSends(sends)
	return w, nil
}

// sendEach sends together, and if that fails because of one of them, one by one behind savepoints.
func (s *Store) sendEach(ctx context.Context, t pg.Session, sends []*store.Send, now int64) (Woken, error) {
	together := func(sends []*store.Send) (w Woken, err error) {
		err = t.Attempt(ctx, func(t pg.Session) (err error) {
			w, err = deliver(ctx, t, sends, now)
			return err
		})
		return w, err
	}
	if w, err := together(sends); !pg.IsData(err) {
		return w, err
	}
	w := Woken{}
	sorted := slices.Clone(sends)
	slices.SortStableFunc(sorted, func(a, b *store.Send) int { return bytes.Compare(a.Job[:], b.Job[:]) })
	for _, q := range sorted {
		one, err := together([]*store.Send{q})
		switch {
		case err == nil:
			maps.Copy(w, one)
		case pg.IsData(err):
			q.Result, q.Err = store.SendResult{}, pg.Classify(ctx, "send to job "+q.Job.String(), err)
		default:
			return nil, err
		}
	}
	return w, nil
}
