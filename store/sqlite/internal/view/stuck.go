package view

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// StuckKeys implements store.Reader.
func (v Verbs) StuckKeys(ctx context.Context, params store.StuckKeysParams) (page store.StuckPage, err error) {
	if err := params.Check(); err != nil {
		return page, err
	}
	err = v.d.Read(ctx, "list the stuck keys of queue "+params.Queue, func(t *core.Tx) error {
		page = store.StuckPage{}
		looked := 0
		s := t.Stmt("stuck_keys")
		s.BindInt(store.StuckBound + 1)
		s.BindText(params.Namespace)
		s.BindText(params.Queue)
		s.BindText(params.After)
		s.BindInt(int64(params.Look))
		err := db.Each(s, func() error {
			looked++
			k := store.StuckKey{Key: s.ReadText(), Job: db.ReadID(s)}
			if s.ReadInt() == 0 {
				page.Add(k.Key, nil)
				return nil
			}
			k.Since, k.Reason = db.ReadTime(s), store.Reason(db.ReadOptText(s))
			n := int(s.ReadInt())
			k.Waiting = store.Count{N: min(n, store.StuckBound), More: n > store.StuckBound}
			page.Add(k.Key, &k)
			return nil
		})
		page.End(&params, looked)
		return err
	})
	return page, err
}
