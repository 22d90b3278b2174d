package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// misuseError tells that the code of a durable function used its run as it must not: an operation
// inside of a step, one run in two goroutines, a run whose function has returned, something that
// another run has made. It is a store.ErrInvalid.
//
// Go does not tell which goroutine calls. What is known is which operation of a strand is under
// way: a caller that begins another one is in the function of that step, or in another goroutine.
// It is always the second that is refused, whichever of the two was wrong.
//
// A misuse spoils its run: the attempt fails with it, whatever the code makes of the error, since
// what it would go on to remember may have no place in the journal of the mended code. Nothing of
// the operation that was under way is remembered but what was stored already, and no operation
// begins any more. The job is tried again as after a panic, and goes on once the code is mended.
type misuseError struct{ text string }

func (e *misuseError) Error() string { return store.ErrInvalid.Error() + ": " + e.text }

func (e *misuseError) Unwrap() error { return store.ErrInvalid }

// misuseIn finds the misuse that an error of the user's code tells of, or nil.
func misuseIn(err error) error {
	if found, ok := errors.AsType[*misuseError](err); ok {
		return found
	}
	return nil
}

func (o operation) String() string {
	if o.name == "" {
		return o.verb
	}
	return fmt.Sprintf("%s %q", o.verb, o.name)
}

func (o operation) isStep() bool { return o.verb == verbStep || o.verb == verbStepTx }

func (o operation) ends() bool { return o.verb == VerbCompleteTx || o.verb == VerbFailTx }

const (
	verbStep   = "holdfast.Step"
	verbStepTx = "holdfast.StepTx"

	VerbCompleteTx = "run.CompleteTx"
	VerbFailTx     = "run.FailTx"

	verbCallAll = "Kind.CallAll"
)

func (s *Strand) misuse(format string, args ...any) error {
	return &misuseError{fmt.Sprintf("job %s: ", s.run.claimed.Job.ID) + fmt.Sprintf(format, args...)}
}

// tooLate is the misuse of a strand whose function has returned.
func (s *Strand) tooLate(begins operation) error {
	return s.misuse("%s was called on a run that is over: the function that it was passed to has returned or was parked; "+
		"do not keep a run, use the one passed to the function", begins)
}

// beside is the misuse of a strand that has an operation under way.
func (s *Strand) beside(begins operation) error {
	if s.doing.isStep() {
		return s.misuse("%s was called during %s, in its function or in another goroutine; call it before or after the step, "+
			"or in a function started with holdfast.Go, on the run passed to that function", begins, s.doing)
	}
	return s.misuse("%s was called while %s of the same run had not returned; use a run in one goroutine only: the run that "+
		"holdfast.Go or run.OnFailure passes to the function", begins, s.doing)
}

// foreign is the misuse of something that another run has made.
func (s *Strand) foreign(begins operation, a Awaitable) error {
	return s.misuse("%s was given %s, which this run did not make; make it in each call of the handler, on the run "+
		"passed to it", begins, a.describe())
}

// spoil ends the work of the strands that fail with this one: those that wait return the misuse,
// too.
func (s *Strand) spoil(m *replayState, err error) {
	if s.fault.err != nil {
		return
	}
	s.fault.err = err
	m.wakeAll()
}

// refuse tells why an operation must not begin: it would be a misuse, or there was one.
func (s *Strand) refuse(m *replayState, begins operation) error {
	switch {
	case s.over.Load():
		return s.tooLate(begins)
	case s.doing != operation{}:
		err := s.beside(begins)
		s.misused = true
		m.drop(s.underWay())
		s.spoil(m, err)
		return err
	case m.own != nil && s.fault.err == nil && !begins.ends():
		s.spoil(m, s.misuse("%s was called after the handler had ended the job in a transaction; return, whatever became of it", begins))
	}
	return s.fault.err
}

// underWay tells which entries the operation has left that is under way.
func (s *Strand) underWay() func(path string) bool {
	at := s.prefix + strconv.Itoa(s.place)
	many := s.doing.verb == verbCallAll // whose children have places below it
	return func(path string) bool { return path == at || many && strings.HasPrefix(path, at+".") }
}

// ruined returns what an operation of the strand returns instead of being remembered: there was a
// misuse while it was under way.
func (s *Strand) ruined() error {
	if s.misused {
		return s.fault.err
	}
	return nil
}

// own returns an error if one of several things is not the run's own.
func (s *Strand) own(m *replayState, among ...Awaitable) error {
	for _, a := range among {
		if !a.madeBy(s.run) {
			err := s.foreign(s.doing, a)
			s.spoil(m, err)
			return err
		}
	}
	return nil
}

// spoiledError is how a run fails that was spoiled, whatever its handler returned.
type spoiledError struct{ text string }

func (e *spoiledError) Error() string { return e.text }

// blame returns the error of a run's handler, or the misuse that has spoiled the run.
func (r *Run) blame(err error) error {
	m := r.state.Load()
	if m == nil {
		return err
	}
	m.mu.Lock()
	fault := m.fault.err
	m.mu.Unlock()
	switch {
	case fault == nil:
		return err
	case err == nil:
		return &spoiledError{fault.Error()}
	case usercode.Is(err, fault):
		return &spoiledError{usercode.ErrorText(err)} // with what the code says about it
	}
	return &spoiledError{fmt.Sprintf("%v; the handler returned: %s", fault, usercode.ErrorText(err))}
}

// cancelledBy is what is told of a job that was cancelled: the cancel, and the misuse in its code,
// which would not be seen otherwise.
func cancelledBy(cause, err error) string {
	if spoiled, ok := err.(*spoiledError); ok { //nolint:errorlint // blame does not wrap it
		if said := usercode.CancelReason(cause); said != "" {
			return said + "; " + spoiled.text
		}
		return spoiled.text
	}
	return usercode.CancelReason(cause)
}
