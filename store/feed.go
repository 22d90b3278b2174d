package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// FeedKept is how long changes are kept at least.
	FeedKept = 72 * time.Hour
	// FeedMost is the largest FeedParams.Limit.
	FeedMost = 10_000
)

// ErrFeedOff is an ErrConflict: the feed is off, so no change is written and none is kept.
var ErrFeedOff = fmt.Errorf("%w: the feed of changes is off; switch it on first (holdfast event on)", ErrConflict)

// ErrFeedReset is an ErrConflict: changes after a position are not kept any more, or the position
// is of another life of the feed, so a reader has missed some. It is a *FeedResetError.
var ErrFeedReset = fmt.Errorf("%w: changes after this position are gone", ErrConflict)

// FeedResetError is an ErrFeedReset: a reader then looks at the jobs that it follows, and goes on
// from one of the two positions.
type FeedResetError struct {
	After  FeedPosition // that was asked for
	Oldest FeedPosition // after which all that is kept comes
	Newest FeedPosition // of the last change
}

// Error implements error.
func (e *FeedResetError) Error() string {
	return fmt.Sprintf("%v: %v was asked for; kept is what comes after %v, up to %v", ErrFeedReset, e.After, e.Oldest, e.Newest)
}

// Is makes it an ErrFeedReset.
func (e *FeedResetError) Is(target error) bool {
	return target == ErrFeedReset || errors.Is(ErrFeedReset, target)
}

// Feed is every change of the state of a job, in an order that all readers see: of all namespaces,
// without gaps, and causes before their effects. It is off at first; then nothing is written for
// it.
//
// # What is told
//
// A change is told when a job arrives in a state. That is each transition of the table Transitions,
// made by runs, people, the clock, dead nodes, callers' transactions, SQL. These are the
// readings where the table leaves room:
//
//	enqueued, forked, imported, fired, called back    told: the state in which the job begins
//	starts with its enqueue                           told once, as Running
//	claimed, completed, put back, parked              told
//	rescued                                           told: what the rescue makes of the job
//	promoted, woken, retried, resumed, released       told: also where a run time or backoff is over
//	paused, held back by jobs that it comes after     told as Waiting
//	cancelled, terminated, closed with its parent     told when it ends, not when it is asked for
//	edited, replaced, handed on by its key or gate    may be told, as the state in which the job stays
//	moved several times in one transaction            may be told step by step, the last one last
//	moved to another partition, deleted, retained     not told: there is no state then
//
// So a reader may find a job twice in succession in the same state, and, on PostgreSQL, in one that
// the job left within the same transaction: a job that is enqueued after others is told as
// Available, and then as Waiting. A job goes only where the table lets it, and the last state that
// is told is the one that it has.
//
// # Gap-free
//
// What is written commits with the change itself, in the same transaction. All changes of
// transactions that begin to write after SetFeed has returned are told, and none of those that had
// committed before it was called. Of a caller's transaction that is open meanwhile PostgreSQL tells
// all or nothing, since switching waits for its end. SQLite has one writer, so there is none.
//
// Positions are numbers without a hole. A change gets its position after its commit (on SQLite, as
// part of it), and no change ever gets one before another that has one already. So a reader that
// goes on from the last position that it has seen misses nothing and sees nothing twice, however
// late transactions commit.
type Feed interface {
	// SetFeed switches the feed on or off, for all processes of the database. Switched on it begins
	// a new life: with no change, from position 0 on. Switched off, what is kept is removed. If it
	// is so already nothing happens. On PostgreSQL it needs a moment in which no transaction uses
	// the tables of jobs, not even to read them, and waits for it until ctx ends (ErrBusy), or for
	// 30 seconds; its user has to own the tables.
	SetFeed(ctx context.Context, on bool, actor string) (FeedStatus, error)
	// FeedStatus tells whether the feed is on, and what is kept.
	FeedStatus(ctx context.Context) (FeedStatus, error)
	// OrderFeed gives positions to changes that have committed and have none. Readers call it every
	// few milliseconds, also in several processes at once: then one does it. Retain does it, too.
	// On SQLite it does nothing.
	OrderFeed(ctx context.Context) error
	// ReadFeed returns changes that come after a position, in their order. The error is ErrFeedOff,
	// a *FeedResetError, or ErrInvalid.
	ReadFeed(ctx context.Context, params FeedParams) (FeedPage, error)
}

// FeedStatus is what is known of the feed.
type FeedStatus struct {
	On bool
	// Since is when it was switched on.
	Since time.Time
	// Oldest is the position after which all that is kept comes, Newest that of the last change.
	// They are zero if the feed is off.
	Oldest, Newest FeedPosition
}

