package store

import (
	"context"
	"fmt"
	"time"
)

// Rates bounds how many jobs start in a time, over all nodes: in any time W no more than a rate's
// burst and W divided by the time between two of its jobs.
//
// A limit with a rate gives out permits, each for one job. A node takes some in advance
// (TakePermits), and claims only as many jobs that count as it has permits for. So neither claims
// nor enqueues look at rates. A permit has a time before which it is not used, and a last one; both
// are told from the moment of the answer, so that no clocks are compared. What is not used by then
// is lost, or goes back. Who has permits is not remembered: a call that arrives late or twice, and
// an answer that is lost, lose permits, and never make any.
type Rates interface {
	// TakePermits takes permits of limits, and gives some back, in one transaction, and answers for
	// each limit that it asks about, in any order. One is left out if it is not there, has another
	// version, or no rate. The error is ErrInvalid.
	TakePermits(ctx context.Context, asks []PermitAsk) ([]Permits, error)
	// Drain lets no permit have a time before until: what has been saved up until then is gone, and
	// permits come one by one from then on. An earlier Drain to a later time stays. Permits that
	// were taken before are not concerned. The errors are ErrNotFound, and ErrInvalid if the limit
	// has no rate.
	Drain(ctx context.Context, namespace, name string, until time.Time) error
	// Reserve takes one permit, whenever its time comes, and says so in the journal of a run, in
	// one transaction: so a permit that was taken is remembered, and one that is not remembered was
	// not taken. The errors are ErrNotFound; ErrInvalid if the limit has no rate; ErrConflict if
	// its permits are taken for ten years; and those of Writer.AppendTx, Append.Err included, which
	// also is what fails the call.
	Reserve(ctx context.Context, r *Reservation) error
}

// Rate is how often jobs may start.
type Rate struct {
	// Count jobs may start in each time of this length; 0: none start.
	Count int           `json:"count"`
	Per   time.Duration `json:"per"`
	// Burst is how many may start at once after a time in which few did. 0: as many as come in a
	// tenth of a second, or the least that there may be (see LeastBurst), if that is more.
	Burst int `json:"burst,omitempty"`
}

const (
	// PermitLife is how long permits may be used after they have come.
	PermitLife = 20 * time.Millisecond
	// PermitAhead is how far in the future the times of permits are that nodes take.
	PermitAhead = 100 * time.Millisecond
	// PermitStays is how much longer permits may be used that were saved up.
	PermitStays = 100 * time.Millisecond

	// LeastPeriod is the shortest time between two jobs of a rate: at most 100,000 a second.
	LeastPeriod = 10 * time.Microsecond
	// MostPeriod is the longest one.
	MostPeriod = 366 * 24 * time.Hour
	// MostAhead is the longest time for which permits are taken, and in which a burst comes back.
	MostAhead = 10 * MostPeriod
	// SinglePeriod is the shortest time between two jobs of a rate with a burst of one.
	SinglePeriod = time.Second
)

// Period is the time between two jobs: in whole microseconds, and rounded up, so that a rate is
// never more than it says. 0 if there are none.
func (r *Rate) Period() time.Duration {
	if r.Count <= 0 {
		return 0
	}
	n := time.Duration(r.Count) * time.Microsecond
	return (r.Per + n - 1) / n * time.Microsecond
}

// LeastBurst is the smallest burst with which a rate holds: as many jobs as start in the time in
// which a permit may be used, and one; for few jobs, one.
func (r *Rate) LeastBurst() int {
	if p := r.Period(); p > 0 && p < SinglePeriod {
		return 1 + int((PermitLife+p-1)/p)
	}
	return 1
}

// Bursts is Burst, or what is taken for it if it is 0.
func (r *Rate) Bursts() int {
	if p := r.Period(); r.Burst == 0 && p > 0 {
		return max(r.LeastBurst(), int(PermitAhead/p))
	}
	return max(r.Burst, 1)
}

// String is the rate as people write it, such as "50/s".
func (r *Rate) String() string {
	switch r.Per {
	case time.Second:
		return fmt.Sprintf("%d/s", r.Count)
	case time.Minute:
		return fmt.Sprintf("%d/min", r.Count)
	case time.Hour:
		return fmt.Sprintf("%d/h", r.Count)
	case 24 * time.Hour:
		return fmt.Sprintf("%d/d", r.Count)
	}
	return fmt.Sprintf("%d/%v", r.Count, r.Per)
}

