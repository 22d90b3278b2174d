package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

func (s *Strand) misuse(format string, args ...any) error {
	return misuse.Of(s.run.claimed.Job.ID, format, args...)
}

// spoil ends the work of the strands that fail with this one: those that wait return the misuse,
// too. It returns it.
func (s *Strand) spoil(m *replayState, err error) error {
	if s.fault.err == nil {
		s.fault.err = err
		m.wakeAll()
	}
	return err
}

// refuse tells why an operation must not begin: it would be a misuse, or there was one.
func (s *Strand) refuse(m *replayState, begins misuse.Operation) error {
	switch {
	case s.over.Load():
		return misuse.TooLate(s.run.claimed.Job.ID, begins)
	case s.doing != misuse.Operation{}:
		s.misused = true
		m.Drop(s.underWay())
		return s.spoil(m, misuse.Beside(s.run.claimed.Job.ID, begins, s.doing))
	case s.refused != nil && s.fault.err == nil && !begins.Ends():
		return s.spoil(m, s.misuse("%s was called after a child could not be started (%v), which is not remembered; return that error",
			begins, *s.refused))
	case m.own != nil && s.fault.err == nil && !begins.Ends():
		return s.spoil(m, s.misuse("%s was called after the handler had ended the job in a transaction; return, whatever became of it", begins))
	}
	return s.fault.err
}

// underWay tells which entries the operation has left that is under way.
func (s *Strand) underWay() func(path string) bool {
	at := s.prefix + strconv.Itoa(int(s.place))
	many := s.doing.Verb == misuse.VerbCallAll // whose children have places below it
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
func (s *Strand) own(m *replayState, among ...await.Thing) error {
	for _, a := range among {
		if !a.IsOf(s.run) {
			return s.spoil(m, misuse.Foreign(s.run.claimed.Job.ID, s.doing, a.Describe()))
		}
	}
	return nil
}

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
		return &misuse.SpoiledError{Text: fault.Error()}
	case usercode.Is(err, fault):
		return &misuse.SpoiledError{Text: usercode.ErrorText(err)} // with what the code says about it
	}
	return &misuse.SpoiledError{Text: fmt.Sprintf("%v; the handler returned: %s", fault, usercode.ErrorText(err))}
}

// cancelledBy is what is told of a job that was cancelled: the cancel, and the misuse in its code,
// which would not be seen otherwise.
func cancelledBy(cause, err error) string {
	if spoiled, ok := err.(*misuse.SpoiledError); ok { //nolint:errorlint // blame does not wrap it
		if said := usercode.CancelReason(cause); said != "" {
			return said + "; " + spoiled.Text
		}
		return spoiled.Text
	}
	return usercode.CancelReason(cause)
}
