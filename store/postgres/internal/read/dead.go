package read

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Dead implements lists.Tables.
func (l *tables) Dead(after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	before := lists.Place{At: times.Last(), ID: uuid.Max}
	if after != nil && after.At <= before.At {
		before = *after
	}
	some, none := fingerprints(l.filter)
	found, err := l.places("list_dead", l.lanes, some, none, times.From, before.At, pg.UUIDOf(before.ID), int32(n))
	return lists.First(store.SortFinished, found, n), err
}

// fingerprints are those of a filter, and whether it selects jobs that have none.
func fingerprints(f *store.Filter) (some []int64, none bool) {
	all := lists.Fingerprints(f)
	some = slices.DeleteFunc(slices.Clone(all), func(n int64) bool { return n == 0 })
	return some, len(some) < len(all)
}

// DeadGroups is that of store.Reader, without the class of its error.
func (s *Store) DeadGroups(ctx context.Context, params store.DeadParams) (page store.DeadPage, err error) {
	if _, err := lists.BeginDead(&params); err != nil || !isAskable(&params.Filter) {
		return page, err
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		l, err := s.newTables(ctx, t, &params.Filter, store.SortFinished)
		if err != nil || l.selectsNothing() {
			return err
		}
		parts, err := lists.BeginDead(&params)
		if err != nil {
			return err
		}
		more, err := l.deadParts(parts)
		if err != nil {
			return err
		}
		page, err = parts.Page(more, func(parts []lists.DeadPart) ([]lists.DeadCount, error) { return l.deadCounts(parts, params.Most) })
		return err
	})
	return page, err
}

// deadParts finds what the lanes of the filter have of groups.
func (l *tables) deadParts(parts *lists.DeadParts) (more bool, err error) {
	looked := 0
	err = l.run("dead_groups", func(r pg.Row) error {
		var lane int32
		var fingerprint *int64
		var at int64
		var id pgtype.UUID
		if err := r.Scan(&lane, &fingerprint, &at, &id); err != nil {
			return err
		}
		if looked++; looked > store.MaxDeadGroups {
			return nil
		}
		known, _ := l.Lanes.Get(lane) // newTables has added those of the filter
		parts.Add(lists.DeadPart{
			Lane: int64(lane), Kind: store.ParseLaneName(known.Kind()).Kind, Queue: known.Queue, Fingerprint: pg.OptInt(fingerprint),
			Job: id.Bytes, LastSeen: pg.TimeOf(at),
		})
		return nil
	}, l.lanes, int32(store.MaxDeadGroups+1), int64(math.MaxInt64))
	return looked > store.MaxDeadGroups, err
}

// deadCounts counts parts of groups.
func (l *tables) deadCounts(parts []lists.DeadPart, most int) ([]lists.DeadCount, error) {
	counts := make([]lists.DeadCount, len(parts))
	lanes, alike, jobs := make([]int32, len(parts)), make([]*int64, len(parts)), make([]store.ID, len(parts))
	for i := range parts {
		lanes[i], jobs[i] = int32(parts[i].Lane), parts[i].Job
		if parts[i].Fingerprint != 0 {
			alike[i] = &parts[i].Fingerprint
		}
	}
	return counts, l.run("dead_counts", func(r pg.Row) error {
		var place, n int64
		var first *int64
		var reason, text *string
		err := r.Scan(&place, &n, &first, &reason, &text)
		if err != nil {
			return err
		}
		c := &counts[place-1]
		if c.N = int(n); first != nil {
			c.FirstSeen = pg.TimeOf(*first)
		}
		c.Reason, c.Error = store.Reason(pg.TextOf(reason)), pg.TextOf(text)
		return nil
	}, lanes, alike, pg.UUIDsOf(jobs), int32(most+1))
}
