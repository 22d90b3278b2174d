package replay

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Strand is one line of control of a durable run: the handler itself, a function that it started with Go, a
// compensation. Its operations are numbered in their order, which is how they are found again in the journal; so what
// two strands do at the same time never mixes. A strand is used by one goroutine.
type Strand struct {
	run    *Run
	prefix string // of the paths of its operations: "" or "3."
	place  int    // of the last operation
	undos  int    // compensations registered

	// What tells a misuse, see misuseError. The memory's lock is held for all but over.
	doing   operation   // what is under way
	fault   *fault      // of the strands that fail together
	over    atomic.Bool // its function has returned
	misused bool        // while something was under way: that is not remembered

	undo bool // it compensates, and so goes on while the run is ending
}

// Main returns the strand of the handler itself.
func (r *Run) Main() *Strand { return &r.main }

// pause is what a strand waits for.
type pause struct {
	until    time.Time // zero: no time limit
	kinds    store.MessageSet
	count    int64
	failures bool
	strand   bool   // another strand may end it
	what     string // for people, such as "signal approved"
}

// endsWithin reports whether only another strand of the run can end it.
func (p *pause) endsWithin() bool {
	return p.strand && p.until.IsZero() && p.kinds == 0 && p.count == 0 && !p.failures
}

// begin begins an operation, which lasts until end, and returns the run's memory, locked. If the
// run is over for this process the goroutine ends here.
func (s *Strand) begin(verb, name string) (*memory, error) {
	begins := operation{verb, name}
	if s.over.Load() {
		return nil, s.tooLate(begins)
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
	if m.pauses() && !m.exiting {
		m.leavePaused()
	}
	if m.exiting {
		m.mu.Unlock()
		runtime.Goexit()
	}
	s.doing = begins
	return m, nil
}

// end ends an operation and unlocks the memory. It is deferred: an operation may end by a panic or
// by runtime.Goexit, and what is deferred by the code around it may begin another.
func (s *Strand) end(m *memory) {
	s.doing = operation{}
	m.mu.Unlock()
}

// reserve takes the next place and returns its path.
func (s *Strand) reserve() string {
	s.place++
	return s.prefix + strconv.Itoa(s.place)
}

// enter begins an operation that leaves entries of the given kinds: it returns its path and what the journal holds of it. A journal that
// holds something else ends the run, to wait for a person.
func (s *Strand) enter(m *memory, name string, kinds ...store.EntryKind) (path string, entries []*store.Entry) {
	path = s.reserve()
	return path, s.at(m, path, name, kinds...)
}

// at returns what the journal holds at a path.
func (s *Strand) at(m *memory, path, name string, kinds ...store.EntryKind) []*store.Entry {
	entries := m.byPath[path]
	if len(entries) == 0 {
		if len(m.last) == 0 { // the journal was empty
			return nil
		}
		dot := strings.LastIndexByte(path, '.') + 1
		place, err := strconv.Atoi(path[dot:])
		if err == nil && place <= m.last[path[:dot]] {
			s.contradict(m, fmt.Sprintf("the code asks for %s at place %s, where the journal has no entry but continues after it",
				describe(kinds[0], name), path))
		}
		return nil
	}
	m.visit(path)
	for _, e := range entries {
		if !slices.Contains(kinds, e.Kind) || e.Name != name && (isNamed(e.Kind) || e.Name != "" && name != "") {
			s.contradict(m, fmt.Sprintf("the code asks for %s at place %s, where the journal (entry %d) has %s",
				describe(kinds[0], name), path, e.Seq, describe(e.Kind, e.Name)))
		}
	}
	return entries
}

// contradict parks the run for a person, because its code and its journal do not fit.
func (s *Strand) contradict(m *memory, what string) {
	m.leave(nondeterminism(what))
	m.exit()
}

// Contradict holds the run as one whose code and journal do not fit, for what the strand itself does not see.
func (s *Strand) Contradict(what string) error {
	m, err := s.begin("a comparison with the journal", "")
	if err != nil {
		return err
	}
	defer s.end(m)
	s.contradict(m, what)
	return nil
}

func nondeterminism(what string) *store.Outcome {
	text := what + "; deploy code that fits and resume the job (job resume), or fork the run from an earlier step (job fork --from)"
	return &store.Outcome{
		State: store.Waiting, Reason: store.ReasonNondeterminism, Error: usercode.CutError(text), Wait: &store.Wait{Held: true},
	}
}

// open reports whether a new operation may begin: not if the run is ending.
func (s *Strand) open(m *memory) error {
	if s.undo {
		return nil
	}
	if m.ending == nil {
		return m.full()
	}
	// Its context ends only now: until here the run has rebuilt what it knew.
	s.run.endMain(m.ending)
	return m.ending
}

// roomFor is open for operations that go on while the run is ending: they fail only if the journal is full.
func (s *Strand) roomFor(m *memory) error {
	if s.undo {
		return nil
	}
	return m.full()
}

// decides is for operations that decide something with an entry, such as which message is received: once the end of the run is in the
// journal, what is not there was not decided before it, and is not any more.
func (s *Strand) decides(m *memory) error {
	if m.closed == nil {
		return s.roomFor(m)
	}
	return s.open(m)
}

// await waits until ready is true, and returns nil then. While no strand of the run does anything else the run is
// parked: the goroutine ends here, and the handler is called again when what is waited for is there. An error is why
// the run is ending.
//
// Who waits for another strand does not give up before that has: it is the one that knows how far the journal goes.
func (s *Strand) await(m *memory, ready func() bool, what func() pause) error {
	for {
		if m.exiting {
			m.exit()
		}
		if s.fault.err != nil {
			return s.fault.err
		}
		if ready() {
			return nil
		}
		p := what()
		if m.ending != nil && (!p.strand || m.active == 1 || m.hopeless) {
			if err := s.open(m); err != nil {
				return err
			}
		}
		b := &block{pause: p, wake: make(chan struct{}, 1)}
		put(&m.blocked, s, b)
		m.active--
		if m.active == 0 {
			m.idle()
		}
		m.mu.Unlock()
		<-b.wake
		m.mu.Lock()
	}
}

// wakeAll lets every strand that waits look again.
func (m *memory) wakeAll() {
	for s, b := range m.blocked {
		delete(m.blocked, s)
		m.active++
		b.wake <- struct{}{}
	}
}

// idle is called when every strand waits: it lets a moment pass if that is all that is needed, and parks the run otherwise.
func (m *memory) idle() {
	if m.exiting || len(m.blocked) == 0 {
		return
	}
	switch {
	case m.pauses():
		m.leavePaused()
		return
	case m.ending != nil && !m.hopeless && !m.run.undoing.Load():
		m.hopeless = true
		m.wakeAll()
		return
	}
	if m.deadlocked() {
		return
	}
	w := &store.Wait{Seen: m.seen()}
	var what []string
	for _, b := range m.blocked {
		p := b.pause
		if !p.until.IsZero() && (w.Until.IsZero() || p.until.Before(w.Until)) {
			w.Until = p.until
		}
		w.Kinds |= p.kinds
		w.Failures = w.Failures || p.failures
		if p.count > 0 && (w.Count == 0 || p.count < w.Count) {
			w.Count = p.count
		}
		what = append(what, p.what)
	}
	if !w.Until.IsZero() {
		if left := w.Until.Sub(m.run.host.Now()); left <= linger {
			m.lingering = time.AfterFunc(max(left, 0), func() {
				defer m.run.host.Catch("a short wait")
				m.mu.Lock()
				defer m.mu.Unlock()
				m.wakeAll()
			})
			return
		}
	}
	slices.Sort(what)
	w.For = waitText(what)
	m.leave(&store.Outcome{State: store.Waiting, Wait: w})
}

// deadlocked reports whether the strands that wait, wait for each other alone: nothing would ever wake the run. Then the waits are
// misuses.
func (m *memory) deadlocked() bool {
	var what []string
	for _, b := range m.blocked {
		if !b.pause.endsWithin() {
			return false
		}
		what = append(what, b.pause.what)
	}
	slices.Sort(what)
	for s := range m.blocked {
		if s.fault.err == nil {
			s.fault.err = s.misuse("its functions wait for each other and for nothing else, so that none would ever return: they wait for %s",
				strings.Join(what, "; "))
		}
	}
	m.wakeAll()
	return true
}

// Go runs f as a strand of its own, in a goroutine of its own. The future is done when f has returned.
func (s *Strand) Go(name string, f func(*Strand) (any, error)) (*Future, error) {
	m, err := s.begin("holdfast.Go", name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	future := &Future{run: s.run, name: name}
	strand := &Strand{run: s.run, prefix: path + ".", undo: s.undo, fault: s.fault}
	m.active++
	m.strands++
	go strand.carry(m, future, f)
	return future, nil
}

func (s *Strand) carry(m *memory, future *Future, f func(*Strand) (any, error)) {
	defer s.run.host.Catch("a strand")
	defer func() {
		var failure *usercode.PanicError
		if p := recover(); p != nil {
			failure = usercode.PanicOf(p)
		}
		s.over.Store(true)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.active--
		m.strands--
		m.strandEnded.Broadcast()
		if failure != nil {
			future.err, future.done = failure, true
			m.panicked(future)
		}
		switch {
		case m.exiting:
		case !future.done:
			future.err, future.done = errGoexit, true
			fallthrough
		default:
			m.wakeAll()
			if m.active == 0 {
				m.idle()
			}
		}
	}()
	value, err := f(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	future.value, future.err, future.done = value, err, true
}

// Future is the result of a strand, once it has returned.
type Future struct {
	run   *Run
	name  string
	done  bool
	value any
	err   error
}

// Await waits for a future.
func (s *Strand) Await(f *Future) (any, error) {
	m, err := s.begin("Future.Await", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	if err := s.own(m, f); err != nil {
		return nil, err
	}
	if err := s.await(m, func() bool { return f.done }, func() pause { return f.pause(m) }); err != nil {
		return nil, err
	}
	if p := f.panic(); p != nil {
		m.abandoned = slices.DeleteFunc(m.abandoned, func(one *Future) bool { return one == f })
		panic(p)
	}
	return f.value, f.err
}

// errGoexit is the error of a strand whose goroutine ended without returning.
var errGoexit = errors.New("holdfast: the strand ended its goroutine (runtime.Goexit)")

func isNamed(k store.EntryKind) bool {
	switch k {
	case store.EntryStep, store.EntryStepFailed, store.EntryStepRetry, store.EntryChild, store.EntryPublished, store.EntryStreamed:
		return true
	default:
		return false
	}
}

// kindNames are for messages.
var kindNames = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step", store.EntryStepRetry: "step", store.EntryTimer: "a timer",
	store.EntryTimeout: "a time limit", store.EntryReceived: "a wait for a message", store.EntryChild: "child",
	store.EntryCallback: "a callback",
	store.EntrySelected: "a choice", store.EntryValue: "a value", store.EntryPublished: "published key", store.EntryStreamed: "item of stream",
	store.EntryCompensated: "a compensation",
}

func describe(k store.EntryKind, name string) string {
	text := kindNames[k]
	if text == "" {
		text = fmt.Sprintf("entry of kind %d", k)
	}
	if isNamed(k) || name != "" && k != store.EntryCallback {
		text += " " + strconv.Quote(name)
	}
	return text
}
