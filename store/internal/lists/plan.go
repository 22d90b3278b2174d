package lists

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// lister finds the jobs of a filter in an order.
type lister struct {
	Tables

	filter         *store.Filter
	sort           store.Sort
	wanted         store.StateSet
	ids            map[store.ID]bool // nil: all
	created        Range
	metadata, args Matcher
	attributes     []attribute

	parts []part // where the jobs are; none: there are none
}

// part returns the next n rows of where some of the jobs are, after a place, nil for the first.
type part func(after *Place, n int) (Rows, error)

// newLister plans where to look.
func newLister(t Tables, f *store.Filter, s store.Sort) (*lister, error) {
	l := &lister{Tables: t, filter: f, sort: s, wanted: Wanted(f, s), created: created(f)}
	var err error
	if l.metadata, err = Compile(f.Metadata); err != nil {
		return nil, err
	}
	if l.args, err = Compile(f.Args); err != nil {
		return nil, err
	}
	if l.attributes, err = attributesOf(t, f); err != nil {
		return nil, err
	}
	if len(f.IDs) > 0 {
		l.ids = make(map[store.ID]bool, len(f.IDs))
		for _, id := range f.IDs {
			l.ids[id] = true
		}
	}
	return l, l.plan()
}

// plan chooses the parts: jobs that the filter names, or those of an index that has few of them, or
// else the order itself.
func (l *lister) plan() error {
	if none := (store.ID{}); l.wanted == 0 || l.filter.Parent != none && l.filter.Batch != none {
		return nil // no child belongs to a batch
	}
	if slices.ContainsFunc(l.attributes, func(a attribute) bool { return a.isEmpty() }) {
		return nil
	}
	ids, named, err := l.named()
	if err == nil && !named {
		ids, named, err = l.related()
	}
	switch {
	case err != nil:
		return err
	case named:
		return l.useIDs(ids)
	case l.parts != nil:
		return nil
	case l.sort == store.SortRunAt:
		return l.planRunAt()
	case l.sort == store.SortFinished && len(l.filter.Fingerprints) > 0:
		l.parts = []part{func(after *Place, n int) (Rows, error) { return l.Dead(after, FinishedTimes(l.filter), n) }}
		return nil
	case l.sort == store.SortFinished:
		return l.planFinished()
	}
	return l.planByID()
}

// Kin is what the children of a job, or the members of a batch, that a filter asks for have in
// common.
func Kin(f *store.Filter) store.ID {
	if f.Parent != (store.ID{}) {
		return f.Parent
	}
	return f.Batch
}

// named are the jobs that the filter names by their ids, or by what only one job has.
func (l *lister) named() (ids []store.ID, named bool, err error) {
	switch f := l.filter; {
	case f.Key != "" && len(f.UniqueKey) > 0:
		return nil, true, nil // no job has both
	case f.Key != "":
		ids, err = l.ByKey(f.Key)
	case len(f.UniqueKey) > 0:
		ids, err = l.Holder(f.UniqueKey)
	default:
		return f.IDs, l.ids != nil, nil
	}
	return ids, true, err
}

// related are the jobs that the filter names by another job, or by a node, if there are few. Of the
// children of a job there is an index by id, for any number.
func (l *lister) related() (ids []store.ID, named bool, err error) {
	f := l.filter
	of := Kin(f)
	switch {
	case of != store.ID{} && !byTime(l.sort):
		l.parts = []part{func(after *Place, n int) (Rows, error) {
			return l.Children(of, l.sort, l.created.after(l.sort, after), n)
		}}
		return nil, false, nil
	case of != store.ID{}:
		ids, err = l.fewChildren(of)
	case f.Root != store.ID{}:
		ids, err = l.Descendants(f.Root, Few+1)
	case f.LostFrom != 0:
		ids, err = l.LostFrom(f.LostFrom, Few+1)
	case l.asksValues():
		return l.fewValued()
	default:
		return nil, false, nil
	}
	return ids, len(ids) <= Few, err
}

