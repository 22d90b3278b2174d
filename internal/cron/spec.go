package cron

import "time"

// Spec is the times at which a schedule fires: a cron expression, an interval, or one time. Cron,
// Every, At and Parse make one; the zero value never fires. It does not change, and is safe for
// concurrent use. Two are the same if their texts are.
type Spec struct {
	rule rule
}

// rule is one of the kinds of a Spec.
type rule interface {
	next(after time.Time) (time.Time, bool)
	prev(before time.Time) (time.Time, bool)
	note(after time.Time) (Note, bool)
	words() string
	text() string
}

// IsZero reports whether it is the zero value.
func (s Spec) IsZero() bool { return s.rule == nil }

// Next returns the first time after one, in the zone of the Spec. If there is none, ok is false.
func (s Spec) Next(after time.Time) (t time.Time, ok bool) {
	if s.rule == nil {
		return time.Time{}, false
	}
	return s.rule.next(after)
}

// Prev returns the last time before one.
func (s Spec) Prev(before time.Time) (t time.Time, ok bool) {
	if s.rule == nil {
		return time.Time{}, false
	}
	return s.rule.prev(before)
}

// Between returns the times from one on and before another, at most limit, and whether there are
// more.
func (s Spec) Between(from, to time.Time, limit int) (times []time.Time, more bool) {
	more = s.each(from, to, limit, func(t time.Time) { times = append(times, t) })
	return times, more
}

// Count returns how many times Between would.
func (s Spec) Count(from, to time.Time, limit int) (n int, more bool) {
	more = s.each(from, to, limit, func(time.Time) { n++ })
	return n, more
}

func (s Spec) each(from, to time.Time, limit int, visit func(time.Time)) (more bool) {
	t, ok := s.Next(from.Add(-1))
	for n := 0; ok && t.Before(to); n++ {
		if n >= limit {
			return true
		}
		visit(t)
		t, ok = s.Next(t)
	}
	return false
}

// Words says in English when the schedule fires: "every weekday at 09:30 in Europe/Berlin".
func (s Spec) Words() string {
	if s.rule == nil {
		return "never"
	}
	return s.rule.words()
}

// Note returns the next change of the zone's clock, in the ten years after a time, that affects the
// schedule, and how.
func (s Spec) Note(after time.Time) (Note, bool) {
	if s.rule == nil {
		return Note{}, false
	}
	return s.rule.note(after)
}

// Expression returns the expression that the Spec was made of, as it is stored, and its options; ok
// is false if it was made in another way.
func (s Spec) Expression() (text string, o Options, ok bool) {
	e, ok := s.rule.(*expression)
	if !ok {
		return "", o, false
	}
	o = Options{Zone: e.clock.zone.String(), Seed: e.seed}
	if e.skip {
		o.DST = Skip
	}
	return e.String(), o, true
}

// String is the Spec as it is stored, see [Parse]; that of the zero value is empty.
func (s Spec) String() string {
	if s.rule == nil {
		return ""
	}
	return s.rule.text()
}
