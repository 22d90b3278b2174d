package view

import (
	"bytes"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// tables implements lists.Tables in a transaction.
type tables struct {
	*core.Tx
	filter *store.Filter
	wanted store.StateSet

	lanes map[int64]lane   // all; read when the first is asked for
	runs  core.RunningJobs // read when the first job is found to run
}

// lane is what a list wants to know of one.
type lane struct {
	queue    int64
	selected bool // by the filter
}

func newTables(t *core.Tx, f *store.Filter, s store.Sort) *tables {
	return &tables{Tx: t, filter: f, wanted: lists.Wanted(f, s)}
}

// allLanes reports whether the filter selects all lanes.
func (l *tables) allLanes() bool {
	return l.filter.Namespace == "" && len(l.filter.Queues) == 0 && len(l.filter.Kinds) == 0
}

// readLanes reads which lanes there are, and which of them the filter selects.
func (l *tables) readLanes() (map[int64]lane, error) {
	if l.lanes != nil {
		return l.lanes, nil
	}
	l.lanes = map[int64]lane{}
	f := l.filter
	s := l.Stmt("lanes_all")
	return l.lanes, db.Each(s, func() error {
		id, queue := s.ReadInt(), s.ReadInt()
		namespace, name := s.ReadText(), s.ReadText()
		kind := store.ParseLaneName(s.ReadText()).Kind
		l.lanes[id] = lane{queue, (f.Namespace == "" || f.Namespace == namespace) &&
			(len(f.Queues) == 0 || slices.Contains(f.Queues, name)) &&
			(len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind))}
		return nil
	})
}

// selectedLanes are those that the filter selects, and their queues.
func (l *tables) selectedLanes() (ids, queues []int64, err error) {
	all, err := l.readLanes()
	for id, lane := range all {
		if lane.selected {
			ids, queues = append(ids, id), append(queues, lane.queue)
		}
	}
	slices.Sort(ids)
	slices.Sort(queues)
	return ids, slices.Compact(queues), err
}

// Holder implements lists.Tables.
func (l *tables) Holder(key []byte) ([]store.ID, error) {
	s := l.Stmt("unique_holder")
	s.BindBlob(key)
	return readIDs(s)
}

// ByKey implements lists.Tables.
func (l *tables) ByKey(key string) (ids []store.ID, err error) {
	for _, kind := range l.filter.Kinds {
		h, found, err := keys.HolderOf(l.Tx, store.JobKey{Namespace: l.filter.Namespace, Kind: kind, Key: key})
		if err != nil {
			return nil, err
		}
		if found {
			ids = append(ids, h.Job)
		}
	}
	return ids, nil
}

