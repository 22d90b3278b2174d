package replay

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// join notes that the function of a strand begins.
func (m *replayState) join(s *Strand) {
	m.Code()
	s.next = m.first
	if s.next != nil {
		s.next.before = s
	}
	m.first = s
}

// quit notes that the function of a strand has ended.
func (m *replayState) quit(s *Strand) {
	m.operate(s)
	if s.before != nil {
		s.before.next = s.next
	} else {
		m.first = s.next
	}
	if s.next != nil {
		s.next.before = s.before
	}
	m.settled()
}

// operate notes that a strand leaves its code.
func (m *replayState) operate(s *Strand) {
	if m.Operate(s) {
		m.wakeAll()
	}
}

// settled lets those look again that wait for a condition, if no code runs now and some has since
// they were told last. It is called where a strand may stay in its operation for long.
func (m *replayState) settled() {
	if !m.HasSettled() {
		return
	}
	for s, b := range m.blocked {
		if s.conditional {
			m.wake(s, b)
		}
	}
}

// where tells in which operation the strand is, or one that handles a request in it.
func (s *Strand) where() string {
	for s.inner != nil {
		s = s.inner
	}
	if s.served == 0 {
		return s.waits()
	}
	return fmt.Sprintf("%s:%d", s.waits(), s.served)
}

// others tells where the other strands are.
func (s *Strand) others(m *replayState) (at []string) {
	for one := m.first; one != nil; one = one.next {
		own := one
		for own != s && own != nil {
			own = own.inner
		}
		if own == nil {
			at = append(at, one.where())
		}
	}
	slices.Sort(at)
	return at
}

// hold keeps the strand in its operation while a condition is looked at, while another strand goes
// on alone after one, and while the journal says that a condition held with the strand being here.
func (s *Strand) hold(m *replayState) {
	for m.Evaluating || !m.exiting && (m.IsKept(s) || !m.hopeless && s.staysHere(m)) {
		if m.Evaluating {
			m.evaluated.Wait()
			continue
		}
		s.block(m, blocked.On{Strand: true, What: "the condition of another strand"})
	}
}

// staysHere reports whether a condition held, by the journal, with the strand being here, and the
// run has not come to that yet.
func (s *Strand) staysHere(m *replayState) bool { return m.MayMeet() && m.StaysAt(s.where()) }

// WaitUntil waits until a condition holds. It is looked at while every strand of the run is in an
// operation.
func (s *Strand) WaitUntil(what string, cond func() bool, limit await.Limit) error {
	m, err := s.begin("run.WaitUntil", what)
	if err != nil {
		return err
	}
	defer s.end(m)
	if s.undo {
		return s.spoil(m, s.misuse("%s was called in a compensation, beside which no strand runs; call it in the handler", s.doing))
	}
	path, entries, err := s.arrive(m, what, store.EntryAwaited, store.EntryTimer, store.EntryTimeout)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind != store.EntryTimer {
			return s.meet(m, e, cond)
		}
	}
	if err := s.decides(m); err != nil {
		return err
	}
	at := limit.Until
	if limit.Set && at.IsZero() {
		if at, err = s.begun(m, path, what, entries, limit); err != nil {
			return err
		}
	}
	holds, err := s.waitUntil(m, cond, blocked.On{Strand: true, What: "condition " + what, Until: at})
	if err != nil {
		return err
	}
	e := store.Entry{Kind: store.EntryAwaited, Path: path, Name: what, Data: journal.Encode(journal.Awaited{Others: s.others(m)})}
	if !holds {
		e.Kind, err = store.EntryTimeout, ErrWaitTimeout
	}
	m.Record(e)
	m.Alone(s)
	return err
}

// waitUntil waits until a condition holds, or its time is over.
func (s *Strand) waitUntil(m *replayState, cond func() bool, on blocked.On) (holds bool, err error) {
	defer s.conditionally(m)()
	err = s.await(m, func() bool {
		for m.Evaluating {
			m.evaluated.Wait()
		}
		if m.hasPanicked() {
			return true
		}
		if !m.IsQuiet() || m.IsBehind() || m.ending != nil {
			return false // while the run ends strands leave their places because of that
		}
		holds = s.evaluate(m, cond)
		return holds || s.fault.err != nil || !on.Until.IsZero() && !s.run.host.Now().Before(on.Until)
	}, func() blocked.On { return on })
	if err == nil {
		m.raise()
		err = s.fault.err
	}
	return holds, err
}

// hasPanicked reports whether a strand has left its place because it panicked, which it may not do
// the next time: what holds then is not to be recorded.
func (m *replayState) hasPanicked() bool { return len(m.abandoned) > 0 && m.ending == nil }

// raise panics if another strand has, as awaiting it does.
func (m *replayState) raise() {
	if m.hasPanicked() {
		f := m.abandoned[0]
		m.abandoned = m.abandoned[1:]
		panic(f.Panic())
	}
}

// conditionally marks the strand as one that waits for a condition, until done.
func (s *Strand) conditionally(m *replayState) (done func()) {
	m.Wait()
	s.conditional = true
	return func() { m.Done(); s.conditional = false }
}

// evaluate looks at a condition, without the state's lock.
func (s *Strand) evaluate(m *replayState, cond func() bool) bool {
	holds := func() bool {
		m.Evaluating = true
		m.mu.Unlock()
		defer func() { // also if it panics
			m.mu.Lock()
			m.Evaluating = false
			m.evaluated.Broadcast()
		}()
		return cond()
	}()
	if m.exiting {
		m.exit()
	}
	return holds
}

// meet waits until the other strands are where, by the journal, the end of the wait found them.
func (s *Strand) meet(m *replayState, e *store.Entry, cond func() bool) error {
	defer func() {
		m.Met(e.Path)
		m.wakeAll()
	}()
	defer s.conditionally(m)()
	err := s.await(m, func() bool {
		return m.hasPanicked() || m.IsQuiet() && !s.staysHere(m) && m.IsAttended(e.Path, s.others(m))
	}, func() blocked.On { return blocked.On{Strand: true, What: "condition " + e.Name} })
	if err == nil {
		m.raise()
	}
	switch {
	case err != nil:
		return err
	case e.Kind == store.EntryTimeout:
		m.Alone(s)
		return ErrWaitTimeout
	}
	holds := s.evaluate(m, cond)
	if s.fault.err != nil {
		return s.fault.err
	}
	if !holds {
		s.contradict(m, fmt.Sprintf("the condition %q does not hold at place %s, where it did (entry %d)", e.Name, e.Path, e.Seq))
	}
	m.Alone(s)
	return nil
}

// missed tells, if the run waits before its code has come to where the journal ends, what it does
// not come to: strands wait for that, so that the run would never go on.
func (m *replayState) missed() string {
	if !m.Waits() && !m.MayMeet() || !m.IsBehind() {
		return ""
	}
	e, does := m.Unvisited(), "does not come to"
	if e == nil {
		e, does = m.NextMeeting(), "does not come to where it was at"
	}
	return fmt.Sprintf("the code %s %s at place %s, which the journal has (entry %d)", does, journal.Describe(e.Kind, e.Name), e.Path, e.Seq)
}
