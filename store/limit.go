package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits bounds how many jobs run at once, over all nodes.
//
// A limit has slots, as many as its capacity. Nodes hold them: a node asks for slots (Grant), and
// claims only as many jobs that count as it holds slots for. So neither claims nor outcomes look at
// limits, and no row is written for a job. The store sees to it that the nodes together hold no
// more than the capacity, unless that is lowered, or the limit is made, while jobs run: then no
// node gets any until they are few enough. Of a fair limit a node gets no more than its part.
//
// Slots that a node holds are its until it gives them back, or is dead and no longer has a job:
// Rescue and Leave take them then.
type Limits interface {
	// SaveLimit makes a limit, if expect is 0, or replaces the one that has this version, and
	// returns it as it is then. The errors are ErrInvalid, ErrNotFound, and ErrConflict if there is
	// one already, or if it has another version.
	SaveLimit(ctx context.Context, l Limit, expect int64, actor string) (Limit, error)
	// DeleteLimit removes a limit. The errors are ErrNotFound, and a *HeldError if nodes hold slots
	// of it, which notes that they are wanted; unless force is set: then these count for nothing
	// any more. Nodes hold none of a limit per key.
	DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error
	// Limits returns limits with those who hold slots of them, by namespace and name: those of a
	// namespace ("" for all), or the one with a name, if that is not "". There are few.
	Limits(ctx context.Context, namespace, name string) ([]Limit, error)
	// Grant changes how many slots a node holds of limits, in one transaction, and answers for each
	// that it asks about, in any order. One is left out if the limit is not there, or has another
	// version, or if the node has made a later call: then the node holds what it had, and no more
	// than it said it would keep. The same call again answers what it did. It fails with
	// ErrNodeDead if the node is not alive, and with ErrInvalid.
	//
	// What a node gets is durable with the answer. A call by which it gets no slots may be lost if
	// the database crashes within a second after it, unless a later one by which some node got
	// slots was answered: then the node holds in the store what it held before, and is to say again
	// what it keeps when Limits tells it so.
	Grant(ctx context.Context, params GrantParams) ([]Grant, error)
	// RunningOf returns the jobs of a namespace that run and count under a key of a limit per key,
	// in the order of their ids, no more than most; 0: all.
	RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]ID, error)
	// NextOf returns when the next job of a key may start by the rate of its limit per key; zero:
	// at once, or never, or the limit is not there, or has no such rate.
	NextOf(ctx context.Context, namespace, limit, key string) (time.Time, error)
}

// Limit bounds how many jobs of some queues and kinds run at once: from their claim until they end
// or are parked, those included that a node has claimed and not started. Beside that, or instead,
// it bounds how many start in a time (Rates).
type Limit struct {
	Namespace string
	Name      string // within the namespace
	LimitSettings

	// Declared is what code has declared last, in a form that only the declaring package reads; ""
	// if no code has.
	Declared string

	// What the store sets.
	ID        int64 // never used again
	Version   int64 // grows with every SaveLimit, from FirstVersion on
	CreatedAt time.Time
	UpdatedAt time.Time
	// WantedAt is when a node last asked for more slots than it got, or a caller to delete the
	// limit, within a second; zero: never. Nodes that hold slots and do not use them give them
	// back then.
	WantedAt time.Time
	Holders  []Holder // by node; those that hold none are left out
	// Wishes are the nodes that wish for more slots of a fair limit than they hold, by node, and
	// how many they wish for; of those that have said so within WishFor.
	Wishes []Holder
	// NextAt is when the next permit of its rate comes; a time that has passed, or zero: at once.
	NextAt time.Time
	// DrainedUntil is the time before which no permits come, as a Drain wants it, or when the last
	// one was taken back; zero: there was none.
	DrainedUntil time.Time
	// Resumed is how many drains of it were taken back. A permit that was booked before the last of
	// these, and that had not come, is void.
	Resumed int64
}

