package view

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Obstacles implements store.Reader.
func (v Verbs) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	err := v.d.Read(ctx, "look up what blocks job "+id.String(), func(t *core.Tx) error {
		o = store.Obstacles{}
		b, found, err := t.Body(id)
		if err != nil {
			return err
		}
		if !found || namespace != "" && b.Namespace != namespace {
			return store.NoJob(id)
		}
		st := t.Stmt("queue_halted")
		st.BindInt(b.Lane.Queue)
		if found, err = st.Next(); err != nil {
			return err
		}
		if found {
			o.QueuePausedAt, o.QueuePausedBy = db.ReadOptTime(st), db.ReadOptText(st)
			if rest := db.ReadRest(st); rest.At(db.TimeOf(t.Now)) {
				o.QueueRest = rest
			}
			st.Done()
		}
		if b.Lane.Shard != "" {
			if o.FairAhead, err = fairAhead(t, b); err != nil {
				return err
			}
		}
		if b.OrderingKey == "" {
			return nil
		}
		holder, held, err := t.KeyHolder(core.KeyName{Queue: b.Lane.Queue, Key: b.OrderingKey})
		if o.HasTurn = held && holder == id; held && !o.HasTurn {
			o.Turn = holder
		}
		return err
	})
	return o, err
}

// fairAhead counts what is before a job in its lane, if it is available.
func fairAhead(t *core.Tx, b *core.Body) (n int, err error) {
	st := t.Stmt("lane_ahead")
	st.BindInt(store.MostFairAhead)
	st.BindInt(b.Lane.ID)
	st.BindInt(b.RunMicros)
	db.BindID(st, b.ID)
	found, err := st.Next()
	if err != nil || !found {
		return 0, err
	}
	defer st.Done()
	return int(st.ReadInt()), nil
}
