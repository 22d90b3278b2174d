package move

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/remains"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
)

// Import is that of store.Copies, without the class of its error.
func (s *Store) Import(ctx context.Context, params store.ImportParams) error {
	jobs := make([]*store.Job, len(params.Jobs))
	for i := range params.Jobs {
		jobs[i] = &params.Jobs[i].Job
	}
	// The queues of the first page come with their lanes, ahead of the transaction: one that is not
	// listed yet is not used yet.
	lanes, err := s.LanesOf(ctx, jobs, false)
	if err != nil {
		return err
	}
	return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
		n, err := begin(ctx, t, params.From)
		if err != nil {
			return err
		}
		if err := s.putPage(ctx, t, &params, lanes); err != nil {
			return err
		}
		if bytes.Compare(params.Last[:], n.Last[:]) > 0 {
			n.Last = params.Last
		}
		n.Done = params.Done
		text, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("%w: the note of a copy: %w", store.ErrInvalid, err)
		}
		return t.Run(ctx, "copy_note_put", nil, string(text))
	})
}

// putPage writes all that a page has.
func (s *Store) putPage(ctx context.Context, t pg.Session, page *store.ImportParams, lanes []local.Lane) error {
	for _, part := range []func() error{
		func() error { return putQueues(ctx, t, page.Queues) },
		func() error { return limits.Import(ctx, t, page.Limits) },
		func() error { return classes.Import(ctx, t, page.Classes) },
		func() error { return attributes.Import(ctx, t, page.Attributes) },
		func() error { return put(ctx, t, page.Jobs, lanes) },
		func() error { return remains.Import(ctx, t, page.Builds, s.Micros()) },
		func() error { return putKeys(ctx, t, page.Keys) },
		func() error { return putSignals(ctx, t, page.Signals) },
		func() error { return schedules.Import(ctx, t, page.Schedules) },
		func() error { return schedules.ImportRuns(ctx, t, page.Runs) },
		func() error { return batches.Import(ctx, t, page.Batches) },
		func() error { return remains.ImportStubs(ctx, t, page.Stubs) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the note of the copy, which is a new one if this is its beginning.
func begin(ctx context.Context, t pg.Session, from store.Origin) (*store.CopyNote, error) {
	if err := t.Run(ctx, "copy_lock", nil); err != nil {
		return nil, err
	}
	here, n, err := origin(ctx, t)
	if err != nil {
		return nil, err
	}
	if n != nil {
		return n, n.Check(from, here.Nodes)
	}
	var node int64
	var taken bool
	if err := t.Run(ctx, "copy_busy", func(r pg.Row) error { return r.Scan(&node, &taken) }); err != nil {
		return nil, err
	}
	switch {
	case node != 0:
		return nil, refusal.CopyNeedsQuiet(node)
	case taken:
		return nil, refusal.CopyNeedsEmpty()
	}
	n = &store.CopyNote{From: from, Nodes: max(here.Nodes, from.Nodes)}
	if err := remains.ClearNodes(ctx, t); err != nil {
		return nil, err
	}
	return n, t.Run(ctx, "copy_nodes_begin", nil, n.Nodes)
}

func putQueues(ctx context.Context, t pg.Session, queues []store.QueueSettings) error {
	var rows []queueRow
	for _, q := range queues {
		rows = append(rows, queueRow{
			q.Namespace, q.Name, q.CreatedAt.UnixMicro(), pg.OptMicros(q.PausedAt), textOf(q.PausedBy),
			pg.OptMicros(q.Rest.Until), q.Rest.Level, textOf(q.Attempts.Encode()), pg.OptMicros(q.DeletedAt),
		})
	}
	return putRows(ctx, t, "copy_queues_put", rows)
}

func putKeys(ctx context.Context, t pg.Session, keys []store.KeyHold) error {
	var rows []keyRow
	for _, k := range keys {
		rows = append(rows, keyRow{
			k.Namespace, k.Kind, k.Key, k.Job, k.Keep.Microseconds(), pg.OptMicros(k.Until), hexOf(append([]byte{}, k.Args...)),
		})
	}
	return putRows(ctx, t, "copy_keys_put", rows)
}

func putSignals(ctx context.Context, t pg.Session, signals []store.SentAlong) error {
	var rows []signalRow
	for _, s := range signals {
		rows = append(rows, signalRow{s.ID, s.Namespace, s.Job, s.Seq, s.Differs, s.At.UnixMicro()})
	}
	return putRows(ctx, t, "copy_signals_put", rows)
}

// put writes jobs, and portions of their memories. Those that are there have all of it.
func put(ctx context.Context, t pg.Session, jobs []store.Whole, lanes []local.Lane) error {
	ids := make([]store.ID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	known := map[store.ID]bool{}
	err := t.Run(ctx, "copy_known", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		known[id.Bytes] = true
		return err
	}, pg.UUIDsOf(ids))
	if err != nil {
		return err
	}
	var rows tables
	for i := range jobs {
		if known[jobs[i].ID] {
			continue
		}
		if err := rows.add(&jobs[i], &lanes[i]); err != nil {
			return err
		}
	}
	return rows.write(ctx, t)
}

// putRows sends rows to a statement, unless there are none.
func putRows[T any](ctx context.Context, t pg.Session, name string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", store.ErrInvalid, name, err)
	}
	return t.Run(ctx, name, nil, string(text))
}