// Descendants implements lists.Tables.
func (l *tables) Descendants(root store.ID, limit int) (ids []store.ID, err error) {
	for parents := []store.ID{root}; len(parents) > 0 && len(ids) < limit; parents = parents[1:] {
		s := l.Stmt("children_ids")
		db.BindID(s, parents[0])
		s.BindInt(int64(limit - len(ids)))
		err := db.Each(s, func() error {
			id := db.ReadID(s)
			ids, parents = append(ids, id), append(parents, id)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// LostFrom implements lists.Tables.
func (l *tables) LostFrom(node int64, limit int) ([]store.ID, error) {
	s := l.Stmt("lost_from")
	s.BindInt(node)
	s.BindInt(int64(limit))
	return readIDs(s)
}

func readIDs(s db.Stmt) (ids []store.ID, err error) {
	return ids, db.Each(s, func() error {
		ids = append(ids, db.ReadID(s))
		return nil
	})
}

// readPlaces reads rows of a time and an id, of jobs in a state.
func readPlaces(s db.Stmt, state store.State) (found []lists.Found, err error) {
	return found, db.Each(s, func() error {
		found = append(found, lists.Found{Place: lists.Place{At: s.ReadInt(), ID: db.ReadID(s)}, State: state})
		return nil
	})
}

// Pointers implements lists.Tables.
func (l *tables) Pointers(in lists.Where, times lists.Span, limit int) (found []lists.Found, err error) {
	ids, queues, err := l.selectedLanes()
	if err != nil {
		return nil, err
	}
	add := func(some []lists.Found, err error) error {
		found = append(found, some...)
		return err
	}
	if in&lists.InReady != 0 {
		for _, id := range ids {
			if err := add(l.readyIn(id, nil, times, limit-len(found))); err != nil || len(found) >= limit {
				return found, err
			}
		}
	}
	if in&lists.InLine != 0 {
		for _, queue := range queues {
			s := l.Stmt("keyed_in_queue")
			s.BindInt(queue)
			s.BindInt(int64(limit - len(found)))
			if err := add(readPlaces(s, store.Available)); err != nil || len(found) >= limit {
				return found, err
			}
		}
		for _, id := range ids {
			s := l.Stmt("gated_in_lane")
			s.BindInt(id)
			s.BindInt(int64(limit - len(found)))
			if err := add(readPlaces(s, store.Available)); err != nil || len(found) >= limit {
				return found, err
			}
		}
	}
	if in&lists.InDeferred != 0 {
		if err := add(l.deferredIn(ids, times, limit-len(found))); err != nil || len(found) >= limit {
			return found, err
		}
	}
	if in&lists.InClaims != 0 {
		if err := add(l.running(limit - len(found))); err != nil || len(found) >= limit {
			return found, err
		}
	}
	return slices.DeleteFunc(found, func(f lists.Found) bool { return !times.Has(f.At) }), nil
}

// readyIn returns the next jobs in ready of a lane.
func (l *tables) readyIn(lane int64, after *lists.Place, times lists.Span, n int) ([]lists.Found, error) {
	s := l.Stmt("ready_in_lane")
	s.BindInt(lane)
	bindAfter(s, after, times)
	s.BindInt(times.Last())
	s.BindInt(int64(n))
	return readPlaces(s, store.Available)
}

// bindAfter binds where to go on: after a place, or from the beginning of a span.
func bindAfter(s db.Stmt, after *lists.Place, times lists.Span) {
	if after == nil || after.At < times.From {
		s.BindInt(times.From)
		s.BindBlob(nil) // before every id
		return
	}
	s.BindInt(after.At)
	db.BindID(s, after.ID)
}

// deferredIn returns jobs in deferred of lanes.
func (l *tables) deferredIn(lanes []int64, times lists.Span, limit int) (found []lists.Found, err error) {
	for _, id := range lanes {
		for _, state := range []store.State{store.Scheduled, store.Retryable, store.Waiting} {
			if !l.wanted.Has(state) {
				continue
			}
			s := l.Stmt("deferred_in_lane")
			s.BindInt(id)
			s.BindInt(int64(state))
			s.BindInt(times.From)
			s.BindInt(times.Last())
			s.BindInt(int64(limit - len(found)))
			some, err := readPlaces(s, state)
			if err != nil {
				return nil, err
			}
			if found = append(found, some...); len(found) >= limit {
				return found, nil
			}
		}
	}
	return found, nil
}

// running returns jobs that run.
func (l *tables) running(limit int) (found []lists.Found, err error) {
	if _, _, err := l.find(store.ID{}); err != nil {
		return nil, err
	}
	for id := range l.runs {
		if len(found) == limit {
			break
		}
		j, there, err := l.facts(id)
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, lists.Found{Place: lists.Place{At: j.runAt, ID: id}, State: store.Running})
		}
	}
	return found, nil
}

// find returns the run of a job that runs.
func (l *tables) find(id store.ID) (core.RunningJob, bool, error) {
	if l.runs == nil {
		runs, err := l.RunningJobs()
		if err != nil {
			return core.RunningJob{}, false, err
		}
		if l.runs = runs; l.runs == nil {
			l.runs = core.RunningJobs{}
		}
	}
	run, found := l.runs[id]
	return run, found, nil
}

// NotCompletedIn implements lists.Tables.
func (l *tables) NotCompletedIn(limit int) (found []lists.Found, byLane bool, err error) {
	if l.allLanes() {
		return nil, false, nil
	}
	ids, _, err := l.selectedLanes()
	if err != nil {
		return nil, false, err
	}
	for i := 0; i < len(ids) && len(found) < limit; i++ {
		s := l.Stmt("not_completed_in_lane")
		s.BindInt(ids[i])
		s.BindInt(int64(limit - len(found)))
		err := db.Each(s, func() error {
			found = append(found, lists.Found{Place: lists.Place{ID: db.ReadID(s)}, State: store.State(s.ReadInt())})
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return found, true, nil
}

// Times implements lists.Tables.
func (l *tables) Times(s store.Sort, ids []store.ID) (found []lists.Found, err error) {
	for _, id := range ids {
		j, there, err := l.facts(id)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		if err := l.lookUp(&j); err != nil {
			return nil, err
		}
		switch {
		case !s.States().Has(j.state):
			continue
		case s == store.SortFinished:
			j.runAt = j.finishedAt
		}
		found = append(found, lists.Found{Place: lists.Place{At: j.runAt, ID: id}, State: j.state})
	}
	return found, nil
}

// Jobs implements lists.Tables.
func (l *tables) Jobs(s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	st := l.Stmt(ordered("jobs", s))
	bindRange(st, r, n)
	return l.checked(st)
}

// Finished implements lists.Tables.
func (l *tables) Finished(s store.Sort, r lists.Range, n int) (rows lists.Rows, err error) {
	st := l.Stmt(ordered("finished", s))
	bindRange(st, r, n)
	return rows, db.Each(st, func() error {
		rows.Looked, rows.Last = rows.Looked+1, lists.Place{ID: db.ReadID(st)}
		rows.Found = append(rows.Found, lists.Found{Place: rows.Last, State: store.State(st.ReadInt())})
		return nil
	})
}

// Children implements lists.Tables.
func (l *tables) Children(parent store.ID, s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	st := l.Stmt(ordered("children", s))
	db.BindID(st, parent)
	bindRange(st, r, n)
	return l.checked(st)
}

// ordered names the statement for an order by id.
func ordered(statement string, s store.Sort) string {
	if s == store.SortNewest {
		return statement + "_newest"
	}
	return statement + "_oldest"
}

func bindRange(s db.Stmt, r lists.Range, n int) {
	db.BindID(s, r.Least)
	db.BindID(s, r.Below)
	s.BindInt(int64(n))
}

// checked reads jobs, and looks at once whether they fit.
func (l *tables) checked(s db.Stmt) (rows lists.Rows, err error) {
	var jobs []jobFacts
	err = db.Each(s, func() error {
		jobs = append(jobs, readFacts(s))
		return nil
	})
	if err != nil {
		return rows, err
	}
	rows.Looked = len(jobs)
	for i := range jobs {
		j := &jobs[i]
		rows.Last = lists.Place{ID: j.id}
		fits, err := l.fits(j)
		if err != nil {
			return rows, err
		}
		if fits {
			rows.Found = append(rows.Found, lists.Found{Place: rows.Last, State: j.state, Checked: true})
		}
	}
	return rows, nil
}

// NotCompleted implements lists.Tables.
func (l *tables) NotCompleted(s store.Sort, r lists.Range, n int) (lists.Rows, error) {
	var found []lists.Found
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		if !l.wanted.Has(state) {
			continue
		}
		st := l.Stmt(ordered("not_completed", s))
		st.BindInt(int64(state))
		bindRange(st, r, n)
		ids, err := readIDs(st)
		if err != nil {
			return lists.Rows{}, err
		}
		for _, id := range ids {
			found = append(found, lists.Found{Place: lists.Place{ID: id}, State: state})
		}
	}
	return lists.First(s, found, n), nil
}

// Ready implements lists.Tables.
func (l *tables) Ready(after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	ids, _, err := l.selectedLanes()
	if err != nil {
		return lists.Rows{}, err
	}
	var found []lists.Found
	for _, id := range ids {
		some, err := l.readyIn(id, after, times, n)
		if err != nil {
			return lists.Rows{}, err
		}
		found = append(found, some...)
	}
	return lists.First(store.SortRunAt, found, n), nil
}

// Deferred implements lists.Tables.
func (l *tables) Deferred(after *lists.Place, times lists.Span, n int) (rows lists.Rows, err error) {
	s := l.Stmt("deferred_page")
	bindAfter(s, after, times)
	s.BindInt(int64(n))
	return rows, db.Each(s, func() error {
		f := lists.Found{Place: lists.Place{At: s.ReadInt(), ID: db.ReadID(s)}, State: store.State(s.ReadInt())}
		if f.At > times.Last() {
			return nil // and so are all that follow
		}
		rows.Found, rows.Looked, rows.Last = append(rows.Found, f), rows.Looked+1, f.Place
		return nil
	})
}

// Ended implements lists.Tables.
func (l *tables) Ended(state store.State, after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	below := times.Last()
	if !times.IsAll() {
		below = times.Until
	}
	var found []lists.Found
	if after != nil {
		if after.At < below {
			var err error
			if found, err = l.endedAt(state, *after, n); err != nil || len(found) == n {
				return lists.First(store.SortFinished, found, n), err
			}
		}
		below = min(below, after.At)
	}
	s := l.Stmt("ended_before")
	s.BindInt(int64(state))
	s.BindInt(below)
	s.BindInt(times.From)
	s.BindInt(int64(n))
	earlier, err := readPlaces(s, state)
	if err != nil {
		return lists.Rows{}, err
	}
	if len(earlier) == n {
		// Of the last time there may be others, which come before in the order of ids.
		last := earlier[n-1].At
		earlier = slices.DeleteFunc(earlier, func(f lists.Found) bool { return f.At == last })
		same, err := l.endedAt(state, lists.Place{At: last, ID: lastID}, n)
		if err != nil {
			return lists.Rows{}, err
		}
		earlier = append(earlier, same...)
	}
	return lists.First(store.SortFinished, append(found, earlier...), n), nil
}

// lastID is above every id.
var lastID = store.ID(bytes.Repeat([]byte{math.MaxUint8}, 16))

// endedAt returns jobs that finished at the time of a place and come after it.
func (l *tables) endedAt(state store.State, after lists.Place, n int) ([]lists.Found, error) {
	s := l.Stmt("ended_at")
	s.BindInt(int64(state))
	s.BindInt(after.At)
	db.BindID(s, after.ID)
	s.BindInt(int64(n))
	return readPlaces(s, state)
}

// Documents implements lists.Tables.
func (l *tables) Documents(ids []store.ID) ([]lists.Document, error) {
	documents := make([]lists.Document, len(ids))
	for i, id := range ids {
		s := l.Stmt("job_documents")
		db.BindID(s, id)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if found {
			documents[i] = lists.Document{Args: db.ReadOptBlob(s), Codec: int(s.ReadInt()), Metadata: db.ReadOptBlob(s)}
			s.Done()
		}
	}
	return documents, nil
}

// Records implements lists.Tables.
func (l *tables) Records(ids []store.ID) ([]store.Record, error) {
	records := make([]store.Record, 0, len(ids))
	for _, id := range ids {
		r, found, err := fullRecord(l.Tx, id, l.find)
		if err != nil {
			return nil, err
		}
		if found {
			records = append(records, r)
		}
	}
	return records, nil
}