// LimitSettings is how much a limit allows, and of what.
type LimitSettings struct {
	// Capacity is how many slots there are; 0: its jobs do not run, unless the limit is Uncapped.
	Capacity int `json:"capacity"`
	// Uncapped lets any number of jobs run at once: then there is a rate.
	Uncapped bool `json:"uncapped,omitempty"`
	// Rate bounds how many jobs start in a time, each as one, whatever its weight; nil: any number.
	Rate *Rate `json:"rate,omitempty"`
	// NoJobs lets no job count: its permits are taken by Rates.Reserve and the like alone.
	NoJobs bool `json:"no_jobs,omitempty"`
	// Queues are those whose jobs count; nil: all of the namespace.
	Queues []string `json:"queues,omitempty"`
	// Kinds are those whose jobs count, each with the slots that one of its jobs takes, at least 1;
	// nil: all kinds, one slot each.
	Kinds map[string]int `json:"kinds,omitempty"`
	// PerKey makes the capacity and the rate those of each key. The jobs that count are those that
	// name the limit (Options.Limit), one slot each, so it has neither queues nor kinds. No node
	// holds slots of it or takes permits: claims count what runs, and take permits as they take
	// jobs. So a rate may have any burst.
	PerKey bool `json:"per_key,omitempty"`
	// Fair bounds how many slots a node gets while others wish for some: see Part. It needs a
	// capacity that is not that of a key.
	Fair bool `json:"fair,omitempty"`
}

// Holder is a node that holds slots of a limit, or wishes for them.
type Holder struct {
	Node  int64
	Slots int
}

// WantedEvery is how long WantedAt stands still, so that not every call writes it.
const WantedEvery = time.Second

// GrantParams is what a node asks for.
type GrantParams struct {
	Node int64
	Call int64      // a node numbers its calls, upwards; one that arrives after a later one changes nothing
	Asks []LimitAsk // one for each limit
	// Tell has the store tell other processes of slots that are given back (WakeSlotsFree) in the
	// same commit, if it can: see Grant.Told.
	Tell bool
}

// LimitAsk is how many slots of a limit a node would have.
type LimitAsk struct {
	Limit   int64 // its ID
	Version int64 // that the node knows
	// Keep is how many the node has in any case, whatever the capacity. It must hold as many or
	// have jobs for them already. From before the call until its answer, and after one whose answer
	// was lost, the node uses no more than it keeps, as that may be all that it has then.
	Keep int
	// Want is how many it would have. Of a fair limit that is what the node wishes for, until it
	// asks again: so nodes that hold more than their part find out by Limits that they have to give
	// some back.
	Want int
}

// Grant is what a node holds of a limit.
type Grant struct {
	Limit    int64
	Slots    int
	Capacity int
	// Held is how many all nodes hold, this one included.
	Held int
	// Part is the most that the node may hold of a fair limit as things are: it gets no more than
	// that, and what it keeps. 0 if the limit is not fair.
	Part int
	Told bool // see GrantParams.Tell
}

// MaxLimitNames bounds the queues, and the kinds, that one limit names.
const MaxLimitNames = 1000

// Check reports why no store takes the call, an ErrInvalid.
func (p *GrantParams) Check() error {
	asked := make(map[int64]bool, len(p.Asks))
	for _, a := range p.Asks {
		if asked[a.Limit] || a.Keep < 0 || a.Keep > mostKept {
			return fmt.Errorf("%w: a call asks about limit %d twice, or would keep %d of its slots", ErrInvalid, a.Limit, a.Keep)
		}
		asked[a.Limit] = true
	}
	return nil
}

// Share is how many slots a node holds after an ask, if the others hold some: what it wants as far
// as there are any, and what it keeps in any case.
func (a *LimitAsk) Share(capacity, others int) int {
	return max(a.Keep, min(a.Want, capacity-others), 0)
}

// Slots is how many slots there are.
func (s *LimitSettings) Slots() int {
	if s.Uncapped {
		return MaxCapacity
	}
	return s.Capacity
}

// Weight is how many slots a job takes; 0: it does not count.
func (s *LimitSettings) Weight(queue, kind string) int {
	switch {
	case s.PerKey, s.NoJobs:
		return 0 // of those that are per key claims count the jobs
	case len(s.Queues) > 0 && !slices.Contains(s.Queues, queue):
		return 0
	case len(s.Kinds) == 0:
		return 1
	}
	return s.Kinds[kind]
}

