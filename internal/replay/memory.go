package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// memory is what a durable run remembers: its journal and its inbox, as they were read when it first asked, and what it has added
// since; and who of its strands goes on and who waits. A run that never asks has none of it.
type memory struct {
	run   *Run
	fault fault // of the handler's strands

	mu      sync.Mutex
	flushed sync.Cond // told when a write of entries has ended

	byPath   map[string][]*store.Entry
	last     map[string]int // of each strand's prefix the highest place that the journal held at the start
	visited  map[string]bool
	messages []store.Message
	unread   bool           // the inbox was not read: it is the first run, which finds no journal, and seldom messages
	taken    map[int64]bool // messages that were received
	answers  map[store.ID]*store.Message
	closed   *store.Entry // the EntryClosing, if the end is decided
	children bool         // there are children that the end of the run may have to close

	stored    int64         // Seq of the last entry in the database
	entries   int64         // how many there are, those to be stored included
	bytes     int64         // what the entries weigh, those to be stored included
	warned    bool          // that they are many
	pending   []store.Entry // what is to be stored with the next write
	enqueues  []*store.Enqueue
	flushing  bool
	unwritten bool    // a write has failed: nobody knows what the journal holds
	tx        *openTx // what is being written is in a transaction of the user's

	abandoned []*Future // strands that have panicked, which nobody has awaited yet
	concluded bool      // nobody will

	strands     int       // goroutines that Go has started and that have not ended
	strandEnded sync.Cond // told when one of them ends, and when the run exits
	active      int       // strands that do not wait
	blocked     map[*Strand]*block
	held        bool           // somebody asked to pause
	pausesHere  bool           // and the run ends because of that
	ending      error          // no further operation begins, because of this
	hopeless    bool           // the run is ending, and all of its strands wait for each other
	exiting     bool           // every strand ends its goroutine at its next operation
	outcome     *store.Outcome // of a run that exits; nil: there is nothing to write
	decided     *store.Outcome // how the run ends when its strands have ended, unless there is something to undo
	undos       []undo         // what OnFailure registered
	randoms     map[string]uint64
	patches     map[string]bool
	lingering   *time.Timer
}

// block is a strand that waits.
type block struct {
	pause pause
	wake  chan struct{}
}

// linger is how long a wait may be for which a run stays in its slot: parking and coming back take about as long.
const linger = 50 * time.Millisecond

// remember returns the run's memory, reading it if this is the first time.
func (r *Run) remember() (*memory, error) {
	r.remembering.Lock()
	defer r.remembering.Unlock()
	if m := r.memory.Load(); m != nil {
		return m, nil
	}
	m := &memory{
		run: r, active: 1,
	}
	m.flushed.L, m.strandEnded.L = &m.mu, &m.mu
	r.main.fault = &m.fault
	if m.unread = r.claimed.Lease.Number == 1 && !r.claimed.Durable; !m.unread {
		journal, err := r.host.Journal(r.life.lasting())
		if err != nil {
			return nil, store.About(r.claimed.Job.ID, "reading the journal of", err)
		}
		m.index(journal)
	}
	m.mu.Lock()
	switch {
	case m.closed != nil:
		m.ending = ErrClosing
	case r.ending != nil:
		m.ending = r.ending
	}
	m.held = r.pausing.Load()
	m.mu.Unlock()
	r.memory.Store(m)
	// What ended before is not told of.
	if r.life.base.Err() != nil {
		go m.toldOf(context.Cause(r.life.base))
	}
	if cause := r.life.Ended(); cause != nil {
		go m.toldOf(cause)
	}
	return m, nil
}

// ErrClosing is what operations return when the end of the run is decided.
var ErrClosing = errors.New("holdfast: the run is ending")

// index makes the journal ready to be asked.
func (m *memory) index(j store.Journal) {
	for i := range j.Entries {
		e := &j.Entries[i]
		m.stored = e.Seq
		m.account(e)
		m.note(e)
		if e.Path == "" {
			continue
		}
		at := strings.LastIndexByte(e.Path, '.') + 1
		if place, err := strconv.Atoi(e.Path[at:]); err == nil {
			put(&m.last, e.Path[:at], max(m.last[e.Path[:at]], place))
		}
	}
	m.received(j.Messages)
}

// received takes the messages in.
func (m *memory) received(messages []store.Message) {
	m.messages = messages
	for i := range messages {
		if msg := &messages[i]; msg.Kind == store.MessageChild {
			put(&m.answers, msg.From, msg)
		}
	}
}

// look reads the inbox if it was not read. It lets go of the lock meanwhile.
func (m *memory) look() error {
	if !m.unread {
		return nil
	}
	return m.refresh()
}

// refresh reads the inbox again. It lets go of the lock meanwhile.
func (m *memory) refresh() error {
	m.mu.Unlock()
	journal, err := m.run.host.Journal(m.run.life.lasting())
	m.mu.Lock()
	if err != nil {
		return store.About(m.run.claimed.Job.ID, "reading the messages to", err)
	}
	m.unread = false
	if len(journal.Messages) > len(m.messages) {
		m.received(journal.Messages)
	}
	return nil
}