// asksValues reports whether it is asked how many jobs have the values that are wanted. Of one
// value that must be equal, and nothing else, there is an index by id, for any number.
func (l *lister) asksValues() bool {
	exact := len(l.attributes) == 1 && l.attributes[0].equal && !byTime(l.sort) && (l.wanted == Every || l.wanted.Has(store.Completed))
	return len(l.attributes) > 0 && !exact
}

// fewValued are the jobs of that attribute of which the fewest have a wanted value, if there are
// few.
func (l *lister) fewValued() (ids []store.ID, few bool, err error) {
	for i := range l.attributes {
		a := &l.attributes[i]
		limit := Few + 1
		if few {
			limit = len(ids)
		}
		found, err := l.ValuedIn(a.ID, a.in, limit)
		if err != nil {
			return nil, false, err
		}
		if len(found) < limit {
			ids, few = found, true
		}
	}
	return ids, few, nil
}

// inOrder is the part with all jobs among which the others are looked for: those with a value, if
// one must be equal.
func (l *lister) inOrder() part {
	if len(l.attributes) > 0 && l.attributes[0].equal {
		a := l.attributes[0]
		return func(after *Place, n int) (Rows, error) {
			return l.Valued(a.ID, a.in.From, l.sort, l.created.after(l.sort, after), n)
		}
	}
	walk := l.Jobs
	if l.wanted&store.Unfinished == 0 {
		walk = l.Finished
	}
	return l.sparsely(func(after *Place, n int) (Rows, error) { return walk(l.sort, l.created.after(l.sort, after), n) })
}

// fewChildren are the children of a job, or members of a batch, but for those that do not fit
// anyway. More than Few are not all.
func (l *lister) fewChildren(of store.ID) (ids []store.ID, err error) {
	const some = 1000
	for r := l.created; len(ids) <= Few; {
		rows, err := l.Children(of, store.SortOldest, r, some)
		if err != nil {
			return nil, err
		}
		for _, found := range rows.Found {
			ids = append(ids, found.ID)
		}
		if rows.Looked < some {
			break
		}
		r = r.after(store.SortOldest, &rows.Last)
	}
	return ids, nil
}

// useIDs looks at those jobs alone.
func (l *lister) useIDs(ids []store.ID) (err error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b store.ID) int { return Compare(store.SortOldest, Place{ID: a}, Place{ID: b}) })
	ids = slices.Compact(ids)
	var found []Found
	if byTime(l.sort) {
		found, err = l.Times(l.sort, ids)
		if times := RunTimes(l.filter); l.sort == store.SortRunAt {
			found = slices.DeleteFunc(found, func(f Found) bool { return !times.Has(f.At) })
		}
	} else {
		for _, id := range ids {
			found = append(found, Found{Place: Place{ID: id}})
		}
	}
	l.parts = []part{l.few(found)}
	return err
}

// few is a part of which all is known.
func (l *lister) few(found []Found) part {
	compare := func(a, b Found) int { return Compare(l.sort, a.Place, b.Place) }
	if !byTime(l.sort) {
		for i := range found {
			found[i].At = 0
		}
	}
	slices.SortFunc(found, compare)
	return func(after *Place, n int) (Rows, error) {
		start := 0
		if after != nil {
			var is bool
			if start, is = slices.BinarySearchFunc(found, Found{Place: *after}, compare); is {
				start++
			}
		}
		some := found[start:min(start+n, len(found))]
		rows := Rows{Found: slices.Clone(some), Looked: len(some)}
		if len(some) > 0 {
			rows.Last = some[len(some)-1].Place
		}
		return rows, nil
	}
}

// ends are the wanted states of finished jobs.
func (l *lister) ends() (ends []store.State) {
	for _, state := range store.States {
		if state.Finished() && l.wanted.Has(state) {
			ends = append(ends, state)
		}
	}
	return ends
}