// check says why there is no such rate, or "".
func (r *Rate) check() string {
	p := r.Period()
	switch {
	case r.Count < 0 || r.Count > MaxCapacity:
		return fmt.Sprintf("its rate lets %d jobs start, which is not between 0 and %d", r.Count, MaxCapacity)
	case r.Burst < 0 || r.Burst > MaxCapacity:
		return fmt.Sprintf("its burst %d is not between 0 and %d", r.Burst, MaxCapacity)
	case r.Per < time.Microsecond || r.Per > MostPeriod:
		return fmt.Sprintf("the time of its rate, %v, is not between a microsecond and 366 days", r.Per)
	case r.Count == 0:
		return ""
	case r.Per < time.Duration(r.Count)*LeastPeriod:
		return fmt.Sprintf("its rate %v is over 100000 jobs in a second", r)
	case r.Bursts() < r.LeastBurst():
		return fmt.Sprintf("its burst %d is below %d, with which the rate %v would not hold", r.Burst, r.LeastBurst(), r)
	case int64(r.Bursts()) > int64(MostAhead/p):
		return fmt.Sprintf("its burst %d would take more than ten years to come back", r.Burst)
	}
	return ""
}

// PermitAsk is what is asked of the rate of a limit.
type PermitAsk struct {
	Limit   int64 // its ID
	Version int64 // that is known
	// Want is how many permits are wanted, of those whose times are at most so far Ahead. There may
	// be fewer.
	Want  int
	Ahead time.Duration
	// Back gives back the last ones of those that an earlier call has taken. Move is the number
	// that it was answered: if anything has changed since, nothing goes back, and nothing is said
	// of it.
	Back int
	Move int64
	// IfWaiting lets a store take none if no job is available that counts in the limit.
	IfWaiting bool
}

// Permits are permits that were taken. The k-th one, counted from 0, comes k periods after Base,
// and may be used by so many periods earlier as others are given out at once: see From and Until.
type Permits struct {
	Limit int64
	Count int
	Base  time.Duration // from the moment of the call on
	// Period is the time between two permits; 0: there are none. Burst is how many are given out at
	// once.
	Period time.Duration
	Burst  int
	Next   time.Duration // when the next one may be used, from the moment of the call on; 0: now
	Move   int64         // the number of the last change: see PermitAsk
	None   bool          // none were taken, as no job that counts is available
}

// From is how long after the moment of the call the k-th permit may be used at the earliest.
func (p Permits) From(k int) time.Duration {
	return max(p.Base+time.Duration(k-p.Burst+1)*p.Period, 0)
}

// Until is how long after the moment of the call it may be used at the latest.
func (p Permits) Until(k int) time.Duration {
	return min(p.Base+time.Duration(k)*p.Period, p.From(k)+PermitStays) + PermitLife
}

// CheckPermits reports why no store takes a call, an ErrInvalid.
func CheckPermits(asks []PermitAsk) error {
	asked := make(map[int64]bool, len(asks))
	for _, a := range asks {
		wrong := a.Want < 0 || a.Want > MaxCapacity || a.Back < 0 || a.Back > MaxCapacity || a.Ahead < 0 || a.Ahead > MostAhead
		if asked[a.Limit] || wrong {
			return fmt.Errorf("%w: a call asks about limit %d twice, or for %d permits in %v, or gives back %d",
				ErrInvalid, a.Limit, a.Want, a.Ahead, a.Back)
		}
		asked[a.Limit] = true
	}
	return nil
}

// Reservation is one permit for a run.
type Reservation struct {
	Namespace, Name string
	// Before is the time of a permit that was taken before. If the limit was not drained to a later
	// time since, it is still good, and none is taken.
	Before time.Time
	// Append has the entry that says so. Say completes it, and is called before it is written, more
	// than once if the transaction has to begin again. It is never a repeated one (Append.Repeat):
	// a call that arrives twice is refused.
	Append *Append
	Say    func(r *Reservation)

	At      time.Time // from when on it may be used; zero: at once
	Stopped bool      // none was taken: the rate is 0
}

// StoreName lets a reservation stand where a caller's transaction does: it is one of its own.
func (*Reservation) StoreName() string { return "reservation" }
