package store

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

const (
	// MostRetentionClasses bounds how many classes a database has.
	MostRetentionClasses = 64
	// ShortestRetention is the shortest time of a class.
	ShortestRetention = time.Second
	// RemovedKept is how long it is kept how many jobs retention has removed on a day.
	RemovedKept = 90 * 24 * time.Hour
)

// Retentions has the classes of retention of a database, which queues of all its namespaces name
// (AttemptSettings.Retention), and counts what retention has removed.
//
// The leader obeys them from its next Retain on, for all finished jobs of the queue, also those
// that had finished before. Nothing is written at the end of a job.
type Retentions interface {
	// SetRetention makes a class what it says, and returns it with SetAt. One that is there is
	// replaced; if that changes nothing it stays as it is. The errors are ErrInvalid, ErrConflict
	// for one more than MostRetentionClasses, and *ChangedError if SetAt is given, and not that of
	// the class that is there.
	SetRetention(ctx context.Context, class RetentionClass) (RetentionClass, error)
	// RetentionClasses returns all classes, by name.
	RetentionClasses(ctx context.Context) ([]RetentionClass, error)
	// DeleteRetention deletes the class of a name, with SetAt as above, and SetBy as by whom. The
	// errors are ErrInvalid, ErrNotFound, ErrConflict while a queue names it, and *ChangedError.
	DeleteRetention(ctx context.Context, class RetentionClass) error
	// Expired returns up to Limit jobs that Retain would remove, of all namespaces, in any order; 0
	// is 1000. It changes nothing: those that stay come again, until they are removed, or are not
	// over any more. So a caller may keep them elsewhere first, and removes none that it has not
	// kept. more: there are others, or may be.
	Expired(ctx context.Context, params Retention) (jobs []EndedJob, more bool, err error)
	// RemoveExpired removes those of the jobs that are as finished as they were, and that no others
	// need, and returns how many it were. It is done in several transactions. A job leaves its
	// stub, if it is to leave one (EndedJob.Archived), in the one that removes it; Get then returns
	// it in an *ArchivedError. A job of the same id that is archived later replaces it. The error
	// is ErrInvalid for a name that no stub can have.
	RemoveExpired(ctx context.Context, jobs []EndedJob) (removed int, err error)
	// Removed returns how many jobs of a namespace retention has removed, by day, queue and state:
	// the latest days first, and at most Limit rows. The error is ErrInvalid.
	Removed(ctx context.Context, params RemovedParams) ([]Removed, error)
}

// RetentionClass says how long the finished jobs of the queues that name it are kept, by how they
// ended. 0: as Retention says, which is that of the database; KeepForever: until a person deletes
// them.
type RetentionClass struct {
	Name      string // as names of queues
	Completed time.Duration
	Failed    time.Duration // of dead letters
	Cancelled time.Duration

	SetAt time.Time // when it was last changed
	SetBy string    // and by whom
}

// In returns how long jobs of the class are kept in a database that has a retention.
func (c *RetentionClass) In(r Retention) Retention {
	for _, one := range []struct {
		of time.Duration
		is *time.Duration
	}{{c.Completed, &r.Completed}, {c.Failed, &r.Failed}, {c.Cancelled, &r.Cancelled}} {
		*one.is = max(cmp.Or(one.of, *one.is), 0)
	}
	return r
}

// Of returns how long jobs that ended in a state are kept; 0: for ever.
func (r Retention) Of(state State) time.Duration {
	switch state {
	case Completed:
		return r.Completed
	case Failed:
		return r.Failed
	default:
		return r.Cancelled
	}
}

// Same reports whether two classes keep jobs for the same times.
func (c *RetentionClass) Same(other *RetentionClass) bool {
	return c.Completed == other.Completed && c.Failed == other.Failed && c.Cancelled == other.Cancelled
}

// Allows reports that the class that is there, nil: none, is not the one that was read, a
// *ChangedError.
func (c *RetentionClass) Allows(was *RetentionClass) error {
	if c.SetAt.IsZero() || was != nil && was.SetAt.Equal(c.SetAt) {
		return nil
	}
	return &ChangedError{"retention class", c.Name}
}

// Check reports why no store takes the class, an ErrInvalid.
func (c *RetentionClass) Check() error {
	if err := CheckRetentionName(c.Name); err != nil {
		return err
	}
	for state, keep := range map[State]time.Duration{Completed: c.Completed, Failed: c.Failed, Cancelled: c.Cancelled} {
		if keep != 0 && keep != KeepForever && (keep < ShortestRetention || keep%time.Microsecond != 0) {
			return fmt.Errorf("%w: retention class %s: %s jobs are to be kept for %v; that is to be %v or more, KeepForever, "+
				"or 0 for that of the database",
				ErrInvalid, c.Name, state, keep, ShortestRetention)
		}
	}
	if !isText(c.SetBy) {
		return fmt.Errorf("%w: retention class %s: the actor %.60q is not valid UTF-8, or contains NUL", ErrInvalid, c.Name, c.SetBy)
	}
	return nil
}

// CheckRetentionName reports why a class cannot have a name, an ErrInvalid.
func CheckRetentionName(name string) error {
	if err := CheckQueueName(name); err != nil || name == "" || len(name) > 200 || !isText(name) {
		return fmt.Errorf("%w: retention class %.200q: a name is 1 to 200 bytes of UTF-8 without NUL, and no pattern of queues", ErrInvalid, name)
	}
	return nil
}

// NoRetention is the ErrNotFound of a class.
func NoRetention(name string) error {
	return fmt.Errorf("%w: there is no retention class %.200q; \"holdfast retention list\" shows those that there are", ErrNotFound, name)
}

// RetentionInUse is the ErrConflict of a class that a queue names.
func RetentionInUse(name, namespace, queue string) error {
	return fmt.Errorf("%w: queue %.200q of namespace %.200q names retention class %.200q; unset that, or set another one, first",
		ErrConflict, queue, namespace, name)
}

// TooManyRetentions is the ErrConflict of one class more than there may be.
func TooManyRetentions(name string) error {
	return fmt.Errorf("%w: retention class %.200q: there are %d classes, and may not be more; delete one first", ErrConflict, name,
		MostRetentionClasses)
}

// EndedJob is a finished job: while it has that state since that moment it has not run again.
type EndedJob struct {
	ID         ID
	State      State
	FinishedAt time.Time
	// Archived, for RemoveExpired, is the name of the file, or the key, that the job was archived
	// in: it leaves a Stub that says so. "", as Expired returns it: it leaves none.
	Archived string
}

// Removed is how many jobs retention has removed on one day.
type Removed struct {
	Day   time.Time // midnight UTC at its beginning, by the clock of the store
	Queue string
	State State // in which the jobs had finished
	Jobs  int64
	Stubs int64 // how many of these have left a stub
}

// RemovedParams asks for what was removed.
type RemovedParams struct {
	Namespace string
	Queue     string // "": all
	Limit     int    // of the rows; 1 to 1000
}
