package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
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
// node gets any until they are few enough.
//
// Slots that a node holds are its until it gives them back, or is dead and no longer has a job:
// Rescue and Leave take them then.
type Limits interface {
	// SaveLimit makes a limit, if expect is 0, or replaces the one that has this version, and
	// returns it as it is then. The errors are ErrInvalid, ErrNotFound, and ErrConflict if there is
	// one already, or if it has another version.
	SaveLimit(ctx context.Context, l Limit, expect int64) (Limit, error)
	// DeleteLimit removes a limit. The errors are ErrNotFound, and a *HeldError if nodes hold slots
	// of it, which notes that they are wanted; unless force is set: then these count for nothing
	// any more.
	DeleteLimit(ctx context.Context, namespace, name string, force bool) error
	// Limits returns limits with those who hold slots of them, by namespace and name: those of a
	// namespace ("" for all), or the one with a name, if that is not "". There are few.
	Limits(ctx context.Context, namespace, name string) ([]Limit, error)
	// Grant changes how many slots a node holds of limits, in one transaction, and answers for each
	// that it asks about, in any order. One is left out if the limit is not there, or has another
	// version, or if the node has made a later call: then the node holds what it had, and no more
	// than it said it would keep. The same call again answers what it did. It fails with
	// ErrNodeDead if the node is not alive, and with ErrInvalid.
	Grant(ctx context.Context, params GrantParams) ([]Grant, error)
	// RunningOf returns the jobs of a namespace that run and count under a key of a limit per key,
	// in the order of their ids, at most most of them; 0: all.
	RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]ID, error)
}

// Limit bounds how many jobs of some queues and kinds run at once: from their claim until they end
// or are parked, those included that a node has claimed and not started.
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
}

// LimitSettings is how much a limit allows, and of what.
type LimitSettings struct {
	// Capacity is how many slots there are; 0: its jobs do not run.
	Capacity int `json:"capacity"`
	// Queues are those whose jobs count; nil: all of the namespace.
	Queues []string `json:"queues,omitempty"`
	// Kinds are those whose jobs count, each with the slots that one of its jobs takes, at least 1;
	// nil: all kinds, one slot each.
	Kinds map[string]int `json:"kinds,omitempty"`
	// PerKey makes the capacity that of each key. The jobs that count are those that name the limit
	// (Options.Limit), one slot each, so it has neither queues nor kinds. No node holds slots of
	// it.
	PerKey bool `json:"per_key,omitempty"`
}

// Holder is a node that holds slots of a limit.
type Holder struct {
	Node  int64
	Slots int
}

// WantedEvery is how long WantedAt stands still, so that not every call writes it.
const WantedEvery = time.Second

// GrantParams is what a node asks for.
type GrantParams struct {
	Node int64
	// Call is the number of the call: a node numbers its calls, upwards. One that arrives after a
	// later one changes nothing.
	Call int64
	Asks []LimitAsk // one for each limit
}

// LimitAsk is how many slots of a limit a node would have.
type LimitAsk struct {
	Limit   int64 // its ID
	Version int64 // that the node knows
	// Keep is how many the node has in any case, whatever the capacity. It must hold as many or
	// have jobs for them already. From before the call until its answer, and after one whose answer
	// was lost, the node uses no more than it keeps, as that may be all that it has then.
	Keep int
	Want int // how many it would have
}

// Grant is what a node holds of a limit.
type Grant struct {
	Limit    int64
	Slots    int
	Capacity int
	// Held is how many all nodes hold, this one included.
	Held int
}

// MaxLimitNames bounds the queues, and the kinds, that one limit names.
const MaxLimitNames = 1000

