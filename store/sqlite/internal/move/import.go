package move

import (
	"bytes"
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/schedules"
)

// Import implements store.Copies.
func (v Verbs) Import(ctx context.Context, params store.ImportParams) error {
	return v.d.Write(ctx, "import jobs", func(t *core.Tx) error {
		n, err := begin(t, params.From)
		if err != nil {
			return err
		}
		for _, part := range []func() error{
			func() error { return each(t, params.Queues, putQueue) },
			func() error { return limits.Import(t, params.Limits) },
			func() error { return classes.Import(t, params.Classes) },
			func() error { return attributes.Import(t, params.Attributes) },
			func() error { return each(t, params.Jobs, put) },
			func() error { return remains.ImportBuilds(t, params.Builds) },
			func() error { return each(t, params.Keys, putKey) },
			func() error { return each(t, params.Signals, putSignal) },
			func() error { return schedules.Import(t, params.Schedules) },
			func() error { return schedules.ImportRuns(t, params.Runs) },
			func() error { return batches.Import(t, params.Batches) },
			func() error { return remains.ImportStubs(t, params.Stubs) },
		} {
			if err := part(); err != nil {
				return err
			}
		}
		if bytes.Compare(params.Last[:], n.Last[:]) > 0 {
			n.Last = params.Last
		}
		if n.Done = params.Done; n.Done {
			if err := giveTurns(t); err != nil {
				return err
			}
		}
		return putNote(t, n)
	})
}

// each puts all of a page.
func each[T any](t *core.Tx, all []T, put func(*core.Tx, *T) error) error {
	for i := range all {
		if err := put(t, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the note of the copy, which is a new one if this is its beginning.
func begin(t *core.Tx, from store.Origin) (*store.CopyNote, error) {
	here, err := origin(t)
	if err != nil {
		return nil, err
	}
	n, err := note(t)
	if err != nil {
		return nil, err
	}
	if n != nil {
		return n, n.Check(from, here.Nodes)
	}
	s := t.Stmt("nodes_alive")
	found, err := s.Next()
	if err != nil {
		return nil, err
	}
	if found {
		node := s.ReadInt()
		s.Done()
		return nil, refusal.CopyNeedsQuiet(node)
	}
	if taken, err := db.Exists(t.Stmt("copy_any")); err != nil {
		return nil, err
	} else if taken {
		return nil, refusal.CopyNeedsEmpty()
	}
	n = &store.CopyNote{From: from, Nodes: max(here.Nodes, from.Nodes)}
	if err := remains.ClearNodes(t); err != nil {
		return nil, err
	}
	if err := db.Exec(t.Stmt("copy_nodes_forget")); err != nil {
		return nil, err
	}
	s = t.Stmt("copy_nodes_begin")
	s.BindInt(n.Nodes)
	return n, db.Exec(s)
}

func putQueue(t *core.Tx, q *store.QueueSettings) error {
	s := t.Stmt("copy_queue_put")
	s.BindText(q.Namespace)
	s.BindText(q.Name)
	s.BindInt(q.CreatedAt.UnixMicro())
	db.BindOptTime(s, q.PausedAt)
	db.BindOptText(s, q.PausedBy)
	db.BindOptTime(s, q.Rest.Until)
	s.BindInt(int64(q.Rest.Level))
	db.BindOptText(s, q.Attempts.Encode())
	db.BindOptTime(s, q.DeletedAt)
	return db.Exec(s)
}

func putKey(t *core.Tx, k *store.KeyHold) error {
	s := t.Stmt("copy_key_insert")
	s.BindText(k.Namespace)
	s.BindText(k.Kind)
	s.BindText(k.Key)
	db.BindID(s, k.Job)
	s.BindInt(k.Keep.Microseconds())
	db.BindOptTime(s, k.Until)
	s.BindBlob(k.Args)
	return db.Exec(s)
}

func putSignal(t *core.Tx, sent *store.SentAlong) error {
	s := t.Stmt("copy_signal_insert")
	db.BindID(s, sent.ID)
	s.BindText(sent.Namespace)
	db.BindID(s, sent.Job)
	s.BindInt(sent.Seq)
	s.BindInt(db.BoolInt(sent.Differs))
	s.BindInt(sent.At.UnixMicro())
	return db.Exec(s)
}

// giveTurns hands on the ordering keys that are free. Other databases may not have come to it.
func giveTurns(t *core.Tx) error {
	s := t.Stmt("copy_keys_free")
	return db.Each(s, func() error {
		t.TouchKey(core.KeyName{Queue: s.ReadInt(), Key: s.ReadText()})
		return nil
	})
}

// put writes a job, or a portion of its memory. One that is there has all of it.
func put(t *core.Tx, w *store.Whole) error {
	if there, err := t.IsThere(w.ID); there || err != nil {
		return err
	}
	if err := insertMemory(t, w); err != nil || w.Unfinished {
		return err
	}
	lane, err := t.Lane(core.LaneName{
		Namespace: w.Namespace, QueueName: w.Queue, Kind: w.LaneName().String(), Priority: w.Priority,
	})
	if err != nil {
		return err
	}
	for _, insert := range []func(*core.Tx, *store.Whole, *core.Lane) error{
		insertBody, insertPlace, insertEdges, insertKeys, insertRequests, insertCheckpoint, insertUpdates, insertHistory, insertLogs,
		insertAttributes,
	} {
		if err := insert(t, w, lane); err != nil {
			return err
		}
	}
	return nil
}
