package read

import (
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// run runs a statement in the snapshot of the list.
func (l *tables) run(name string, each func(pg.Row) error, args ...any) error {
	return l.t.Run(l.ctx, name, each, args...)
}

// ids runs a statement that answers with ids.
func (l *tables) ids(name string, args ...any) (ids []store.ID, err error) {
	return ids, l.run(name, func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		ids = append(ids, id.Bytes)
		return err
	}, args...)
}

// places runs a statement that answers with times, ids and states.
func (l *tables) places(name string, args ...any) (found []lists.Found, err error) {
	return found, l.run(name, placesOf(&found), args...)
}

func placesOf(found *[]lists.Found) func(pg.Row) error {
	return func(r pg.Row) error {
		var f lists.Found
		var id pgtype.UUID
		var state int32
		err := r.Scan(&f.At, &id, &state)
		f.ID, f.State = id.Bytes, store.State(state)
		*found = append(*found, f)
		return err
	}
}

// Holder implements lists.Tables.
func (l *tables) Holder(key []byte) ([]store.ID, error) { return l.ids("list_holder", key) }

// ByKey implements lists.Tables.
func (l *tables) ByKey(key string) ([]store.ID, error) {
	return l.ids("list_key", l.filter.Namespace, l.filter.Kinds, key)
}

// Descendants implements lists.Tables.
func (l *tables) Descendants(root store.ID, limit int) ([]store.ID, error) {
	return l.ids("list_descendants", pg.UUIDOf(root), int32(limit))
}

// LostFrom implements lists.Tables.
func (l *tables) LostFrom(node int64, limit int) ([]store.ID, error) {
	return l.ids("list_lost", node, int32(limit))
}

// Pointers implements lists.Tables.
func (l *tables) Pointers(in lists.Where, times lists.Span, limit int) (found []lists.Found, err error) {
	for _, table := range []struct {
		lists.Where
		read func(limit int) ([]lists.Found, error)
	}{
		{lists.InReady, func(limit int) ([]lists.Found, error) {
			return l.places("list_ready_few", l.lanes, times.From, times.Last(), int32(limit))
		}},
		{lists.InLine, func(limit int) ([]lists.Found, error) { return l.places("list_keyed_few", l.queues, int32(limit)) }},
		{lists.InLine, func(limit int) ([]lists.Found, error) {
			return l.places("list_gated_few", l.lanes, times.From, times.Last(), int32(limit))
		}},
		{lists.InDeferred, func(limit int) ([]lists.Found, error) { return l.deferred(times, limit) }},
		{lists.InClaims, func(limit int) ([]lists.Found, error) { return l.places("list_claims_few", int32(limit)) }},
	} {
		if in&table.Where == 0 || len(found) >= limit {
			continue
		}
		some, err := table.read(limit - len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if len(found) >= limit {
		return found, nil
	}
	return slices.DeleteFunc(found, func(f lists.Found) bool { return !times.Has(f.At) }), nil
}

// deferred returns some of the jobs in deferred: by time, if there are few at these, or by lane.
func (l *tables) deferred(times lists.Span, limit int) ([]lists.Found, error) {
	if !times.IsAll() {
		found, err := l.places("list_deferred", times.From, pg.UUIDOf(uuid.Nil), times.Last(), int32(limit))
		if err != nil || len(found) < limit {
			return found, err
		}
	}
	return l.places("list_deferred_few", l.lanes, int32(l.wanted), times.From, times.Last(), int32(limit))
}

// NotCompletedIn implements lists.Tables.
func (l *tables) NotCompletedIn(limit int) ([]lists.Found, bool, error) {
	if l.lanes == nil {
		return nil, false, nil
	}
	found, err := l.ended("list_failed_few", l.lanes, int32(l.wanted), int32(limit))
	return found, true, err
}

// ended runs a statement that answers with ids and states.
func (l *tables) ended(name string, args ...any) (found []lists.Found, err error) {
	return found, l.run(name, func(r pg.Row) error {
		var id pgtype.UUID
		var state int32
		err := r.Scan(&id, &state)
		found = append(found, lists.Found{Place: lists.Place{ID: id.Bytes}, State: store.State(state)})
		return err
	}, args...)
}

// Times implements lists.Tables.
func (l *tables) Times(s store.Sort, ids []store.ID) (found []lists.Found, err error) {
	return found, l.run("list_times", func(r pg.Row) error {
		var place, at int64
		var state int32
		err := r.Scan(&place, &state, &at)
		if s.States().Has(store.State(state)) {
			found = append(found, lists.Found{Place: lists.Place{At: at, ID: ids[place-1]}})
		}
		return err
	}, pg.UUIDsOf(ids))
}

// Jobs implements lists.Tables.
func (l *tables) Jobs(s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	return l.jobs(pgtype.UUID{}, s, r, n)
}

// Finished implements lists.Tables.
func (l *tables) Finished(s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	found, err := l.ended("list_finished", pg.UUIDOf(r.Least), pg.UUIDOf(r.Below), s == store.SortNewest, int32(n))
	return lists.First(s, found, n), err
}

// Children implements lists.Tables.
func (l *tables) Children(parent store.ID, s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	return l.jobs(pg.UUIDOf(parent), s, r, n)
}

func (l *tables) jobs(of pgtype.UUID, s store.Sort, r lists.Range, n int) (rows lists.Rows, err error) {
	args := []any{pg.UUIDOf(r.Least), pg.UUIDOf(r.Below), s == store.SortNewest, int32(n), of}
	return rows, l.run("list_jobs", func(row pg.Row) error {
		var id pgtype.UUID
		var fits bool
		var looked int64
		err := row.Scan(&id, &fits, &looked)
		rows.Looked, rows.Last = int(looked), lists.Place{ID: id.Bytes}
		if fits {
			rows.Found = append(rows.Found, lists.Found{Place: rows.Last, Checked: true})
		}
		return err
	}, append(args, l.checks(false)...)...)
}

// checks are the parameters of what fits the filter. known tells that the states of the jobs are,
// and that they were found at the right times, if these are run times.
func (l *tables) checks(known bool) []any {
	f := l.filter
	runs, ends := lists.RunTimes(f), lists.FinishedTimes(f)
	states, looksAtEnd, looksAtPointer := int32(0), len(f.Reasons) > 0 || len(f.Fingerprints) > 0 || !ends.IsAll(), false
	if !known && l.wanted != lists.Every {
		states, looksAtEnd = int32(l.wanted), true
		unfinished := l.wanted & store.Unfinished
		looksAtPointer = unfinished != 0 && unfinished != store.Unfinished
	}
	var reasons []string
	for _, reason := range f.Reasons {
		reasons = append(reasons, string(reason))
	}
	var lost *int64
	if f.LostFrom != 0 {
		lost = &f.LostFrom
	}
	if known {
		runs = lists.RunTimes(&store.Filter{})
	}
	runFrom, runLast := bounds(runs)
	endedFrom, endedLast := bounds(ends)
	return []any{
		l.lanes, l.tags, optUUID(lists.Kin(f)), f.NoParent, states, looksAtEnd, looksAtPointer,
		runFrom, runLast, endedFrom, endedLast, reasons, lost, optUUID(f.Root), orNil(f.Fingerprints),
	}
}

// bounds are those of a span, NULL if it has all times.
func bounds(s lists.Span) (from, last *int64) {
	if s.IsAll() {
		return nil, nil
	}
	end := s.Last()
	return &s.From, &end
}

// optUUID is NULL for no id.
func optUUID(id store.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != uuid.Nil} }

// NotCompleted implements lists.Tables.
func (l *tables) NotCompleted(s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	var states []int32
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		if l.wanted.Has(state) {
			states = append(states, int32(state))
		}
	}
	found, err := l.ended("list_failed", states, pg.UUIDOf(r.Least), pg.UUIDOf(r.Below), s == store.SortNewest, int32(n))
	return lists.First(s, found, n), err
}

