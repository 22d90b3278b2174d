package move

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
)

// page is one that is being read.
type page struct {
	store.Exported

	rows, bytes int // that it may still have
}

// Export implements store.Copies.
func (v Verbs) Export(ctx context.Context, params store.ExportParams) (store.Exported, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return store.Exported{}, err
	}
	var p page
	err := v.d.Read(ctx, "export jobs", func(t *core.Tx) error {
		p = page{rows: params.Limit, bytes: params.Bytes}
		p.Next = params.After
		switch {
		case params.After.Stubs:
			return p.stubs(t, params)
		case params.After.Batches:
			return p.batches(t, params)
		case params.After.Runs:
			return p.runs(t, params)
		case params.After.Schedules:
			return p.schedules(t, params)
		case params.After.Signals:
			return p.signals(t, params)
		case params.After.Keys:
			return p.keys(t, params)
		}
		ids, err := next(t, params)
		if err != nil {
			return err
		}
		if err := p.addAll(t, ids, params.Limit); err != nil {
			return err
		}
		p.Builds, err = remains.NodeBuilds(t, store.NodesOf(p.Jobs))
		return err
	})
	return p.Exported, err
}

// addAll reads jobs, as many as the page may have. Fewer than limit: there are no others.
func (p *page) addAll(t *core.Tx, ids []store.ID, limit int) error {
	for _, id := range ids {
		if err := p.add(t, id); err != nil {
			return err
		}
		if p.Next.Within || p.bytes <= 0 || p.rows <= 0 {
			return nil
		}
	}
	if len(ids) < limit {
		p.Next = store.Place{Job: p.Next.Job, Keys: true}
	}
	return nil
}

// next lists the jobs from which a page is made.
func next(t *core.Tx, params store.ExportParams) (ids []store.ID, err error) {
	name := "copy_after"
	if params.After.Within {
		name = "copy_from"
	}
	s := t.Stmt(name)
	db.BindID(s, params.After.Job)
	s.BindInt(int64(params.Limit))
	return ids, db.Each(s, func() error {
		ids = append(ids, db.ReadID(s))
		return nil
	})
}

// add reads a job, and as much of its memory as the page may still have.
func (p *page) add(t *core.Tx, id store.ID) error {
	w, err := whole(t, id)
	if err != nil {
		return err
	}
	from := store.Place{Job: id}
	if p.Next.Within && p.Next.Job == id {
		from = p.Next
	}
	if err := p.memory(t, w, &from); err != nil {
		return err
	}
	w.Unfinished = from.Within
	p.bytes -= w.Size()
	p.rows--
	p.Jobs, p.Next = append(p.Jobs, *w), from
	return nil
}

// whole reads a job without its memory.
func whole(t *core.Tx, id store.ID) (*store.Whole, error) {
	b, found, err := t.Body(id)
	if err != nil || !found {
		return nil, db.Unexpected("the body of a job", err)
	}
	w := &store.Whole{Job: b.Job, Decided: b.Decided}
	if b.ClaimedAt != 0 {
		w.RanAt = db.TimeOf(b.ClaimedAt)
	}
	if err := readState(t, w, b); err != nil {
		return nil, err
	}
	for _, read := range []func(*core.Tx, *store.Whole, *core.Body) error{
		readKeys, readEdges, readRequests, readCheckpoint, readUpdates, readAttempts, readActions, readLogs, readAttributes,
	} {
		if err := read(t, w, b); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// readState says where the job is.
func readState(t *core.Tx, w *store.Whole, b *core.Body) error {
	f, ended, err := t.Finished(w.ID)
	if err != nil {
		return err
	}
	if ended {
		w.State = f.State
		w.End = &store.WholeEnd{
			Reason: f.Reason, Error: f.Err, Result: f.Result, Codec: f.Codec, Fingerprint: f.Fingerprint, LeaseNumber: f.Lease, Node: f.Node,
			StartedAt: f.StartedAt, FinishedAt: db.TimeOf(f.FinishedAt),
		}
		if f.ClaimedAt != 0 {
			w.End.ClaimedAt = db.TimeOf(f.ClaimedAt)
		}
		s := t.Stmt("copy_closes")
		db.BindID(s, w.ID)
		w.Closes, err = db.Exists(s)
		return err
	}
	if w.State, _, err = t.PointerState(b); err != nil {
		return err
	}
	switch w.State {
	case 0:
		return fmt.Errorf("%w: job %s is running", store.ErrConflict, w.ID)
	case store.Waiting:
		w.Parked, err = parked(t, b)
	default: // where it is due is in its body
	}
	return err
}
