package limits

import (
	"context"

	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// RetainKeys removes up to limit rows of keys whose bursts are whole, and tells whether there are
// more. With a limit of 0 it only looks.
func RetainKeys(ctx context.Context, d *core.Database, limit int) (removed int, more bool, err error) {
	var idle []int64
	look := func(t *core.Tx) (bool, error) {
		idle = nil
		s := t.Stmt("key_rates_idle")
		s.BindInt(t.Now)
		s.BindInt(int64(limit) + 1)
		err := db.Each(s, func() error { idle = append(idle, s.ReadInt()); return nil })
		removed, more = 0, len(idle) > limit
		return len(idle) > 0 && limit > 0, err
	}
	err = d.WriteIf(ctx, "remove idle keys of limits", look, func(t *core.Tx) error {
		if _, err := look(t); err != nil {
			return err
		}
		removed = min(limit, len(idle))
		for _, gate := range idle[:removed] {
			s := t.Stmt("key_rate_delete")
			s.BindInt(gate)
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}