// note takes an entry into the index.
func (m *memory) note(e *store.Entry) {
	put(&m.byPath, e.Path, append(m.byPath[e.Path], e))
	switch e.Kind {
	case store.EntryReceived:
		put(&m.taken, e.Ref, true)
	case store.EntryClosing:
		m.closed = e
	case store.EntryPatched:
		put(&m.patches, e.Name, true)
	case store.EntryChild:
		m.children = true
	case store.EntryContinued:
		var c continued
		m.children = m.children || decodeEntry(e, &c) == nil && c.Children
	default: // found by its path
	}
}

// seen is the Seq of the last message that the run knows.
func (m *memory) seen() int64 {
	if n := len(m.messages); n > 0 {
		return m.messages[n-1].Seq
	}
	return 0
}

// add notes an entry that is to be stored with the next write, and may be asked for by this very run.
func (m *memory) add(e store.Entry) { m.remind(m.store(e)) }

// remind makes an entry of this very run known to it.
func (m *memory) remind(e store.Entry) {
	m.note(&e)
	m.visit(e.Path)
}

// store is add for an entry that only later runs ask for.
func (m *memory) store(e store.Entry) store.Entry {
	e.Data, e.Codec = pack(e.Data)
	m.pending = append(m.pending, e)
	m.account(&e)
	return e
}

// visit notes that the code came past a path that the journal holds.
func (m *memory) visit(path string) { put(&m.visited, path, true) }

// put sets a value in a map that is made with its first one: most runs need few of theirs.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// flush stores what is pending, together with children, and returns when that is durable. Strands that flush at the
// same time share a write, and one write follows the other, so that the journal has no gaps. It lets go of the
// lock meanwhile. An error means that the run cannot go on.
func (m *memory) flush() error {
	for m.flushing {
		m.flushed.Wait()
	}
	if m.exiting {
		m.exit()
	}
	for len(m.pending) > 0 || len(m.enqueues) > 0 {
		if err := m.spoiled(m.write()); err != nil {
			return err
		}
		for m.flushing { // another strand's
			m.flushed.Wait()
		}
		if m.exiting {
			m.exit()
		}
	}
	return nil
}

// write stores the first portion of what is pending. Nobody else writes. It lets go of the lock meanwhile.
func (m *memory) write() error {
	a := m.take()
	m.flushing = true
	m.mu.Unlock()
	err := m.run.host.Append(a)
	m.mu.Lock()
	m.written(a, err)
	return err
}

// writeLast is write for a run whose end is decided, and whose life may be over. It lets go of the lock meanwhile.
func (m *memory) writeLast() error {
	a := m.take()
	m.flushing = true
	m.mu.Unlock()
	err := m.run.host.AppendLast(a)
	m.mu.Lock()
	m.written(a, err)
	return err
}

// take makes an append of the first portion of what is pending.
func (m *memory) take() *store.Append {
	entries, enqueues := m.portion()
	a := &store.Append{
		Lease: m.run.claimed.Lease, Entries: m.pending[:entries:entries], Enqueues: m.enqueues[:enqueues:enqueues],
	}
	for i := range a.Entries {
		e := &a.Entries[i]
		e.Seq = m.stored + int64(i) + 1
		a.Closing = a.Closing || e.Kind == store.EntryClosing
	}
	m.pending, m.enqueues = m.pending[entries:], m.enqueues[enqueues:]
	if len(m.pending) == 0 {
		m.pending, m.enqueues = nil, nil
	}
	return a
}

// continued is the data of an EntryContinued.
type continued struct {
	Times    int  `json:"times"`
	Children bool `json:"children,omitempty"` // of an earlier generation, which may be open
}

// times is how often the run has continued as new.
func (m *memory) times() int {
	var c continued
	for _, e := range m.byPath[""] {
		if e.Kind == store.EntryContinued && decodeEntry(e, &c) != nil {
			return 0
		}
	}
	return c.Times
}

// written ends a write.
func (m *memory) written(a *store.Append, err error) {
	m.flushing, m.tx = false, nil
	if err == nil && len(a.Entries) > 0 {
		m.stored = a.Entries[len(a.Entries)-1].Seq
		m.run.claimed.Durable = true
		m.warnIfLong()
	}
	m.flushed.Broadcast()
}

// spoiled ends the run if a write of it failed: whatever went on from there would not be remembered.
func (m *memory) spoiled(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrLeaseLost):
		m.run.Cancel(store.ErrLeaseLost)
		m.leave(nil)
	case m.run.life.Ended() != nil:
		m.leave(&store.Outcome{State: store.Available, Reason: store.ReasonReleased})
	default:
		m.unwritten = true
		// What the run has decided since is lost with the write, so that it cannot go on from there.
		m.leave(m.run.failed(unwritten(m.run.claimed.Job.ID, err)))
	}
	if m.exiting {
		m.exit()
	}
	return m.ending
}

