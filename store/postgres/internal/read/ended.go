package read

import (
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Ended implements lists.Tables. What failed or was cancelled has an index by time.
func (l *tables) Ended(state store.State, after *lists.Place, times lists.Span, n int) (lists.Rows, error) {
	before := lists.Place{At: times.Last(), ID: uuid.Max}
	if after != nil && lists.Compare(store.SortFinished, *after, before) > 0 {
		before = *after
	}
	if state == store.Completed {
		found, err := l.completed(before, times.From, n)
		return lists.First(store.SortFinished, found, n), err
	}
	found, err := l.places("list_failed_by_time", int32(state), times.From, before.At, pg.UUIDOf(before.ID), int32(n))
	return lists.First(store.SortFinished, found, n), err
}

const (
	// firstWidth is the span of time in which completed jobs are looked for first, and lastWidth
	// that from which on all earlier times are one span.
	firstWidth = int64(time.Second / time.Microsecond)
	lastWidth  = int64(40 * 24 * time.Hour / time.Microsecond)
	// fewCompleted and mostCompleted are how many jobs of one span are read, ten times as many as
	// are asked for in between. One that has more is made narrower.
	fewCompleted, mostCompleted = 1000, 5000
)

// completed returns the next n jobs that completed, from a time on. An index in the order of their
// times would cost each of them; there is one that tells which pages may have such times. So it is
// looked in one span of time after the other, towards the past, which become wider as long as there
// are few jobs in them. A span that has too many is halved.
func (l *tables) completed(before lists.Place, from int64, n int) (found []lists.Found, err error) {
	l.width = max(l.width, firstWidth)
	most := min(max(10*n, fewCompleted), mostCompleted)
	for before.At >= from && len(found) < n {
		begin := l.beginBefore(before.At, from)
		some, all, err := l.completedWithin(before, begin, most)
		for err == nil && !all && begin < before.At {
			begin = max(begin+1, begin/2+before.At/2)
			some, all, err = l.completedWithin(before, begin, most)
		}
		if err == nil && !all { // so many at one moment: that is what a test's clock does
			some, err = l.completedAt(before, n-len(found))
		}
		if found = append(found, some...); err != nil || !all && len(found) >= n {
			return found, err
		}
		if begin < l.Micros() {
			l.width = max(1, min(before.At, l.Micros())-begin)
		}
		if len(some) < n/2 {
			l.width *= 4
		}
		if begin == math.MinInt64 {
			break
		}
		before = lists.Place{At: begin - 1, ID: uuid.Max}
	}
	return found, nil
}

// beginBefore is where the next span begins, before a time. Beyond the present there is nothing,
// unless a clock was set back.
func (l *tables) beginBefore(at, from int64) int64 {
	switch soon := l.Micros() + firstWidth; {
	case at > soon:
		return max(from, soon)
	case l.width >= lastWidth:
		return from
	default:
		return max(from, at-l.width)
	}
}

// withBitmaps runs a statement that finds rows by the pages that may have them.
func (l *tables) withBitmaps(name string, each func(pg.Row) error, args ...any) error {
	ignore := func(pg.Row) error { return nil }
	return l.t.Together(l.ctx,
		pg.Statement{Name: "list_bitmaps", Args: []any{"on"}, Each: ignore},
		pg.Statement{Name: name, Args: args, Each: each},
		pg.Statement{Name: "list_bitmaps", Args: []any{"off"}, Each: ignore})
}

// completedWithin returns the jobs that completed from a time on, before a place. all is false if
// they are too many.
func (l *tables) completedWithin(before lists.Place, from int64, most int) (found []lists.Found, all bool, err error) {
	var n int64
	err = l.withBitmaps("list_completed_by_time", func(r pg.Row) error {
		var at *int64
		var id pgtype.UUID
		err := r.Scan(&n, &at, &id)
		if at != nil {
			found = append(found, lists.Found{Place: lists.Place{At: *at, ID: id.Bytes}, State: store.Completed})
		}
		return err
	}, from, before.At, pg.UUIDOf(before.ID), int32(most))
	return found, n <= int64(most), err
}

// completedAt returns the next n jobs that completed at the time of a place.
func (l *tables) completedAt(before lists.Place, n int) (found []lists.Found, err error) {
	return found, l.withBitmaps("list_completed_at", placesOf(&found), before.At, pg.UUIDOf(before.ID), int32(n))
}