// Together is the rate of all jobs together; nil if there is none, or if it is that of each key.
func (s *LimitSettings) Together() *Rate {
	if s.PerKey {
		return nil
	}
	return s.Rate
}

// HeldError is the ErrConflict of a limit that cannot be removed because nodes hold slots of it.
type HeldError struct {
	Namespace, Name string
	Holders         []Holder
}

func (e *HeldError) Error() string {
	var nodes []string
	for _, h := range e.Holders {
		nodes = append(nodes, fmt.Sprintf("node %d: %d", h.Node, h.Slots))
	}
	return fmt.Sprintf("%v: slots of the limit %q in the namespace %q are held (%s)",
		ErrConflict, e.Name, e.Namespace, strings.Join(nodes, ", "))
}

// Unwrap makes the error an ErrConflict.
func (e *HeldError) Unwrap() error { return ErrConflict }

// NoLimit is the ErrNotFound of a limit that is not there.
func NoLimit(namespace, name string) error {
	return fmt.Errorf("%w: there is no limit %q in the namespace %q", ErrNotFound, name, namespace)
}

// LimitChanged is the ErrConflict of a limit that has another version than was expected; now is 0
// if there is none.
func LimitChanged(namespace, name string, expected, now int64) error {
	if expected == 0 {
		return fmt.Errorf("%w: there is a limit %q in the namespace %q already", ErrConflict, name, namespace)
	}
	return fmt.Errorf("%w: the limit %q in the namespace %q was changed meanwhile: it has the version %d, not %d",
		ErrConflict, name, namespace, now, expected)
}

// Check reports why no store takes the limit, an ErrInvalid.
func (l *Limit) Check() error {
	switch {
	case l.Namespace == "" || l.Name == "":
		return fmt.Errorf("%w: a limit lacks a namespace or a name", ErrInvalid)
	case l.Capacity < 0:
		return l.invalid("its capacity %d is negative", l.Capacity)
	case l.Capacity > MaxCapacity:
		return l.invalid("its capacity %d is over %d", l.Capacity, MaxCapacity)
	case l.Uncapped && l.Rate == nil:
		return l.invalid("it has neither a capacity nor a rate")
	case l.Uncapped && l.Capacity != 0:
		return l.invalid("it has a capacity, %d, that does not count", l.Capacity)
	case l.NoJobs && (!l.Uncapped || len(l.Queues) > 0 || len(l.Kinds) > 0):
		return l.invalid("it names jobs or has a capacity, and no jobs count")
	case l.Fair && l.PerKey:
		return l.invalid("it is per key and has a fair share: a fair share divides the slots that nodes hold, and of a limit per key " +
			"they hold none, as each claim counts what runs of its keys; take one of the two away")
	case l.Fair && l.Uncapped:
		return l.invalid("it is shared evenly, and has no capacity that nodes could share")
	case len(l.Queues) > MaxLimitNames || len(l.Kinds) > MaxLimitNames:
		return l.invalid("it names more than %d queues or kinds", MaxLimitNames)
	}
	if l.PerKey {
		if len(l.Queues) > 0 || len(l.Kinds) > 0 || l.NoJobs {
			return l.invalid("it is per key, and names queues or kinds")
		}
		if err := CheckLimitName(l.Name); err != nil {
			return err
		}
	}
	if l.Rate != nil {
		if wrong := l.Rate.check(l.PerKey); wrong != "" {
			return l.invalid("%s", wrong)
		}
	}
	if !isText(l.Declared) {
		return l.invalid("what code has declared is not valid UTF-8 or contains NUL")
	}
	texts := append([]string{l.Namespace, l.Name}, l.Queues...)
	for kind, weight := range l.Kinds {
		texts = append(texts, kind)
		if weight < 1 || weight > l.Capacity && l.Capacity > 0 {
			return l.invalid("the weight %d of kind %q is not between 1 and the capacity %d", weight, kind, l.Capacity)
		}
	}
	for _, text := range texts {
		if text == "" || !isText(text) {
			return l.invalid("%.60q is empty, not valid UTF-8, or contains NUL", text)
		}
	}
	return nil
}

