package view

import (
	"context"
	"encoding/json"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// WaitingOfKeys implements store.Reader.
func (v Verbs) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) (counts []int, err error) {
	asked, err := lists.NewWaiting(params)
	if err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "count the jobs of keys", func(t *core.Tx) error {
		counts = make([]int, len(params.Keys))
		w := &waitings{Tx: t, Waiting: asked, counts: counts}
		if err := w.readLanes(); err != nil || len(w.limitOf) == 0 {
			return err
		}
		few, err := w.few()
		if err != nil || few {
			return err
		}
		clear(counts)
		return w.each()
	})
	return counts, err
}

// waitings are keys whose jobs are counted.
type waitings struct {
	*core.Tx
	*lists.Waiting
	counts  []int
	lanes   map[int64]lane
	limitOf map[int64]string   // of the lanes of the queue that are of limits of the keys
	of      map[string][]int64 // those lanes, by limit
}

// readLanes reads which lanes may have the jobs.
func (w *waitings) readLanes() error {
	w.lanes, w.limitOf, w.of = map[int64]lane{}, map[int64]string{}, map[string][]int64{}
	asked := map[string]bool{}
	for _, name := range w.Limits {
		asked[name] = true
	}
	s := w.Stmt("lanes_all")
	return db.Each(s, func() error {
		id, queue := s.ReadInt(), s.ReadInt()
		namespace, name := s.ReadText(), s.ReadText()
		limit := store.ParseLaneName(s.ReadText()).Limit
		selected := namespace == w.Namespace && name == w.Waiting.Queue && limit != "" && asked[limit]
		w.lanes[id] = lane{queue, selected}
		if selected {
			w.limitOf[id], w.of[limit] = limit, append(w.of[limit], id)
		}
		return nil
	})
}

// few counts all jobs that wait in the lanes, and reports whether they are few enough.
func (w *waitings) few() (bool, error) {
	t := &tables{Tx: w.Tx, filter: &store.Filter{}, wanted: lists.Waits, lanes: w.lanes}
	found, err := t.Pointers(lists.InReady|lists.InLine|lists.InDeferred, lists.RunTimes(t.filter), w.Few+1)
	if err != nil || len(found) > w.Few {
		return false, err
	}
	for _, f := range found {
		s := w.Stmt("job_limit_key")
		db.BindID(s, f.ID)
		there, err := s.Next()
		if err != nil {
			return false, err
		}
		if !there {
			continue
		}
		limit, ours := w.limitOf[s.ReadInt()] // others are in line for the turn of an ordering key
		i, asked := w.Places[store.KeyOfLimit{Limit: limit, Key: db.ReadOptText(s)}]
		s.Done()
		if ours && asked && w.counts[i] < w.Most {
			w.counts[i]++
		}
	}
	return true, nil
}

// each counts the jobs of each key.
func (w *waitings) each() error {
	in := map[string]string{}
	for name, ids := range w.of {
		text, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		in[name] = string(text)
	}
	for i, k := range w.Keys {
		if in[k.Limit] == "" {
			continue
		}
		s := w.Stmt("waiting_of_key")
		s.BindText(k.Key)
		s.BindText(in[k.Limit])
		s.BindInt(int64(w.Most))
		err := db.Each(s, func() error {
			w.counts[i] = int(s.ReadInt())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
