package firing

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ahead is how far the cursor may be ahead of the clock, because clocks differ. Beyond that a clock
// has jumped.
const ahead = 5 * time.Minute

// Begin sets where a schedule goes on from that was made, or whose settings were changed, at a
// time. before is what it was, or nil. What is new fires nothing that has passed, and neither does
// what has got times that it had not: other ones, by a later end or an earlier start, or because it
// was over. If the times are the same, what it was due to do it still does: a change of its job is
// no reason to miss a time.
func Begin(s, before *store.Schedule, now time.Time) error {
	times, err := timesOf(s)
	if err != nil {
		return fmt.Errorf("%w: schedule %q: %w", store.ErrInvalid, s.Name, err)
	}
	switch {
	case before == nil, s.Cursor.After(now.Add(ahead)):
		s.Cursor = now
	case before.Times != s.Times || hadNot(s, before, times, now):
		s.Cursor = later(s.Cursor, now)
	}
	s.NextAt = next(s, times, s.Cursor, s.Left)
	if s.Cancels != (store.ID{}) {
		s.NextAt = now
	}
	return nil
}

// hadNot reports whether of the times that have passed, up to now, and that are not decided, some
// are a schedule's that were none of it before. The rule is the same.
func hadNot(s, before *store.Schedule, times times, now time.Time) bool {
	times.start, times.end = before.Start, before.End
	wasOver := next(before, times, before.Cursor, before.Left).IsZero()
	endsLater := times.isPast(now) && (s.End.IsZero() || s.End.After(before.End))
	startsEarlier := s.Start.Before(before.Start) && before.Start.After(before.Cursor)
	return wasOver || endsLater || startsEarlier
}

// Check reports why a schedule cannot be kept, an ErrInvalid, beyond what the store refuses.
func Check(s *store.Schedule, now time.Time) error {
	times, err := timesOf(s)
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: schedule %q: %s", store.ErrInvalid, s.Name, fmt.Sprintf(format, args...))
	}
	gap, more := times.shortestGap(now)
	switch {
	case err != nil:
		return fmt.Errorf("%w: schedule %q: %w", store.ErrInvalid, s.Name, err)
	case !s.End.IsZero() && !s.Start.Before(s.End):
		return invalid("its end %s is not after its start %s", stamp(s.End), stamp(s.Start))
	case s.Jitter > 0 && more && s.Jitter >= gap:
		return invalid("a jitter of %v is not less than the %v between two of its times; make it smaller", s.Jitter, gap)
	case s.Missed == store.MissedCatchUp && s.Window <= 0:
		return invalid("catching up on missed times needs a window: how far back")
	case s.Missed != store.MissedCatchUp && s.Window != 0:
		return invalid("a window of %v means nothing unless missed times are caught up on", s.Window)
	case isInLine(s.Overlap) && s.Job.OrderingKey != "":
		return invalid("its jobs are in line because of the overlap policy %s; remove the ordering key", s.Overlap)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Gaps are looked for among the next sample times of a schedule, within a few years: every week and
// month is in it, of a rule that is the same each year.
const (
	sample      = 1000
	sampleYears = 5
)

// shortestGap is the least time between two nominal times, of those that follow a time; more is
// false if there are no two.
func (t times) shortestGap(after time.Time) (gap time.Duration, more bool) {
	at, ok := t.next(after)
	until := at.AddDate(sampleYears, 0, 0)
	for range sample {
		following, found := t.next(at)
		if !ok || !found {
			break
		}
		if d := following.Sub(at); !more || d < gap {
			gap, more = d, true
		}
		if at = following; at.After(until) {
			break
		}
	}
	return gap, more
}
