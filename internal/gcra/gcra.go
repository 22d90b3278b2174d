// Package gcra has the rules by which limits give out permits, for all stores: the generic cell
// rate algorithm. A number, the time at which the next permit comes if none are saved up, says all
// of the past. Everything here is a function of that and of the time, and nothing waits.
//
// This package imports store, for its records only.
package gcra

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Spacing is how permits are given out so that the rate holds although each may be used for some
// time: so many microseconds apart, and so many at once. A burst is smaller by the jobs of that
// time; those of a burst of one are farther apart by it.
func Spacing(r *store.Rate) (period, burst int64) {
	p := r.Period()
	switch {
	case p == 0:
		return 0, 1
	case r.Bursts() == 1:
		return (p + store.PermitLife).Microseconds(), 1
	}
	return p.Microseconds(), int64(r.Bursts()) - int64((store.PermitLife+p-1)/p)
}

// NoRate is the ErrInvalid of a limit that has no rate but that of each key.
func NoRate(namespace, name string) error {
	return fmt.Errorf("%w: the limit %q in the namespace %q has no rate that holds for all together", store.ErrInvalid, name, namespace)
}

// BookedOut is the ErrConflict of a limit of which permits are taken for years.
func BookedOut(namespace, name string) error {
	return fmt.Errorf("%w: the permits of the limit %q in the namespace %q are taken for ten years", store.ErrConflict, name, namespace)
}

// State is where the rate of a limit stands, with times in microseconds since 1970. The rules
// for it are here, for all stores: the generic cell rate algorithm (GCRA).
type State struct {
	Period, Burst int64 // as of Spacing; Period is 0 if there are no permits
	Tat           int64 // when the next permit comes if none are saved up (theoretical arrival time)
	Seen          int64 // the time of the last change
	Move          int64 // counts changes
	Drained       int64 // no permit has a time before this one
}

// see goes on by the clock as it is now: what was taken stays as far ahead as it was if the clock
// was set back meanwhile.
func (s *State) see(now int64) {
	if s.Seen > now {
		s.Tat -= s.Seen - now
	}
	s.Seen = now
}

// next is when the next permit may be used.
func (s *State) next() int64 { return s.Tat - (s.Burst-1)*s.Period }

// Tell sets what a limit tells of its rate.
func (s *State) Tell(l *store.Limit) {
	l.NextAt, l.DrainedUntil, l.Resumed = time.Time{}, time.Time{}, store.ResumesOf(s.Move)
	if l.Together() == nil {
		return
	}
	if s.Period > 0 && s.Tat > 0 {
		l.NextAt = time.UnixMicro(s.next()).UTC()
	}
	if s.Drained > 0 {
		l.DrainedUntil = time.UnixMicro(s.Drained).UTC()
	}
}

// Of is where the rate of a limit stands, as far as the limit tells it.
func Of(l *store.Limit) (s State) {
	s.Burst, s.Move = 1, l.Resumed*store.MovesOfAResume
	if l.Together() == nil {
		return s
	}
	if s.Period, s.Burst = Spacing(l.Rate); !l.NextAt.IsZero() {
		s.Tat = l.NextAt.UnixMicro() + (s.Burst-1)*s.Period
	}
	if !l.DrainedUntil.IsZero() {
		s.Drained = l.DrainedUntil.UnixMicro()
	}
	return s
}