func unwritten(job store.ID, err error) error {
	return store.About(job, "writing the journal of", err)
}

// toldOf is ended for a goroutine of its own.
func (m *memory) toldOf(cause error) {
	defer m.run.host.Catch("the end of a run's context")
	m.ended(cause)
}

// ended reacts to the end of the run's context.
func (m *memory) ended(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case errors.Is(cause, store.ErrLeaseLost):
		m.leave(nil)
	case errors.Is(cause, usercode.ErrShutdown):
		m.leave(&store.Outcome{State: store.Available, Reason: store.ReasonReleased})
	case errors.Is(cause, usercode.ErrCancelled), errors.Is(cause, usercode.ErrTimeout):
		if m.ending == nil {
			m.ending = cause
		}
		m.wakeAll()
	}
}

// leave ends the run's goroutines, each at its next operation or in the wait that it is in.
func (m *memory) leave(o *store.Outcome) {
	if m.exiting {
		return
	}
	m.exiting, m.outcome = true, o
	m.strandEnded.Broadcast()
	m.wakeAll()
}

// leavePaused is leave for a run that somebody asked to pause. It gives its job back: the store holds
// it if the request still stands, and lets it go on at once if somebody has taken that back meanwhile,
// which the run cannot know.
func (m *memory) leavePaused() {
	if !m.exiting {
		m.pausesHere = true
	}
	m.leave(&store.Outcome{State: store.Available, Reason: store.ReasonReleased})
}

// exit ends the calling strand's goroutine: its deferred functions run, and nothing else. The unlock of the caller is deferred.
func (m *memory) exit() {
	m.mu.Unlock()
	defer m.mu.Lock() // for the unlocks that are deferred by the callers
	runtime.Goexit()
}

// hold makes the run pause at its next operation, or now if all of it waits.
func (m *memory) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
	if m.active == 0 {
		m.idle()
	}
}

// pauses reports whether the run stops for a pause: one that is being cancelled goes on until it is.
func (m *memory) pauses() bool { return m.held && !errors.Is(m.ending, usercode.ErrCancelled) }

// final returns what is to be stored together with the outcome, and completes the outcome with what the run knows.
func (m *memory) final(o *store.Outcome) *store.Append {
	m.mu.Lock()
	defer m.mu.Unlock()
	// From now on nobody of the run begins anything.
	m.exiting, m.concluded = true, true
	m.tellAbandoned()
	m.wakeAll()
	if m.lingering != nil {
		m.lingering.Stop()
	}
	over := o.State.Finished() || o.Continue != nil
	if over && m.tx != nil {
		// A strand is in a transaction of the user's still: what it writes comes before the end, or not at all.
		m.run.endMain(ErrClosing)
		defer m.leaveTxLater()()
	}
	for m.flushing && (over || m.tx == nil) {
		m.flushed.Wait()
	}
	o.HasChildren = m.children
	goesOn := over || o.State == store.Waiting || m.pausesHere
	if !goesOn || m.tx != nil {
		m.pending, m.enqueues = m.refusals(o), nil // the rest is decided again next time: nothing went on from there
	}
	if goesOn && !over && len(m.undos) > 0 && m.stored == 0 && len(m.pending) == 0 {
		// A job without a journal would be cancelled without being called.
		m.add(store.Entry{Kind: store.EntryRegistered, Path: "~"})
	}
	if o.Continue != nil {
		o.Continue.Data = encodeEntry(continued{m.times() + 1, m.children})
	}
	// All but the last portion is stored before the outcome.
	for entries, _ := m.portion(); entries < len(m.pending); entries, _ = m.portion() {
		if err := m.writeLast(); err != nil {
			m.pending, m.enqueues = nil, nil
			m.run.endsUnwritten(o, unwritten(m.run.claimed.Job.ID, err))
		}
	}
	var a *store.Append
	if len(m.pending) > 0 || len(m.enqueues) > 0 {
		a = m.take()
	}
	o.Durable, o.InTx = m.stored > 0 || a != nil || m.tx != nil, m.tx != nil
	return a
}

// account counts an entry against what the journal may hold.
func (m *memory) account(e *store.Entry) {
	m.entries++
	m.bytes += weight(e)
}

// IsBehind reports whether the run failed before its code had come past all that the journal holds.
// Then it does not know yet what it would have to undo.
func (r *Run) IsBehind() bool {
	m := r.memory.Load()
	return m != nil && m.unvisited() != ""
}

// unvisited tells of the first entry that a run which has completed did not come past: its code no longer asks for it.
func (m *memory) unvisited() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first *store.Entry
	for path, entries := range m.byPath {
		if path == "" || strings.HasPrefix(path, "~") || m.visited[path] {
			continue
		}
		if e := entries[0]; first == nil || e.Seq < first.Seq {
			first = e
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("the code completed without asking for %s at place %s, which the journal has (entry %d)",
		describe(first.Kind, first.Name), first.Path, first.Seq)
}
