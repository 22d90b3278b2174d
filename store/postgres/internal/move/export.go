package move

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/remains"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
)

// page is one that is being read.
type page struct {
	store.Exported

	t           pg.Session
	rows, bytes int // that it may still have
}

// Export is that of store.Copies, without the class of its error.
func (s *Store) Export(ctx context.Context, params store.ExportParams) (store.Exported, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return store.Exported{}, err
	}
	p := &page{rows: params.Limit, bytes: params.Bytes}
	p.Next = params.After
	var of []int32
	err := s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		p.t = t
		switch {
		case params.After.Stubs:
			return p.stubs(ctx, params)
		case params.After.Batches:
			return p.batches(ctx, params)
		case params.After.Runs:
			return p.runs(ctx, params)
		case params.After.Schedules:
			return p.schedules(ctx, params)
		case params.After.Signals:
			return p.signals(ctx, params)
		case params.After.Keys:
			return p.keys(ctx, params)
		}
		lanes, err := p.jobs(ctx, params)
		if err != nil {
			return err
		}
		of = lanes
		return p.builds(ctx)
	})
	if err != nil {
		return store.Exported{}, err
	}
	if err := s.KnowLanes(ctx, of); err != nil {
		return store.Exported{}, err
	}
	for i := range p.Jobs {
		if err := s.Describe(&p.Jobs[i].Job, of[i]); err != nil {
			return store.Exported{}, err
		}
	}
	return p.Exported, nil
}

// jobs takes as many jobs as the page may have, and returns their lanes.
func (p *page) jobs(ctx context.Context, params store.ExportParams) (lanes []int32, err error) {
	ids, last, err := next(ctx, p.t, params)
	if err != nil {
		return nil, err
	}
	jobs, of, err := wholes(ctx, p.t, ids)
	if err != nil {
		return nil, err
	}
	sent, err := addressees(ctx, p.t, ids)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		lanes = append(lanes, of[i])
		if err := p.add(ctx, &jobs[i], sent[jobs[i].ID]); err != nil {
			return nil, err
		}
		if p.Next.Within || p.bytes <= 0 || p.rows <= 0 {
			return lanes, nil
		}
	}
	if last {
		p.Next = store.Place{Job: p.Next.Job, Keys: true}
	}
	return lanes, nil
}

// builds reads by which programs the runs of the page were done.
func (p *page) builds(ctx context.Context) error {
	nodes := store.NodesOf(p.Jobs)
	if len(nodes) == 0 {
		return nil
	}
	st := remains.Builds(nodes, func(b store.NodeBuild) { p.Builds = append(p.Builds, b) })
	return p.t.Run(ctx, st.Name, st.Each, st.Args...)
}

// next lists the jobs from which a page is made, and tells whether there are no others.
func next(ctx context.Context, t pg.Session, params store.ExportParams) (ids []store.ID, last bool, err error) {
	room, n := params.Bytes, 0
	err = t.Run(ctx, "copy_next", func(r pg.Row) error {
		var id pgtype.UUID
		var size int
		if err := r.Scan(&id, &size); err != nil {
			return err
		}
		if n++; room > 0 {
			ids = append(ids, id.Bytes)
		}
		room -= size
		return nil
	}, pg.UUIDOf(params.After.Job), params.After.Within, int32(params.Limit))
	if err != nil {
		return nil, false, err
	}
	running := ""
	err = t.Run(ctx, "copy_running", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		running = store.ID(id.Bytes).String()
		return err
	}, pg.UUIDsOf(ids))
	if err == nil && running != "" {
		err = fmt.Errorf("%w: job %s is running", store.ErrConflict, running)
	}
	return ids, n < params.Limit && len(ids) == n, err
}

// addressees are those of the jobs to which something was sent.
func addressees(ctx context.Context, t pg.Session, ids []store.ID) (map[store.ID]bool, error) {
	sent := map[store.ID]bool{}
	return sent, t.Run(ctx, "copy_has_messages", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		sent[id.Bytes] = true
		return err
	}, pg.UUIDsOf(ids))
}

// add takes a job, and as much of its memory as the page may still have.
func (p *page) add(ctx context.Context, w *store.Whole, sent bool) error {
	from := store.Place{Job: w.ID}
	if p.Next.Within && p.Next.Job == w.ID {
		from = p.Next
	}
	from.Within = false
	if w.Durable {
		if err := p.entries(ctx, w, &from); err != nil {
			return err
		}
	}
	if sent && !from.Within {
		if err := p.messages(ctx, w, &from); err != nil {
			return err
		}
	}
	w.Unfinished = from.Within
	p.bytes -= w.Size()
	p.rows--
	p.Jobs, p.Next = append(p.Jobs, *w), from
	return nil
}

