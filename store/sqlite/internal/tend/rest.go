package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Rest implements store.Queues.
func (v Verbs) Rest(ctx context.Context, params store.RestParams) (rest store.Resting, err error) {
	if err := params.Check(); err != nil {
		return rest, err
	}
	err = v.d.Write(ctx, "let queue "+params.Queue+" rest", func(t *core.Tx) error {
		queue, err := t.Queue(params.Namespace, params.Queue)
		if err != nil {
			return err
		}
		was, err := restOf(t, queue)
		if rest = params.After(was, db.TimeOf(t.Now)); err != nil || rest == was {
			return err
		}
		s := t.Stmt("queue_rest")
		s.BindInt(rest.Until.UnixMicro())
		s.BindInt(int64(rest.Level))
		s.BindInt(queue)
		if err := db.Exec(s); err != nil || params.Actor == "" {
			return err
		}
		return core.AuditQueue(t, params.Actor, "rest", queue, rest.String())
	})
	return rest, err
}

func restOf(t *core.Tx, queue int64) (rest store.Resting, err error) {
	s := t.Stmt("queue_rested")
	s.BindInt(queue)
	return rest, db.Each(s, func() error {
		rest = db.ReadRest(s)
		return nil
	})
}