// Ready implements lists.Tables.
func (l *tables) Ready(after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	at, id := begin(after, times)
	found, err := l.places("list_ready", l.lanes, at, id, times.Last(), int32(n))
	return lists.First(store.SortRunAt, found, n), err
}

// begin is where to go on in an order by run time: after a place, or from the beginning of a span.
func begin(after *lists.Place, times lists.Span) (int64, pgtype.UUID) {
	if after == nil || after.At < times.From {
		return times.From, pg.UUIDOf(uuid.Nil)
	}
	return after.At, pg.UUIDOf(after.ID)
}

// Deferred implements lists.Tables.
func (l *tables) Deferred(after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	at, id := begin(after, times)
	found, err := l.places("list_deferred", at, id, times.Last(), int32(n))
	return lists.First(store.SortRunAt, found, n), err
}

// Fits implements lists.Tables.
func (l *tables) Fits(found []lists.Found) ([]bool, error) {
	fits := make([]bool, len(found))
	for _, known := range []bool{true, false} { // mostly all of them or none
		var ids []pgtype.UUID
		places := map[store.ID]int{}
		for i, f := range found {
			if (f.State != 0) == known {
				ids, places[f.ID] = append(ids, pg.UUIDOf(f.ID)), i
			}
		}
		if ids == nil {
			continue
		}
		err := l.run("list_fits", func(r pg.Row) error {
			var id pgtype.UUID
			var yes bool
			var looked int64
			err := r.Scan(&id, &yes, &looked)
			fits[places[id.Bytes]] = yes
			return err
		}, append([]any{ids}, l.checks(known)...)...)
		if err != nil {
			return nil, err
		}
	}
	return fits, nil
}

// Documents implements lists.Tables.
func (l *tables) Documents(ids []store.ID) ([]lists.Document, error) {
	documents := make([]lists.Document, len(ids))
	return documents, l.run("list_documents", func(r pg.Row) error {
		var place int64
		var codec int32
		var d lists.Document
		err := r.Scan(&place, &d.Args, &codec, &d.Metadata)
		d.Codec = int(codec)
		documents[place-1] = d
		return err
	}, pg.UUIDsOf(ids))
}

// Records implements lists.Tables.
func (l *tables) Records(ids []store.ID) ([]store.Record, error) {
	found := &recordSet{ids: ids}
	st := found.statement()
	if err := l.run(st.Name, st.Each, st.Args...); err != nil {
		return nil, err
	}
	return l.namedRecords(l.ctx, found)
}