// entries reads the next entries of a job, and moves the place, which is within the job if there
// are more.
func (p *page) entries(ctx context.Context, w *store.Whole, from *store.Place) error {
	if p.rows <= 0 || p.bytes <= 0 {
		from.Within = true
		return nil
	}
	more := false
	err := p.t.Run(ctx, "copy_entries", func(r pg.Row) error {
		var m pg.MessageRow
		err := r.Scan(&m.Seq, &m.At, &m.Kind, &m.Codec, &m.Name, &m.Data, &m.Path, &m.Lease, &m.Ref, &m.Took, &more)
		w.Entries = append(w.Entries, m.Entry())
		return err
	}, pg.UUIDOf(w.ID), from.Entry, int32(p.rows), int64(p.bytes))
	for i := range w.Entries {
		from.Entry = w.Entries[i].Seq
		p.bytes -= 100 + len(w.Entries[i].Data)
	}
	p.rows -= len(w.Entries)
	from.Within = more
	return err
}

// messages is entries for messages.
func (p *page) messages(ctx context.Context, w *store.Whole, from *store.Place) error {
	if p.rows <= 0 || p.bytes <= 0 {
		from.Within = true
		return nil
	}
	more := false
	err := p.t.Run(ctx, "copy_messages", func(r pg.Row) error {
		var m pg.MessageRow
		var key *string
		err := r.Scan(&m.Seq, &m.At, &m.Kind, &m.Codec, &m.Name, &m.Data, &m.From, &m.State, &m.Reason, &m.Words, &key, &m.Trace, &more)
		w.Messages = append(w.Messages, store.KeyedMessage{Message: m.Message(), Key: pg.TextOf(key)})
		return err
	}, pg.UUIDOf(w.ID), from.Message, int32(p.rows), int64(p.bytes))
	for i := range w.Messages {
		from.Message = w.Messages[i].Seq
		p.bytes -= 100 + len(w.Messages[i].Data)
	}
	p.rows -= len(w.Messages)
	from.Within = more
	return err
}

// keys reads business keys.
func (p *page) keys(ctx context.Context, params store.ExportParams) error {
	after := params.After.Key
	err := p.t.Run(ctx, "copy_keys", func(r pg.Row) error {
		var k store.KeyHold
		var id pgtype.UUID
		var keep int64
		var until *int64
		err := r.Scan(&k.Namespace, &k.Kind, &k.Key, &id, &keep, &until, &k.Args)
		k.Job, k.Keep, k.Until = id.Bytes, time.Duration(keep)*time.Microsecond, pg.OptTime(until)
		p.Keys, p.Next.Key = append(p.Keys, k), k
		return err
	}, after.Namespace, after.Kind, after.Key, int32(params.Limit))
	if len(p.Keys) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Signals: true}
	}
	return err
}

// signals reads those that were sent along with enqueues.
func (p *page) signals(ctx context.Context, params store.ExportParams) error {
	after := params.After.Signal
	err := p.t.Run(ctx, "copy_signals", func(r pg.Row) error {
		var s store.SentAlong
		var id, job pgtype.UUID
		var at int64
		err := r.Scan(&id, &s.Namespace, &job, &s.Seq, &s.Differs, &at)
		s.ID, s.Job, s.At = id.Bytes, job.Bytes, pg.TimeOf(at)
		p.Signals, p.Next.Signal = append(p.Signals, s), s
		return err
	}, pg.UUIDOf(after.ID), after.Namespace, int32(params.Limit))
	if len(p.Signals) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Schedules: true}
	}
	return err
}

// schedules reads schedules. Of the last page nothing is left.
func (p *page) schedules(ctx context.Context, params store.ExportParams) (err error) {
	p.Schedules, err = schedules.Export(ctx, p.t, params.After.Schedule, params.Limit, params.Bytes)
	if n := len(p.Schedules); n > 0 {
		last := &p.Schedules[n-1]
		p.Next.Schedule = store.ScheduleName{Namespace: last.Namespace, Name: last.Name}
	} else {
		p.Next = store.Place{Job: p.Next.Job, Runs: true}
	}
	return err
}

// runs reads those of schedules.
func (p *page) runs(ctx context.Context, params store.ExportParams) (err error) {
	p.Runs, err = schedules.ExportRuns(ctx, p.t, params.After.Run, params.Limit)
	if n := len(p.Runs); n > 0 {
		p.Next.Run = p.Runs[n-1]
	}
	if len(p.Runs) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Batches: true}
	}
	return err
}

// batches reads batches.
func (p *page) batches(ctx context.Context, params store.ExportParams) (err error) {
	p.Batches, err = batches.Export(ctx, p.t, params.After.Batch, params.Limit)
	if n := len(p.Batches); n > 0 {
		p.Next.Batch = p.Batches[n-1].ID
	}
	if len(p.Batches) < params.Limit {
		p.Next = store.Place{Job: p.Next.Job, Stubs: true}
	}
	return err
}

// stubs reads stubs of archived jobs.
func (p *page) stubs(ctx context.Context, params store.ExportParams) (err error) {
	p.Stubs, err = remains.ExportStubs(ctx, p.t, params.After.Stub, params.Limit)
	if n := len(p.Stubs); n > 0 {
		p.Next.Stub = p.Stubs[n-1].ID
	}
	p.End = len(p.Stubs) < params.Limit
	return err
}
