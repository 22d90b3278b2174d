package replay

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/store"
)

// begin begins an operation, which lasts until end, and returns the run's replay state, locked. If
// the run is over for this process the goroutine ends here.
func (s *Strand) begin(verb, name string) (*replayState, error) {
	s.run.watch.Beat()
	begins := misuse.Operation{Verb: verb, Name: name}
	if s.over.Load() {
		return nil, misuse.TooLate(s.run.claimed.Job.ID, begins)
	}
	m, err := s.run.remember()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	if err := s.refuse(m, begins); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	m.ended(context.Cause(s.run.life.Base)) // code that has seen it ended is not to go on as if it had not
	if m.pauses() && !m.exiting {
		m.leavePaused()
	}
	if m.exiting {
		m.mu.Unlock()
		runtime.Goexit()
	}
	s.doing = begins
	m.operate(s)
	return m, nil
}

// end ends an operation and unlocks the replay state. It is deferred: an operation may end by a
// panic or by runtime.Goexit, and what is deferred by the code around it may begin another.
func (s *Strand) end(m *replayState) {
	s.hold(m)
	m.Code()
	s.doing = misuse.Operation{}
	m.mu.Unlock()
	s.run.watch.Beat()
}

// Context is what functions of the strand are called with.
func (s *Strand) Context() context.Context {
	if s.undo {
		// Their time is their own: the end of the handler's context has begun them, perhaps.
		return s.run.life.Lasting()
	}
	return s.run.life.Base
}

// reserve takes the next place and returns its path.
func (s *Strand) reserve() string {
	s.place++
	s.unplaced, s.served = 0, 0
	return s.path()
}

func (s *Strand) path() string { return s.prefix + strconv.Itoa(int(s.place)) }

// enter begins an operation that leaves entries of the given kinds: it returns its path and what
// the journal holds of it. A journal that holds something else ends the run, to wait for a person.
func (s *Strand) enter(m *replayState, name string, kinds ...store.EntryKind) (path string, entries []*store.Entry) {
	path = s.reserve()
	return path, s.at(m, path, name, kinds...)
}

// arrive is enter of an operation that may wait: what was handled while it waited comes first.
func (s *Strand) arrive(m *replayState, name string, kinds ...store.EntryKind) (path string, entries []*store.Entry, err error) {
	path, entries = s.enter(m, name, kinds...)
	return path, entries, s.recall(m)
}

// at returns what the journal holds at a path.
func (s *Strand) at(m *replayState, path, name string, kinds ...store.EntryKind) []*store.Entry {
	entries := m.At(path)
	if len(entries) == 0 {
		s.fresh.Store(true)
		dot := strings.LastIndexByte(path, '.') + 1
		last, some := m.LastPlace(path[:dot])
		if !some { // the journal was empty
			return nil
		}
		if place, err := strconv.Atoi(path[dot:]); err == nil && place <= last {
			s.contradict(m, fmt.Sprintf("the code asks for %s at place %s, where the journal has no entry but continues after it",
				journal.Describe(kinds[0], name), path))
		}
		return nil
	}
	m.visit(path)
	s.run.said.Drop(s)
	for _, e := range entries {
		if !slices.Contains(kinds, e.Kind) || e.Name != name && (journal.IsNamed(e.Kind) || e.Name != "" && name != "") {
			s.contradict(m, fmt.Sprintf("the code asks for %s at place %s, where the journal (entry %d) has %s",
				journal.Describe(kinds[0], name), path, e.Seq, journal.Describe(e.Kind, e.Name)))
		}
	}
	return entries
}

// contradict parks the run for a person, because its code and its journal do not fit.
func (s *Strand) contradict(m *replayState, what string) {
	m.leave(outcome.Contradiction(what))
	m.exit()
}

// Contradict holds the run as one whose code and journal do not fit, for what the strand itself
// does not see.
func (s *Strand) Contradict(what string) error {
	m, err := s.begin("a comparison with the journal", "")
	if err != nil {
		return err
	}
	defer s.end(m)
	s.contradict(m, what)
	return nil
}

// mayBegin returns why no new operation may begin: the run is ending, or its journal is full.
func (s *Strand) mayBegin(m *replayState) error {
	if s.undo {
		return nil
	}
	if m.ending == nil {
		return m.full()
	}
	// The handler's context ends only now: until here the run has rebuilt what it knew.
	s.run.endMain(m.ending)
	return m.ending
}

// roomFor is mayBegin for operations that go on while the run is ending: they fail only if the
// journal is full.
func (s *Strand) roomFor(m *replayState) error {
	if s.undo {
		return nil
	}
	return m.full()
}

// decides is for operations that decide something with an entry, such as which message is received:
// once the end of the run is in the journal, what is not there was not decided before it, and is
// not any more.
func (s *Strand) decides(m *replayState) error {
	if m.Closed == nil {
		return s.roomFor(m)
	}
	return s.mayBegin(m)
}

// await waits until ready is true, and returns nil then. While no strand of the run does anything
// else the run is parked: the goroutine ends here, and the handler is called again when what is
// waited for is there. An error is why the run is ending.
//
// Who waits for another strand does not give up before that has: it is the one that knows how far
// the journal goes.
func (s *Strand) await(m *replayState, ready func() bool, what func() blocked.On) error {
	for {
		if m.exiting {
			m.exit()
		}
		if s.fault.err != nil {
			return s.fault.err
		}
		if err := s.serve(m); err != nil {
			return err
		}
		if ready() {
			return nil
		}
		p := what()
		s.listen(m, &p)
		if m.ending != nil && (!p.Strand || m.active == 1 && !m.MayMeet() || m.hopeless) {
			if err := s.mayBegin(m); err != nil {
				return err
			}
		}
		if m.Requests.HasAnswers() { // of another strand's, or of requests that were answered before
			m.flush()
			continue
		}
		s.block(m, p)
	}
}

// unlocked calls f without the state's lock.
func unlocked[T any](m *replayState, f func() (T, error)) (T, error) {
	m.mu.Unlock()
	defer m.mu.Lock() // also if f panics
	return f()
}

// block makes the strand wait until it is woken.
func (s *Strand) block(m *replayState, on blocked.On) {
	m.settled()
	b := &block{on: on, wake: make(chan struct{}, 1)}
	memory.Put(&m.blocked, s, b)
	m.active--
	if m.active == 0 {
		m.idle()
	}
	m.mu.Unlock()
	<-b.wake
	m.mu.Lock()
}
