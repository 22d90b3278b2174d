package firing

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/cron"
	"github.com/holdfastdev/holdfast/store"
)

// times are the nominal times of a schedule: those of its rule between its start and its end.
type times struct {
	spec       cron.Spec
	start, end time.Time
}

func timesOf(s *store.Schedule) (times, error) {
	spec, err := cron.Parse(s.Times)
	return times{spec: spec, start: s.Start, end: s.End}, err
}

// next is the first one after a time.
func (t times) next(after time.Time) (time.Time, bool) {
	if after.Before(t.start) {
		after = t.start.Add(-time.Microsecond)
	}
	at, ok := t.spec.Next(after)
	return at.UTC(), ok && !t.isPast(at)
}

// isPast reports whether a time is after the last one.
func (t times) isPast(at time.Time) bool { return !t.end.IsZero() && !at.Before(t.end) }

// last returns up to n of them, after one time and before another: the last ones, in their order.
func (t times) last(after, before time.Time, n int) (all []time.Time) {
	if t.isPast(before) {
		before = t.end
	}
	for range n {
		at, ok := t.spec.Prev(before)
		if !ok || !at.After(after) || at.Before(t.start) {
			break
		}
		before = at
		all = append(all, at.UTC())
	}
	slices.Reverse(all)
	return all
}

// Next returns up to n nominal times of a schedule after a time. The error is that of a rule that
// cannot be read.
func Next(s *store.Schedule, after time.Time, n int) (all []time.Time, err error) {
	t, err := timesOf(s)
	if err != nil {
		return nil, err
	}
	for range n {
		at, ok := t.next(after)
		if !ok {
			break
		}
		after = at
		all = append(all, at)
	}
	return all, nil
}

// Between returns up to n nominal times of a schedule, from one time on and before another, and
// whether there are more.
func Between(s *store.Schedule, from, to time.Time, n int) (all []time.Time, more bool, err error) {
	t, err := timesOf(s)
	if err != nil {
		return nil, false, err
	}
	for at, ok := t.next(from.Add(-time.Microsecond)); ok && at.Before(to); at, ok = t.next(at) {
		if len(all) == n {
			return all, true, nil
		}
		all = append(all, at)
	}
	return all, false, nil
}

// due is when the schedule acts on a nominal time: later by its jitter, which is the same on every
// node.
func due(s *store.Schedule, nominal time.Time) time.Time {
	if s.Jitter == 0 {
		return nominal
	}
	return nominal.Add(cron.Jitter(s.Namespace+"/"+s.Name, nominal, s.Jitter))
}