// Take takes permits and gives some back. It reports whether that changes anything.
func (s *State) Take(now int64, a *store.PermitAsk) (p store.Permits, changed bool) {
	changed = s.Seen > now
	move := s.Move
	if changed {
		s.see(now)
	}
	if a.Back > 0 && a.Move == move && s.Period > 0 {
		s.Tat -= int64(a.Back) * s.Period
		changed = true
	}
	base := max(s.Tat, now)
	n := int64(0)
	if s.Period > 0 {
		// Rounded down, also where the next one is farther ahead.
		n = s.Burst + floorDiv(now+a.Ahead.Microseconds()-base, s.Period)
		n = max(min(int64(a.Want), n), 0)
	}
	if n > 0 {
		s.Tat = base + n*s.Period
		changed = true
	}
	if changed {
		s.Seen, s.Move = now, s.Move+1
	}
	return store.Permits{
		Limit: a.Limit, Count: int(n), Base: Micros(base - now), Period: Micros(s.Period), Burst: int(s.Burst),
		Next: Micros(max(max(s.Tat, now)-(s.Burst-1)*s.Period-now, 0)), Move: s.Move,
	}, changed
}

// Drain lets no permit have a time before until.
func (s *State) Drain(now, until int64) {
	s.see(now)
	s.Drained = max(s.Drained, until)
	s.keepDrained()
	s.Move++
}

// Resume ends a drain that has not ended, and reports whether there was one. All permits that are
// booked for later are void then, so they count no more. What counts is what was used before the
// drain: its first permit can have been used no later than PermitAhead after the last change, which
// is the drain itself or came later. So after a drain of more than a period the next one comes now.
func (s *State) Resume(now int64) bool {
	if s.Drained <= now {
		return false
	}
	last := min(s.Seen, now)
	s.see(now)
	if s.Period > 0 {
		used := last + store.PermitAhead.Microseconds() + s.Burst*s.Period
		s.Tat = min(s.Tat, max(used, now+(s.Burst-1)*s.Period))
	}
	s.Drained, s.Move = now, (store.ResumesOf(s.Move)+1)*store.MovesOfAResume
	return true
}

func (s *State) keepDrained() {
	if s.Period > 0 && s.Drained > 0 {
		s.Tat = max(s.Tat, s.Drained+(s.Burst-1)*s.Period)
	}
}

// Become goes on with another rate: as many permits are taken as were. After a rate of 0, or none,
// it is not known how many those are that have not come back yet: then they come one by one from
// now on, as after a drain.
func (s *State) Become(now int64, r *store.Rate) {
	period, burst := Spacing(r)
	if period == s.Period && burst == s.Burst {
		return
	}
	s.see(now)
	switch {
	case period == 0:
	case s.Period == 0 && s.Tat > now:
		s.Tat = now + (burst-1)*period
	case s.Period > 0:
		taken := (max(s.Tat-now, 0) + s.Period - 1) / s.Period
		s.Tat = now + min(taken, store.MostAhead.Microseconds()/period)*period
	}
	s.Period, s.Burst = period, burst
	s.keepDrained()
	s.Move++
}

// Reserve takes the permit of a reservation.
func (s *State) Reserve(now int64, r *store.Reservation) (changed bool, err error) {
	r.At, r.Resumed, r.Stopped = time.Time{}, store.ResumesOf(s.Move), s.Period == 0
	good := !r.Before.IsZero() && s.Drained <= r.Before.UnixMicro() && r.BeforeResumed == r.Resumed && !missed(now, r)
	if good || r.Stopped {
		return false, nil
	}
	p, _ := s.Take(now, &store.PermitAsk{Want: 1, Ahead: store.MostAhead})
	if p.Count == 0 {
		return false, BookedOut(r.Namespace, r.Name)
	}
	if wait := p.From(0); wait > 0 {
		r.At = time.UnixMicro(now).Add(wait).UTC()
	}
	return true, nil
}

// missed reports whether the time of a reservation's permit is too long ago.
func missed(now int64, r *store.Reservation) bool {
	return r.Late > 0 && now-r.Before.UnixMicro() > r.Late.Microseconds()
}

// Micros is how far ahead something is told to be that is so many microseconds ahead: a limit may
// be drained until a time that is farther ahead than durations go.
func Micros(n int64) time.Duration {
	return time.Duration(min(n, 2*store.MostAhead.Microseconds())) * time.Microsecond
}

// floorDiv divides by a positive number and rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
