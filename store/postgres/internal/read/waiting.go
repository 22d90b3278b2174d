package read

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// WaitingOfKeys is that of store.Reader, without the class of its error.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	all := params.Keys
	counts := make([]int, len(all))
	params.Keys = slices.DeleteFunc(slices.Clone(params.Keys), func(k store.KeyOfLimit) bool { return !areText(k.Limit, k.Key) })
	w, err := lists.NewWaiting(params)
	if err != nil || len(w.Keys) == 0 || !areText(w.Namespace, w.Queue) { // no job has another one
		return counts, err
	}
	found := make([]int, len(w.Keys))
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		clear(found)
		few, err := waitingFew(ctx, t, w, found)
		if err != nil || few {
			return err
		}
		clear(found)
		return waitingOfEach(ctx, t, w, found)
	})
	for i, k := range all {
		if place, asked := w.Places[k]; asked {
			counts[i] = found[place]
		}
	}
	return counts, err
}

func areText(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !pg.IsText(text) })
}

// waitingFew counts all jobs that wait of the limits, and reports whether they are few enough.
func waitingFew(ctx context.Context, t pg.Session, w *lists.Waiting, counts []int) (few bool, err error) {
	err = t.Run(ctx, "waiting_few", func(r pg.Row) error {
		var (
			limit, key *string
			n          int64
		)
		if err := r.Scan(&limit, &key, &n); err != nil {
			return err
		}
		if key == nil {
			few = int(n) <= w.Few
		} else if i, asked := w.Places[store.KeyOfLimit{Limit: pg.TextOf(limit), Key: *key}]; asked {
			counts[i] = min(counts[i]+int(n), w.Most)
		}
		return nil
	}, w.Namespace, w.Queue, w.Limits, int32(w.Few+1))
	return few, err
}

// waitingOfEach counts the jobs of each key.
func waitingOfEach(ctx context.Context, t pg.Session, w *lists.Waiting, counts []int) error {
	var limits, keys []string
	for _, k := range w.Keys {
		limits, keys = append(limits, k.Limit), append(keys, k.Key)
	}
	return t.Run(ctx, "waiting_of_keys", func(r pg.Row) error {
		var place, n int64
		err := r.Scan(&place, &n)
		if err == nil {
			counts[place-1] = int(n)
		}
		return err
	}, w.Namespace, w.Queue, limits, keys, int32(min(w.Most, 1<<30)))
}