// ended is the part with the jobs that finished in a state, by their times.
func (l *lister) ended(state store.State, times Span) part {
	return func(after *Place, n int) (Rows, error) { return l.Ended(state, after, times, n) }
}

// pointers are the jobs with pointers in tables, if there are few.
func (l *lister) pointers(in Where) (found []Found, few bool, err error) {
	found, err = l.Pointers(in, RunTimes(l.filter), Few+1)
	return found, len(found) <= Few, err
}

// planFinished plans the order by the time at which jobs finished.
func (l *lister) planFinished() error {
	found, few, err := l.fewEnds()
	if few {
		l.parts = []part{l.few(found)}
		return err
	}
	for _, state := range l.ends() {
		l.parts = append(l.parts, l.ended(state, FinishedTimes(l.filter)))
	}
	return err
}

// planByID plans an order by id. Whatever a part cannot have is found among all jobs of the lanes,
// or among those that have finished, if only such are wanted: many that wait may be newer.
func (l *lister) planByID() error {
	l.parts = []part{l.inOrder()}
	if l.wanted == Every {
		return nil
	}
	var parts []part
	if unfinished := l.wanted & store.Unfinished; unfinished != 0 {
		found, few, err := l.pointers(whereOf(unfinished))
		if err != nil || !few {
			return err
		}
		parts = append(parts, l.few(found))
	}
	if ends := l.ends(); len(ends) > 0 {
		ended, err := l.planEnds(ends)
		if err != nil || ended == nil {
			return err
		}
		parts = append(parts, ended)
	}
	l.parts = parts
	return nil
}

// planEnds plans finished jobs in an order by id; nil: among all that have.
func (l *lister) planEnds(ends []store.State) (part, error) {
	times := FinishedTimes(l.filter)
	if len(l.filter.Fingerprints) > 0 {
		rows, err := l.Dead(nil, times, Few+1)
		if err != nil || len(rows.Found) <= Few {
			return l.few(rows.Found), err
		}
	}
	if !times.IsAll() {
		var found []Found
		for _, state := range ends {
			rows, err := l.Ended(state, nil, times, Few+1-len(found))
			if err != nil {
				return nil, err
			}
			if found = append(found, rows.Found...); len(found) > Few {
				break
			}
		}
		if len(found) <= Few {
			return l.few(found), nil
		}
	}
	if slices.Contains(ends, store.Completed) {
		return nil, nil
	}
	if found, byLane, err := l.NotCompletedIn(Few + 1); err != nil || byLane && len(found) <= Few {
		return l.few(found), err
	}
	return func(after *Place, n int) (Rows, error) {
		return l.NotCompleted(l.sort, l.created.after(l.sort, after), n)
	}, nil
}

// planRunAt plans the order by run time. Of what is not in that order anywhere there must be few.
func (l *lister) planRunAt() error {
	in, times := whereOf(l.wanted), RunTimes(l.filter)
	found, few, err := l.pointers(in)
	if err != nil {
		return err
	}
	if few {
		l.parts = []part{l.few(found)}
		return nil
	}
	if in&InReady != 0 {
		l.parts = append(l.parts, func(after *Place, n int) (Rows, error) { return l.Ready(after, times, n) })
	}
	if in&InDeferred != 0 {
		l.parts = append(l.parts, func(after *Place, n int) (Rows, error) { return l.Deferred(after, times, n) })
	}
	for _, table := range []Where{InLine, InClaims} {
		if in&table == 0 {
			continue
		}
		found, few, err := l.pointers(table)
		if err != nil {
			return err
		}
		if !few {
			return fmt.Errorf("%w: more than %d jobs run, or wait for the turn of an ordering key; they cannot be sorted by %s",
				store.ErrInvalid, Few, l.sort)
		}
		l.parts = append(l.parts, l.few(found))
	}
	return nil
}