// FeedPosition is a place in the feed: after so many changes of one of its lives. The zero value is
// before all that is kept. As a text it is "LIFE-COUNT", or "" for the zero value.
type FeedPosition struct {
	Life  int64 // the microsecond in which the feed was switched on
	Count int64
}

// IsZero reports whether it is the position before all that is kept.
func (p FeedPosition) IsZero() bool { return p == FeedPosition{} }

// String returns the text of the position.
func (p FeedPosition) String() string {
	if p.IsZero() {
		return ""
	}
	return strconv.FormatInt(p.Life, 36) + "-" + strconv.FormatInt(p.Count, 10)
}

// MarshalText makes the position its text in JSON.
func (p FeedPosition) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text of a position.
func (p *FeedPosition) UnmarshalText(text []byte) error {
	parsed, err := ParseFeedPosition(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// ParseFeedPosition is the inverse of FeedPosition.String. The error is ErrInvalid.
func ParseFeedPosition(text string) (FeedPosition, error) {
	if text == "" {
		return FeedPosition{}, nil
	}
	life, count, _ := strings.Cut(text, "-")
	l, err := strconv.ParseInt(life, 36, 64)
	n, countErr := strconv.ParseInt(count, 10, 64)
	if err != nil || countErr != nil || l <= 0 || n < 0 {
		return FeedPosition{}, fmt.Errorf("%w: %q is no position of the feed, which looks like %v", ErrInvalid, text, FeedPosition{1 << 50, 42})
	}
	return FeedPosition{l, n}, nil
}

// FeedParams is a page of the feed.
type FeedParams struct {
	After FeedPosition
	Limit int // 1 to FeedMost
}

// Check returns an ErrInvalid for a page that cannot be one.
func (p *FeedParams) Check() error {
	if p.Limit < 1 || p.Limit > FeedMost {
		return fmt.Errorf("%w: %d changes at once; 1 to %d may be asked for", ErrInvalid, p.Limit, FeedMost)
	}
	return nil
}

// FeedPage is a part of the feed.
type FeedPage struct {
	Changes []Change
	// Next is the position after the page: where to go on. It is never the zero value.
	Next FeedPosition
	// More says that there are further changes now.
	More bool
}

// Change is a job that arrived in a state.
type Change struct {
	Position FeedPosition `json:"position"`
	// At is when, by the clock of the database. It says nothing of the order, of which Position
	// tells.
	At    time.Time `json:"at"`
	Job   ID        `json:"job"`
	State State     `json:"state"`
	// Reason says why a job has failed or was cancelled; "" in other states.
	Reason Reason `json:"reason,omitempty"`
	// Fingerprint, of a change to Failed, and Kind name the group of dead letters of the job
	// (DeadGroup): that of its last failure if the page is read after it failed again. It is 0 if
	// it has none, and if the job was removed or does not stand as failed any more when the page is
	// read.
	Fingerprint int64 `json:"-"`
	// Namespace, Queue and Kind are those that the job has when the page is read. They are empty if
	// the job has been removed.
	Namespace string `json:"namespace,omitempty"`
	Queue     string `json:"queue,omitempty"`
	Kind      string `json:"kind,omitempty"`
}

// CheckFeed returns the error for reading after a position: nil if all that comes after it is kept.
func (s *FeedStatus) CheckFeed(after FeedPosition) error {
	switch {
	case !s.On:
		return ErrFeedOff
	case after.IsZero():
		return nil
	case after.Life != s.Oldest.Life || after.Count < s.Oldest.Count || after.Count > s.Newest.Count:
		return &FeedResetError{after, s.Oldest, s.Newest}
	}
	return nil
}

// Page is what comes after a position that CheckFeed lets pass, of changes without a life.
func (s *FeedStatus) Page(after FeedPosition, changes []Change) FeedPage {
	next := FeedPosition{s.Newest.Life, max(after.Count, s.Oldest.Count) + int64(len(changes))}
	for i := range changes {
		changes[i].Position.Life = next.Life
	}
	return FeedPage{Changes: changes, Next: next, More: next.Count < s.Newest.Count}
}

// changeJSON is a change but for its methods and its fingerprint, which JSON has as text.
type changeJSON Change

type changeText struct {
	*changeJSON

	Fingerprint hexJSON `json:"fingerprint,omitempty"`
}

// MarshalJSON writes the change as `holdfast event list` prints it: the fingerprint is sixteen
// hexadecimal digits, and left out if there is none.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeText{(*changeJSON)(&c), hexJSON(c.Fingerprint)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (c *Change) UnmarshalJSON(data []byte) error {
	text := changeText{changeJSON: (*changeJSON)(c)}
	err := json.Unmarshal(data, &text)
	c.Fingerprint = int64(text.Fingerprint)
	return err
}
