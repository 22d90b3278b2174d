package updates

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Sending is the statement that keeps requests, of which no two have one job and key, and wakes the
// jobs that wait for them. Their bodies are locked. woken is called for each that became available.
func Sending(sends []*store.Send, now int64, woken func(job store.ID, lane int32)) pg.Statement {
	n := len(sends)
	ids, spaces := make([]pgtype.UUID, n), make([]*string, n)
	keys, names, data, codecs := make([]string, n), make([]string, n), make([][]byte, n), make([]int32, n)
	for i, q := range sends {
		m := &q.Message
		ids[i], spaces[i], keys[i] = pg.UUIDOf(q.Job), pg.OptText(q.Namespace), q.Key
		names[i], data[i], codecs[i] = m.Name, m.Data, int32(m.Codec)
	}
	args := []any{ids, pg.IfAny(spaces), keys, names, pg.IfAnyBytes(data), codecs, now}
	return pg.Statement{Name: "send_updates", Args: args, Each: func(r pg.Row) error {
		var place, seq int64
		var verdict int32
		var lane *int32
		if err := r.Scan(&place, &seq, &verdict, &lane); err != nil {
			return err
		}
		q := sends[place-1]
		q.Result, q.Err = store.SendResult{}, nil
		switch verdict {
		case pg.SendStored, pg.SendDuplicate:
			q.Result = store.SendResult{Seq: seq, Duplicate: verdict == pg.SendDuplicate, Woken: lane != nil}
		case pg.SendNoJob:
			q.Err = store.NoJob(q.Job)
		case pg.SendFinished:
			q.Err = store.JobIs(q.Job, store.State(seq))
		}
		if lane != nil {
			woken(q.Job, *lane)
		}
		return nil
	}}
}

// Parked are jobs that park, and wait for requests.
type Parked struct {
	jobs  []pgtype.UUID
	known []int64
}

// Add adds a job whose run parks, if it waits for requests.
func (p *Parked) Add(job store.ID, w *store.Wait) {
	if !w.Held && w.Kinds.Has(store.MessageUpdate) {
		p.jobs, p.known = append(p.jobs, pg.UUIDOf(job)), append(p.known, w.SeenUpdate)
	}
}

// Waking are the statements that wake those of them for which requests have come. woken is called
// for each.
func (p *Parked) Waking(now int64, woken func(job store.ID, lane int32)) []pg.Statement {
	if p.jobs == nil {
		return nil
	}
	return []pg.Statement{{Name: "wake_for_updates", Args: []any{p.jobs, p.known, now}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var lane int32
		err := r.Scan(&id, &lane)
		woken(id.Bytes, lane)
		return err
	}}}
}

// Answers are those of appends, by their jobs.
type Answers struct {
	jobs             []pgtype.UUID
	seqs             []int64
	verdicts, codecs []int32
	data             [][]byte
	errors           []*string
}

// Add adds the answers of an append.
func (s *Answers) Add(a *store.Append) {
	for i := range a.Answers {
		u := &a.Answers[i]
		s.jobs, s.seqs = append(s.jobs, pg.UUIDOf(a.Lease.Job)), append(s.seqs, u.Seq)
		s.verdicts, s.codecs = append(s.verdicts, int32(u.Verdict)), append(s.codecs, int32(u.Codec))
		s.data, s.errors = append(s.data, u.Data), append(s.errors, pg.OptText(u.Error))
	}
}

// Answering are the statements that answer. The leases of the appends were looked at.
func (s *Answers) Answering(now int64) []pg.Statement {
	if s.jobs == nil {
		return nil
	}
	args := []any{s.jobs, s.seqs, s.verdicts, s.codecs, pg.IfAnyBytes(s.data), pg.IfAny(s.errors), now}
	return []pg.Statement{{Name: "answer_updates", Args: args}}
}

// ForgetAccepted is the statement that removes the requests with an answer that entries after a
// number have accepted. It comes before those go.
func ForgetAccepted(job store.ID, last int64) pg.Statement {
	return pg.Statement{Name: "updates_forget_accepted", Args: []any{pg.UUIDOf(job), last}}
}

// ForgetGone removes the requests to jobs up to one that have gone with their days.
func ForgetGone(ctx context.Context, d *pg.DB, to store.ID) error {
	return d.InPortions(ctx, store.ID{}, func(after pgtype.UUID, limit int32) pg.Statement {
		return pg.Statement{Name: "updates_of_gone", Args: []any{after, pg.UUIDOf(to), limit}}
	})
}

// ForgetRefused removes up to limit requests that were refused long enough ago, and tells whether
// there are more.
func ForgetRefused(ctx context.Context, d *pg.DB, now int64, limit int) (more bool, err error) {
	removed := 0
	args := []any{now - store.RefusedKept.Microseconds(), int32(limit)}
	err = d.Send(ctx, pg.Statement{Name: "updates_refused", Args: args, Each: func(pg.Row) error { removed++; return nil }})
	return removed >= limit, err
}
