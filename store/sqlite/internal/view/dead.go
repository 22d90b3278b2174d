package view

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Dead implements lists.Tables.
func (l *tables) Dead(after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	lanes, _, err := l.selectedLanes()
	if err != nil {
		return lists.Rows{}, err
	}
	before := lists.Place{At: times.Last(), ID: lastID}
	if after != nil && after.At <= before.At {
		before = *after
	}
	var found []lists.Found
	for _, lane := range lanes {
		for _, fingerprint := range lists.Fingerprints(l.filter) {
			s := l.Stmt("dead_alike")
			s.BindInt(lane)
			db.BindOptInt(s, fingerprint)
			s.BindInt(before.At)
			db.BindID(s, before.ID)
			s.BindInt(times.From)
			s.BindInt(int64(n))
			some, err := readPlaces(s, store.Failed)
			if err != nil {
				return lists.Rows{}, err
			}
			if found = append(found, some...); len(found) > 4*n {
				found = lists.First(store.SortFinished, found, n).Found
			}
		}
	}
	return lists.First(store.SortFinished, found, n), nil
}

// DeadGroups implements store.Reader.
func (v Verbs) DeadGroups(ctx context.Context, params store.DeadParams) (page store.DeadPage, err error) {
	if _, err := lists.BeginDead(&params); err != nil {
		return page, err
	}
	err = v.d.Read(ctx, "group dead letters", func(t *core.Tx) error {
		l := newTables(t, &params.Filter, store.SortFinished)
		parts, err := lists.BeginDead(&params)
		if err != nil {
			return err
		}
		more, err := l.deadParts(parts)
		if err != nil {
			return err
		}
		page, err = parts.Page(more, func(parts []lists.DeadPart) ([]lists.DeadCount, error) { return deadCounts(t, parts, params.Most) })
		return err
	})
	return page, err
}

// deadParts finds what the lanes of the filter have of groups: in each the fingerprints one after
// the other, from the greatest down.
func (l *tables) deadParts(parts *lists.DeadParts) (more bool, err error) {
	lanes, _, err := l.selectedLanes()
	if err != nil {
		return false, err
	}
	looked := 0
	for _, id := range lanes {
		known, err := l.LaneOf(id)
		if err != nil {
			return false, err
		}
		add := func(f lists.Found, fingerprint int64) {
			parts.Add(lists.DeadPart{
				Lane: id, Kind: store.ParseLaneName(known.Kind).Kind, Queue: known.QueueName, Fingerprint: fingerprint,
				Job: f.ID, LastSeen: db.TimeOf(f.At),
			})
			looked++
		}
		s := l.Stmt("dead_alike")
		s.BindInt(id)
		s.BindNull()
		s.BindInt(math.MaxInt64)
		db.BindID(s, lastID)
		s.BindInt(math.MinInt64)
		s.BindInt(1)
		none, err := readPlaces(s, store.Failed)
		if err != nil {
			return false, err
		}
		for _, f := range none {
			add(f, 0)
		}
		for to, end := int64(math.MaxInt64), false; !end; {
			if looked >= store.MaxDeadGroups {
				return true, nil
			}
			s := l.Stmt("dead_next")
			s.BindInt(id)
			s.BindInt(to)
			end = true
			err := db.Each(s, func() error {
				fingerprint := s.ReadInt()
				to, end = fingerprint-1, fingerprint == math.MinInt64
				add(lists.Found{Place: lists.Place{At: s.ReadInt(), ID: db.ReadID(s)}}, fingerprint)
				return nil
			})
			if err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// deadCounts counts parts of groups.
func deadCounts(t *core.Tx, parts []lists.DeadPart, most int) ([]lists.DeadCount, error) {
	counts := make([]lists.DeadCount, len(parts))
	for i, p := range parts {
		c := &counts[i]
		s := t.Stmt("dead_count")
		s.BindInt(p.Lane)
		db.BindOptInt(s, p.Fingerprint)
		s.BindInt(int64(most) + 1)
		if err := db.Each(s, func() error { c.N = int(s.ReadInt()); return nil }); err != nil {
			return nil, err
		}
		s = t.Stmt("dead_first")
		s.BindInt(p.Lane)
		db.BindOptInt(s, p.Fingerprint)
		if err := db.Each(s, func() error { c.FirstSeen = db.ReadTime(s); return nil }); err != nil {
			return nil, err
		}
		s = t.Stmt("dead_said")
		db.BindID(s, p.Job)
		err := db.Each(s, func() error { c.Reason, c.Error = store.Reason(db.ReadOptText(s)), db.ReadOptText(s); return nil })
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}