// Check reports why no store takes the call, an ErrInvalid.
func (p *GrantParams) Check() error {
	asked := make(map[int64]bool, len(p.Asks))
	for _, a := range p.Asks {
		if asked[a.Limit] || a.Keep < 0 || a.Keep > MaxCapacity {
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

// Weight is how many slots a job takes; 0: it does not count.
func (s *LimitSettings) Weight(queue, kind string) int {
	switch {
	case s.PerKey:
		return 0 // claims count them
	case len(s.Queues) > 0 && !slices.Contains(s.Queues, queue):
		return 0
	case len(s.Kinds) == 0:
		return 1
	}
	return s.Kinds[kind]
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
	case len(l.Queues) > MaxLimitNames || len(l.Kinds) > MaxLimitNames:
		return l.invalid("it names more than %d queues or kinds", MaxLimitNames)
	}
	if l.PerKey {
		if len(l.Queues) > 0 || len(l.Kinds) > 0 {
			return l.invalid("it is per key, and names queues or kinds")
		}
		if err := CheckLimitName(l.Name); err != nil {
			return err
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

// MaxCapacity is the most slots that a limit has.
const MaxCapacity = 1_000_000_000

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

// A limit per key bounds how many jobs run at once for each of its keys, such as each customer. A
// job names one such limit and its key in its Options. Claims count the leases of the key, and pass
// over what would be too many; so nothing is written for a key, and a node holds no slots of such a
// limit. While there is no limit with that name, or it is none per key, the job is not bounded.

// MaxLimitKey bounds the key of a job in a limit, in bytes.
const MaxLimitKey = 200

// gateMark separates a kind from the limit that its jobs count in, in the name of a lane.
const gateMark = "\x1f"

// Gate is the number of the key in whose limit the job counts; 0 if it counts in none. Keys are
// told apart by it alone: two of a million share one with a probability of one in 37 million.
func (j *Job) Gate() int64 {
	if j.Options.Limit == "" {
		return 0
	}
	return GateOf(j.Namespace, j.Options.Limit, j.Options.LimitKey)
}

// GateOf is the number of a key of a limit. It is stored, and never made in another way.
func GateOf(namespace, limit, key string) int64 {
	var b []byte
	for _, part := range [...]string{namespace, limit, key} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:]) | 1) // never 0
}

// LaneKind is a kind as stores name their lanes by it: with the limit per key that its jobs count
// in, and the version that they are bound to. Without a limit it is what ClaimParams.Kinds has.
func LaneKind(kind, limit, version string) string {
	if limit != "" {
		kind += gateMark + limit
	}
	if version != "" {
		kind += "@" + version
	}
	return kind
}

// LaneKind is the kind of the job as stores name its lane by it.
func (j *Job) LaneKind() string { return LaneKind(j.Kind, j.Options.Limit, j.Version) }

// ParseLaneKind takes apart what LaneKind has made.
func ParseLaneKind(name string) (kind, limit, version string) {
	kind, version, _ = strings.Cut(name, "@")
	kind, limit, _ = strings.Cut(kind, gateMark)
	return kind, limit, version
}

// CheckLimitName reports why no job can count in a limit per key with this name, an ErrInvalid.
func CheckLimitName(name string) error {
	if name == "" || !isText(name) || strings.ContainsAny(name, "@"+gateMark) {
		return fmt.Errorf("%w: the name %.60q of a limit per key is empty, no text, or contains @ or a control character", ErrInvalid, name)
	}
	return nil
}

func (j *Job) checkGate() error {
	if strings.Contains(j.Kind, gateMark) {
		return fmt.Errorf("%w: job %s: the kind %.60q contains a control character", ErrInvalid, j.ID, j.Kind)
	}
	name, key := j.Options.Limit, j.Options.LimitKey
	if name == "" && key == "" {
		return nil
	}
	if key == "" || len(key) > MaxLimitKey || !isText(key) {
		return fmt.Errorf("%w: job %s: its key in the limit %.60q has no or more than %d bytes, or is no text", ErrInvalid, j.ID, name, MaxLimitKey)
	}
	if err := CheckLimitName(name); err != nil {
		return fmt.Errorf("%w; job %s", err, j.ID)
	}
	return nil
}
