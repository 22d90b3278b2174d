package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// retainKeys removes up to limit business keys that jobs which were removed do not keep any more,
// and as much of what is remembered of signals that were sent along with enqueues. It tells whether
// there is more.
func (v Verbs) retainKeys(ctx context.Context, limit int) (removed int, more bool, err error) {
	over := func(t *core.Tx, name string, until int64) (bool, error) {
		s := t.Stmt(name)
		s.BindInt(until)
		return db.Exists(s)
	}
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			removed = 0
			if more, err = over(t, "keys_over", t.Now); err == nil && !more {
				more, err = over(t, "key_sent_over", t.Now-store.SentKept.Microseconds())
			}
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			removed, more = 0, false
			for _, table := range []struct {
				statement string
				until     int64
			}{
				{"keys_over_delete", t.Now}, {"key_sent_over_delete", t.Now - store.SentKept.Microseconds()},
			} {
				s := t.Stmt(table.statement)
				s.BindInt(table.until)
				s.BindInt(int64(limit))
				n, err := s.Exec()
				if err != nil {
					return err
				}
				removed, more = removed+int(n), more || int(n) == limit
			}
			return nil
		})
	return removed, more, err
}