// MaxCapacity is the most slots that a limit has. A node may keep more: the weights of what runs
// may have been raised.
const MaxCapacity, mostKept = 1_000_000_000, 1_000_000_000_000_000

func (l *Limit) invalid(format string, args ...any) error {
	return fmt.Errorf("%w: limit %q: %s", ErrInvalid, l.Name, fmt.Sprintf(format, args...))
}

// Encode returns the settings as stores keep them: a JSON document, whose form never changes its
// meaning. It fails as Check does.
func (l *Limit) Encode() (string, error) {
	if err := l.Check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(l.LimitSettings)
	if err != nil {
		return "", l.invalid("%v", err)
	}
	return string(text), nil
}

// DecodeLimit reads what Encode has written.
func DecodeLimit(text string) (settings LimitSettings, err error) {
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return settings, fmt.Errorf("the settings of a limit cannot be read: %w", err)
	}
	return settings, nil
}

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
	// has no rate or until is not between the years 1 and 9999.
	Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error
	// ResumeLimit takes back a drain that has not ended: permits come one by one from now on, or a
	// little later if some were used just before the drain. Permits that were booked for later are
	// void (Limit.Resumed); those who booked them take others. That is recorded. A limit that is
	// not drained is left alone. The errors are ErrNotFound, and ErrInvalid if the limit has no
	// rate.
	ResumeLimit(ctx context.Context, params ResumeLimitParams) error
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
	n := int64(min(r.Count, MaxCapacity)) * int64(time.Microsecond)
	return time.Duration((int64(r.Per)+n-1)/n) * time.Microsecond
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
	switch r.Per { //nolint:exhaustive // others are told as they are
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

// check says why there is no such rate, or "". One of each key holds with any burst.
func (r *Rate) check(perKey bool) string {
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
	case r.Bursts() < r.LeastBurst() && !perKey:
		return fmt.Sprintf("its burst %d is below %d, with which the rate %v would not hold", r.Burst, r.LeastBurst(), r)
	case int64(r.Bursts()) > int64(MostAhead/r.Period()):
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
	Next   time.Duration // when the next one may be used, from the moment of the call on, at most 2 MostAhead; 0: now
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

// CheckDrain reports why no store drains a limit until a time, an ErrInvalid.
func CheckDrain(name string, until time.Time) error {
	if until.Year() < 1 || until.Year() > 9999 {
		return fmt.Errorf("%w: limit %q cannot be drained until a time that is not between the years 1 and 9999", ErrInvalid, name)
	}
	return nil
}

// ResumeLimitParams takes back a drain of a limit.
type ResumeLimitParams struct {
	Namespace, Name string
	// Actor is the person that asks, and Reason why, for the record; both may be "".
	Actor, Reason string
}

// Detail is what the record says beside who and when.
func (p *ResumeLimitParams) Detail() string {
	if p.Reason == "" {
		return "limit " + p.Name
	}
	return "limit " + p.Name + ": " + p.Reason
}

// MovesOfAResume is by how many changes a limit goes on, at the most, when a drain of it is taken
// back: from a multiple of it on, so that each number tells how many drains were before it. At a
// thousand changes a second it takes 34 years until that is told wrongly, which costs a permit.
const MovesOfAResume = 1 << 40

// ResumesOf is how many drains of a limit were taken back before a change (Permits.Move).
func ResumesOf(move int64) int64 { return move / MovesOfAResume }

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
	// time since, and no drain taken back, and that time is not longer ago than Late, it is still
	// good, and none is taken.
	Before time.Time
	// BeforeResumed is the Resumed of that permit.
	BeforeResumed int64
	Late          time.Duration // 0: it may be any time ago
	// Append has the entry that says so. Say completes it, and is called before it is written, more
	// than once if the transaction has to begin again. It is never a repeated one (Append.Repeat):
	// a call that arrives twice is refused.
	Append *Append
	Say    func(r *Reservation)

	At      time.Time // from when on it may be used; zero: at once
	Stopped bool      // none was taken: the rate is 0
	Resumed int64     // how many drains of the limit were taken back before
}

// StoreName lets a reservation stand where a caller's transaction does: it is one of its own.
func (*Reservation) StoreName() string { return "reservation" }
