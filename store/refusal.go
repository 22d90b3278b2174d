package store

import (
	"fmt"
	"slices"
	"strings"
)

// What stores refuse with, in the same words for every database: the class first, and once; then
// which job it is about, once. Who passes such an error on adds nothing that it says already.
// storetest compares the words.

// NoJob is the ErrNotFound of a job that is not there.
func NoJob(id ID) error { return fmt.Errorf("%w: job %s", ErrNotFound, id) }

// TakenID is the ErrConflict of an enqueue whose id is that of a job of another namespace.
func TakenID(id ID) error { return fmt.Errorf("%w: the id %s is taken", ErrConflict, id) }

// KeyKept is the ErrConflict of a signal that is to be sent to the holder of a business key, which
// has finished.
func KeyKept(key string, holder ID) error {
	return fmt.Errorf("%w: job %s has finished and keeps the key %q", ErrConflict, holder, key)
}

// CallbackAnswered is the ErrConflict of a callback that was completed or failed.
func CallbackAnswered(job ID) error {
	return fmt.Errorf("%w: the callback of job %s is already answered", ErrConflict, job)
}

// JobIs is the ErrConflict of a job in a state in which it cannot do what is asked.
func JobIs(id ID, state State) error { return fmt.Errorf("%w: job %s is %s", ErrConflict, id, state) }

// HasChildren is the ErrConflict of a job that cannot be removed while a child of its is not
// finished.
func HasChildren(id, child ID) error {
	return fmt.Errorf("%w: job %s has a child that is not finished: %s", ErrConflict, id, child)
}

// OfAnotherKind is the ErrConflict of a job that is not of the kind that it is taken for.
func OfAnotherKind(id ID, kind, taken string) error {
	return fmt.Errorf("%w: job %s is of kind %q, not of kind %q", ErrConflict, id, kind, taken)
}

// NoQueue is the ErrNotFound of a queue that is not listed.
func NoQueue(name string) error { return fmt.Errorf("%w: queue %s", ErrNotFound, name) }

// LostLease is the ErrLeaseLost of a write for a job.
func LostLease(id ID) error { return fmt.Errorf("%w: job %s", ErrLeaseLost, id) }

// NoCallback is the ErrNotFound of a callback that its job has not opened, or does not remember.
// Its token is a secret, and not named.
func NoCallback(job ID) error { return fmt.Errorf("%w: job %s has no such callback", ErrNotFound, job) }

// CheckLimit reports why a page cannot have that many rows, an ErrInvalid.
func CheckLimit(limit int) error {
	if limit < 1 || limit > 1000 {
		return fmt.Errorf("%w: the limit %d is not between 1 and 1000", ErrInvalid, limit)
	}
	return nil
}

// About says what was being done to a job when an error came, such as "waiting for", unless the
// error names the job itself.
func About(job ID, doing string, err error) error {
	if err == nil || strings.Contains(err.Error(), job.String()) {
		return err
	}
	return fmt.Errorf("%s job %s: %w", doing, job, err)
}

// Failure is the error of an operation, such as "get job …", that failed for what the database
// says: the class first, unless the error begins with one, and all of it on one line. A nil class
// is none, as of a context that has ended.
func Failure(class error, operation string, err error) error {
	text := oneLine(err.Error())
	switch {
	case strings.HasPrefix(text, "holdfast: ") && text == err.Error():
		return err
	case strings.HasPrefix(text, "holdfast: "):
		return &failure{text, err, nil}
	case operation != "":
		text = operation + ": " + text
	}
	if class == nil {
		return &failure{text, err, nil}
	}
	return &failure{class.Error() + ": " + text, err, class}
}

// failure is an error with a class and with words of its own.
type failure struct {
	text  string
	err   error
	class error // nil: that of err
}

func (e *failure) Error() string { return e.text }

func (e *failure) Unwrap() []error {
	if e.class == nil {
		return []error{e.err}
	}
	return []error{e.class, e.err}
}

// oneLine makes one line of an error's text. Drivers write one for each address that they have
// tried, which often say the same.
func oneLine(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return text
	}
	var kept []string
	for _, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(kept, func(k string) bool { return strings.HasSuffix(k, line) }) {
			kept = append(kept, line)
		}
	}
	first := strings.TrimSpace(lines[0])
	separator := "; "
	if strings.HasSuffix(first, ":") {
		separator = " "
	}
	if len(kept) == 0 {
		return first
	}
	return first + separator + strings.Join(kept, "; ")
}
