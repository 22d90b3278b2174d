package store

import (
	"context"
	"fmt"
	"time"
)

// How long facts are kept, and what is kept of them at most.
const (
	// FactMinutesKept is how long the minutes of nodes are kept. The hours of older ones take their
	// place: see MergeFacts.
	FactMinutesKept = 3 * 24 * time.Hour
	// FactHoursKept is how long those hours are kept.
	FactHoursKept = 90 * 24 * time.Hour
	// FactsLate is how late KeepFacts takes a minute. It is less than FactMinutesKept, so that no
	// minute comes that is in its hour already.
	FactsLate = 2 * 24 * time.Hour
	// FactJobsBytes and FactGaugesBytes bound what a fact has.
	FactJobsBytes   = 16 << 20
	FactGaugesBytes = 64 << 10
	// FactsLimit is how many facts are written, read or merged at once.
	FactsLimit = 1000
)

// Facts keeps what nodes have counted and measured. It is not part of the state of a job: nothing
// goes by it, and what it costs does not depend on the jobs.
type Facts interface {
	// KeepFacts writes the facts of minutes, in one transaction. One with the key of another one
	// replaces it, unless that has a larger Version, so that a call may be repeated, and may come
	// late. Minutes that began FactsLate ago or earlier are left out, without an error. The error
	// is ErrInvalid for facts that fail Check, of which none is written then.
	KeepFacts(ctx context.Context, facts []Fact) error
	// Facts returns a page of facts in the order of their keys. It reads by the times that are
	// asked for, whatever there is of others. The error is ErrInvalid.
	Facts(ctx context.Context, params FactParams) ([]Fact, error)
	// MergeFacts removes facts and writes others in their place, in one transaction. The error is
	// ErrConflict, and nothing has happened, if one that is to be removed is not there, or one that
	// is to be written is: another process has done it, or this call has been repeated. It is
	// ErrInvalid for facts that fail Check.
	MergeFacts(ctx context.Context, gone []FactKey, merged []Fact) error
	// Measure measures the database itself. What the role must not see, and what such a database
	// does not have, is not there.
	Measure(ctx context.Context) (Measured, error)
}

// FactSpan is over how long something was counted.
type FactSpan uint8

// The spans of facts.
const (
	FactMinute FactSpan = iota + 1
	FactHour
)

// Length is how long the span is; 0 if it is none.
func (s FactSpan) Length() time.Duration {
	switch s {
	case FactMinute:
		return time.Minute
	case FactHour:
		return time.Hour
	default:
		return 0
	}
}

// FactKey is of whom and when a fact is.
type FactKey struct {
	At        time.Time // when the span begins
	Namespace string    // of the jobs; "": it is of the database
	Node      int64     // that has counted; 0: several
	// Number tells apart what a node counts: after a clock was set back the same minute comes
	// again.
	Number int64
	Span   FactSpan
}

// Fact is what a node has counted and measured in a minute, or all of them in an hour.
type Fact struct {
	FactKey

	// Version grows when a node writes the fact again.
	Version int64
	// Jobs is what was counted of runs, and Gauges what was measured, as internal/tally and
	// internal/gauges encode them; nil: nothing. A store does not read them.
	Jobs   []byte
	Gauges []byte
}

// FactParams is a page of facts.
type FactParams struct {
	Span      FactSpan
	Namespace string
	// All: of all namespaces, and of the database, whatever Namespace says.
	All bool
	// From and To are times at which the facts begin, the latter exclusive.
	From, To time.Time
	After    FactKey // the last one of the page before; the zero value: from the beginning
	Limit    int     // 1 to 1000
}

// Check returns an ErrInvalid for parameters that cannot be answered.
func (p *FactParams) Check() error {
	if p.Span.Length() == 0 {
		return fmt.Errorf("%w: facts of span %d: there are minutes and hours", ErrInvalid, p.Span)
	}
	return CheckLimit(p.Limit)
}

// Check returns an ErrInvalid for a fact that cannot be one.
func (f *Fact) Check() error {
	about := fmt.Sprintf("the fact of node %d at %s", f.Node, f.At.Format(time.RFC3339))
	switch length := f.Span.Length(); {
	case length == 0:
		return fmt.Errorf("%w: %s has span %d: there are minutes and hours", ErrInvalid, about, f.Span)
	case f.At.UnixMicro()%length.Microseconds() != 0:
		return fmt.Errorf("%w: %s does not begin with its span, of %v", ErrInvalid, about, length)
	case f.Node < 0 || f.Number < 0 || f.Version < 0:
		return fmt.Errorf("%w: %s has number %d and version %d; they are 0 or more", ErrInvalid, about, f.Number, f.Version)
	case len(f.Jobs) > FactJobsBytes || len(f.Gauges) > FactGaugesBytes:
		return fmt.Errorf("%w: %s has %d and %d bytes; at most %d and %d may be written", ErrInvalid, about,
			len(f.Jobs), len(f.Gauges), FactJobsBytes, FactGaugesBytes)
	}
	return nil
}

// CheckFacts returns the first error of Check, or an ErrInvalid for facts of other spans than one,
// unless that is 0, or for too many of them.
func CheckFacts(facts []Fact, span FactSpan) error {
	if len(facts) > FactsLimit {
		return fmt.Errorf("%w: %d facts; at most %d may be written at once", ErrInvalid, len(facts), FactsLimit)
	}
	for i := range facts {
		if err := facts[i].Check(); err != nil {
			return err
		}
		if span != 0 && facts[i].Span != span {
			return fmt.Errorf("%w: nodes write minutes; hours are merged from them", ErrInvalid)
		}
	}
	return nil
}

// FactsMissing is the ErrConflict of MergeFacts.
func FactsMissing() error {
	return fmt.Errorf("%w: what was to be merged has changed meanwhile; read it again", ErrConflict)
}

// Measured is what was measured of a database. Nil: it does not have it, or it cannot be seen.
type Measured struct {
	// Size is how much the file has, or the database on the server, in bytes.
	Size *int64
	// Free is how much of the file is empty, and will be used again (SQLite).
	Free *int64
	// Log is how much the write-ahead log has (SQLite).
	Log *int64
	// Written is how much was ever written to the write-ahead log of the server (PostgreSQL). It
	// grows.
	Written *int64
	// DiskLeft is how much is left on the disk of the file (SQLite, on Linux).
	DiskLeft *int64
	// Connections are those that clients have to the server, and MaxConnections how many they may
	// have (PostgreSQL).
	Connections, MaxConnections *int64
}
