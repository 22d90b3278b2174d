package store

import (
	"fmt"
	"time"
)

// Stub is what is left of a job that was archived and removed, where that was asked for
// (EndedJob.Archived).
type Stub struct {
	ID         ID
	Namespace  string
	Queue      string
	Kind       string
	State      State // in which it had finished
	FinishedAt time.Time
	ArchivedAt time.Time // when it was removed, once it was archived
	Archive    string    // where it is: the name of the file, or the key, that has it
}

// StubsKept is how long stubs are kept if nothing else is said.
const StubsKept = 365 * 24 * time.Hour

// MostArchiveName is how many bytes the name of an archived file may have.
const MostArchiveName = 1024

// ArchivedError is the ErrNotFound of a job that was archived and removed, and has left a stub.
type ArchivedError struct{ Stub Stub }

// Error tells where the job is, and how it had ended.
func (e *ArchivedError) Error() string {
	s := &e.Stub
	return fmt.Sprintf("%v: job %s is not in the database any more: it was archived in %.200s on %s; its state was %s, since %s",
		ErrNotFound, s.ID, s.Archive, s.ArchivedAt.UTC().Format(time.DateTime), s.State, s.FinishedAt.UTC().Format(time.DateTime))
}

// Is reports whether it is an ErrNotFound, which it is.
func (e *ArchivedError) Is(target error) bool { return target == ErrNotFound }

// CheckArchived reports why jobs cannot leave the stubs that are asked for, an ErrInvalid.
func CheckArchived(jobs []EndedJob) error {
	for i := range jobs {
		if name := jobs[i].Archived; len(name) > MostArchiveName || !isText(name) {
			return fmt.Errorf("%w: job %s was archived in %.60q: a name is at most %d bytes of UTF-8 without NUL", ErrInvalid, jobs[i].ID, name,
				MostArchiveName)
		}
	}
	return nil
}
