package read

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// StuckKeys is that of store.Reader, without the class of its error.
func (s *Store) StuckKeys(ctx context.Context, params store.StuckKeysParams) (page store.StuckPage, err error) {
	if err := params.Check(); err != nil || !areText(params.Namespace, params.Queue, params.After) { // no key is another one
		return page, err
	}
	looked := 0
	look := pg.Statement{
		Name: "stuck_keys", Args: []any{params.Namespace, params.Queue, params.After, int32(params.Look), int32(store.StuckBound + 1)},
		Each: func(r pg.Row) error {
			looked++
			var (
				k        store.StuckKey
				since, n *int64
				reason   *string
			)
			if err := r.Scan(&k.Key, &k.Job, &since, &reason, &n); err != nil {
				return err
			}
			if since == nil {
				page.Add(k.Key, nil)
				return nil
			}
			k.Since, k.Reason = pg.TimeOf(*since), store.Reason(pg.TextOf(reason))
			k.Waiting = store.Count{N: int(min(*n, store.StuckBound)), More: *n > store.StuckBound}
			page.Add(k.Key, &k)
			return nil
		},
	}
	err = s.Send(ctx, look)
	page.End(&params, looked)
	return page, err
}
