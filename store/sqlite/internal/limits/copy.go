package limits

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Export returns all limits for a copy: what nodes hold of them, and their ids, stay behind.
func Export(t *core.Tx) ([]store.Limit, error) {
	found, err := all(t, "", "")
	if found == nil {
		found = []store.Limit{}
	}
	for i := range found {
		found[i].ID, found[i].WantedAt = 0, time.Time{}
	}
	return found, err
}

// Import makes the limits of a database those of another one, unless they are nil.
func Import(t *core.Tx, limits []store.Limit) error {
	if limits == nil {
		return nil
	}
	names := make([][2]string, len(limits))
	for i := range limits {
		l := &limits[i]
		names[i] = [2]string{l.Namespace, l.Name}
		settings, err := l.Encode()
		if err != nil {
			return err
		}
		s := t.Stmt("copy_limit_put")
		s.BindText(l.Namespace)
		s.BindText(l.Name)
		s.BindText(settings)
		db.BindOptText(s, l.Declared)
		s.BindInt(int64(l.Slots()))
		bindUnit(s, l)
		s.BindInt(l.Version)
		s.BindInt(l.CreatedAt.UnixMicro())
		s.BindInt(l.UpdatedAt.UnixMicro())
		r := gcra.Of(l)
		if l.Together() == nil {
			s.BindNull()
		} else {
			s.BindInt(r.Period)
		}
		s.BindInt(r.Burst)
		s.BindInt(r.Tat)
		s.BindInt(r.Move)
		s.BindInt(r.Drained)
		bindKeyRate(s, &l.LimitSettings)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	text, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	s := t.Stmt("copy_limits_keep")
	s.BindText(string(text))
	return db.Exec(s)
}
