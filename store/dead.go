package store

import (
	"fmt"
	"reflect"
	"time"
)

const (
	// DeadBound is how many dead letters of a group are counted if it is not said.
	DeadBound = 1000
	// MaxDeadGroups is how many groups are looked at, for each of the queues and priorities in
	// which they have jobs.
	MaxDeadGroups = 10_000
)

// DeadParams asks for groups of dead letters: of jobs that have failed for good.
type DeadParams struct {
	// Filter selects the jobs, by its Namespace, which is required, Queues, Kinds and Fingerprints;
	// any other field is an ErrInvalid.
	Filter Filter
	After  string // the cursor of the page before, or ""
	Limit  int    // of groups; 1 to 1000
	Most   int    // how many jobs of a group are counted; 0: DeadBound; at most CountBound
}

// DeadGroup are the dead letters of a kind that have one fingerprint: they failed for one reason,
// and with errors that are alike.
type DeadGroup struct {
	Kind string
	// Fingerprint; 0: that of jobs that have none, since no run has reported their failure (as when
	// nodes died with them, or their deadline passed), or they failed in a program that did not
	// know fingerprints.
	Fingerprint int64
	Count       Count
	// Job is the one that failed last, and Reason and Error are what it failed with.
	Job    ID
	Reason Reason
	Error  string
	// FirstSeen and LastSeen are when the first and the last of them failed that are there now.
	FirstSeen, LastSeen time.Time
	// Queues are those in which it has jobs, by name.
	Queues []string
}

// DeadPage is a page of groups, the one that has failed last first.
type DeadPage struct {
	Groups []DeadGroup
	Next   string // the cursor of the next page; "" at the end
	// More tells that there are more than MaxDeadGroups, of which only so many were looked at: a
	// filter by kind or queue leaves fewer.
	More bool
}

// Check reports why no store takes the call, an ErrInvalid, and sets Most if it is 0. It does not
// look at After, which is the store's.
func (p *DeadParams) Check() error {
	if err := CheckLimit(p.Limit); err != nil {
		return err
	}
	if p.Most == 0 {
		p.Most = DeadBound
	}
	rest := p.Filter
	rest.Namespace, rest.Queues, rest.Kinds, rest.Fingerprints = "", nil, nil, nil
	switch {
	case p.Most < 0 || p.Most > CountBound:
		return fmt.Errorf("%w: up to %d dead letters of a group are to be counted, which is not between 1 and %d", ErrInvalid, p.Most, CountBound)
	case p.Filter.Namespace == "":
		return fmt.Errorf("%w: dead letters are grouped within a namespace", ErrInvalid)
	case !reflect.ValueOf(rest).IsZero():
		return fmt.Errorf("%w: dead letters are grouped by namespace, queue, kind and fingerprint alone", ErrInvalid)
	}
	return nil
}
