package replay

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// crowd is the strands of a run, and whose code runs: a condition is looked at while none does.
type crowd struct {
	first      *Strand // of those that have a goroutine
	coding     int     // strands that are between two operations
	turns      int64   // how often one has begun to be
	told       int64   // the turn after which those were told last that wait for a condition
	conditions int     // strands that do
	evaluating bool    // a condition is looked at: no strand leaves its operation
}

// join notes that the function of a strand begins.
func (c *crowd) join(s *Strand) {
	c.code()
	s.next = c.first
	if s.next != nil {
		s.next.before = s
	}
	c.first = s
}

// quit notes that the function of a strand has ended.
func (m *replayState) quit(s *Strand) {
	m.coding--
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

// code notes that a strand goes on with its code.
func (c *crowd) code() {
	c.coding++
	c.turns++
}

// settled lets those look again that wait for a condition, if no code runs now and some has since
// they were told last. It is called where a strand may stay in its operation for long.
func (m *replayState) settled() {
	if m.conditions == 0 || m.coding > 0 || m.told == m.turns {
		return
	}
	m.told = m.turns
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

// hold keeps the strand in its operation while a condition is looked at, and while the journal says
// that a condition held with the strand being here.
func (s *Strand) hold(m *replayState) {
	for m.evaluating {
		m.evaluated.Wait()
	}
	for m.MayMeet() && !m.exiting && !m.hopeless && m.StaysAt(s.where()) {
		s.block(m, blocked.On{Strand: true, What: "the condition of another strand"})
	}
}

// WaitUntil waits until a condition holds. It is looked at while every strand of the run is in an
// operation.
func (s *Strand) WaitUntil(what string, cond func() bool, limit Limit) error {
	m, err := s.begin("run.WaitUntil", what)
	if err != nil {
		return err
	}
	defer s.end(m)
	if s.undo {
		err := s.misuse("%s was called in a compensation, beside which no strand runs; call it in the handler", s.doing)
		s.spoil(m, err)
		return err
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
	m.Add(e)
	return err
}

// waitUntil waits until a condition holds, or its time is over.
func (s *Strand) waitUntil(m *replayState, cond func() bool, on blocked.On) (holds bool, err error) {
	defer s.conditionally(m)()
	err = s.await(m, func() bool {
		for m.evaluating {
			m.evaluated.Wait()
		}
		if m.coding > 0 || m.IsBehind() {
			return false
		}
		holds = s.evaluate(m, cond)
		return holds || s.fault.err != nil || !on.Until.IsZero() && !s.run.host.Now().Before(on.Until)
	}, func() blocked.On { return on })
	if err == nil {
		err = s.fault.err
	}
	return holds, err
}

// conditionally marks the strand as one that waits for a condition, until done.
func (s *Strand) conditionally(m *replayState) (done func()) {
	m.conditions++
	s.conditional = true
	return func() { m.conditions--; s.conditional = false }
}

// evaluate looks at a condition, without the state's lock.
func (s *Strand) evaluate(m *replayState, cond func() bool) bool {
	holds := func() bool {
		m.evaluating = true
		m.mu.Unlock()
		defer func() { // also if it panics
			m.mu.Lock()
			m.evaluating = false
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
	err := s.await(m, func() bool { return m.coding == 0 && m.IsAttended(e.Path, s.others(m)) },
		func() blocked.On { return blocked.On{Strand: true, What: "condition " + e.Name} })
	switch {
	case err != nil:
		return err
	case e.Kind == store.EntryTimeout:
		return ErrWaitTimeout
	}
	holds := s.evaluate(m, cond)
	if s.fault.err != nil {
		return s.fault.err
	}
	if !holds {
		s.contradict(m, fmt.Sprintf("the condition %q does not hold at place %s, where it did (entry %d)", e.Name, e.Path, e.Seq))
	}
	return nil
}

// missed tells, if the run waits before its code has come to where the journal ends, what it does
// not come to: strands wait for that, so that the run would never go on.
func (m *replayState) missed() string {
	if m.conditions == 0 && !m.MayMeet() || !m.IsBehind() {
		return ""
	}
	e, does := m.Unvisited(), "does not come to"
	if e == nil {
		e, does = m.NextMeeting(), "does not come to where it was at"
	}
	return fmt.Sprintf("the code %s %s at place %s, which the journal has (entry %d)", does, journal.Describe(e.Kind, e.Name), e.Path, e.Seq)
}
