package stats

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// MaxPoints is how many points a query returns at most.
	MaxPoints = 10_000
	// MaxRows is how many rows a query reads at most. A node writes one a minute, and all nodes
	// together have one for each hour that is older than three days.
	MaxRows = 100_000
)

// Off is an option of holdfast.Open: the nodes of the client count and measure nothing. Others do.
func Off() holdfast.Option {
	return access.NoFacts().(holdfast.Option) //nolint:errcheck // always one
}

// Window is a time and how it is divided.
type Window struct {
	// From and To are when it begins and ends. Without a To it is now, and without a From an hour
	// before To. From is rounded down to a step.
	From, To time.Time
	// Step is how long a point is: a number of whole minutes, or of hours if the window begins more
	// than three days ago. 0: the whole window is one point.
	Step time.Duration
}

// kept is the time from which on there are minutes, by a clock. Of the time before there are hours.
func kept(now time.Time) time.Time {
	return now.Add(-store.FactMinutesKept).Truncate(time.Hour).UTC()
}

// fill sets what was left out, and returns an ErrInvalid for a window that cannot be.
func (w *Window) fill(now time.Time) error {
	if w.From.IsZero() && w.To.IsZero() {
		w.From = now.Add(-time.Hour)
	}
	if w.To.IsZero() {
		w.To = now.Truncate(time.Minute).Add(time.Minute) // with the current minute
	}
	if w.From.IsZero() {
		w.From = w.To.Add(-time.Hour)
	}
	w.From, w.To = w.From.UTC(), w.To.UTC()
	unit := time.Minute
	if w.From.Before(kept(now)) {
		unit = time.Hour
	}
	switch {
	case !w.From.Before(w.To):
		return fmt.Errorf("%w: the window begins at %s and ends at %s; it has to begin before it ends", holdfast.ErrInvalid,
			w.From.Format(time.RFC3339), w.To.Format(time.RFC3339))
	case w.Step == 0:
		w.From = w.From.Truncate(unit)
		return nil
	case w.Step < 0 || w.Step%time.Minute != 0:
		return fmt.Errorf("%w: the step is %v; it has to be whole minutes, one or more", holdfast.ErrInvalid, w.Step)
	case w.Step%unit != 0:
		return fmt.Errorf("%w: the step is %v, and of what is older than 3 days there are only hours; "+
			"use a step of 1h, or begin later", holdfast.ErrInvalid, w.Step)
	case w.To.Sub(w.From)/w.Step > MaxPoints:
		return fmt.Errorf("%w: %v in steps of %v are more than %d points; use a longer step, or a shorter window",
			holdfast.ErrInvalid, w.To.Sub(w.From).Round(time.Minute), w.Step, MaxPoints)
	}
	w.From = w.From.Truncate(w.Step)
	return nil
}

// at is when the point begins in which a time is.
func (w *Window) at(t time.Time) time.Time {
	if w.Step == 0 {
		return w.From
	}
	return t.UTC().Truncate(w.Step)
}

// length is how much of the window a point is, up to now.
func (w *Window) length(at, now time.Time) time.Duration {
	end := w.To
	if next := at.Add(w.Step); w.Step > 0 && next.Before(end) {
		end = next
	}
	if now.Before(end) {
		end = now
	}
	return max(end.Sub(at), time.Second)
}

// read calls each for every fact of a namespace in the window.
func (w *Window) read(ctx context.Context, st store.Facts, namespace string, now time.Time, each func(*store.Fact) error) error {
	r := reader{Facts: st, namespace: namespace, window: w}
	if !w.From.Before(kept(now).Add(time.Hour)) {
		return r.pages(ctx, store.FactMinute, each)
	}
	// While minutes become hours they are read in between. What was there before and after is
	// complete.
	const tries = 5
	for try := 1; ; try++ {
		var all []store.Fact
		var before, after []store.Fact
		r.rows = 0
		err := r.pages(ctx, store.FactHour, func(f *store.Fact) error {
			before, all = append(before, *f), append(all, *f)
			return nil
		})
		if err == nil {
			err = r.pages(ctx, store.FactMinute, func(f *store.Fact) error {
				all = append(all, *f)
				return nil
			})
		}
		if err == nil {
			err = r.pages(ctx, store.FactHour, func(f *store.Fact) error {
				after = append(after, *f)
				return nil
			})
		}
		if err != nil {
			return err
		}
		if same(before, after) || try == tries {
			for i := range all {
				if err := each(&all[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// same reports whether two lists have the same facts.
func same(a, b []store.Fact) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].At.Equal(b[i].At) || a[i].Version != b[i].Version {
			return false
		}
	}
	return true
}

// reader reads facts in pages, and not too many.
type reader struct {
	store.Facts

	namespace string
	window    *Window
	rows      int
}

func (r *reader) pages(ctx context.Context, span store.FactSpan, each func(*store.Fact) error) error {
	const limit = 200
	params := store.FactParams{Span: span, Namespace: r.namespace, From: r.window.From, To: r.window.To, Limit: limit}
	for {
		page, err := r.Facts.Facts(ctx, params)
		if err != nil {
			return err
		}
		if r.rows += len(page); r.rows > MaxRows {
			return fmt.Errorf("%w: the window has more than %d rows of nodes; use a shorter one", holdfast.ErrInvalid, MaxRows)
		}
		for i := range page {
			if err := each(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < limit {
			return nil
		}
		params.After = page[limit-1].FactKey
	}
}
