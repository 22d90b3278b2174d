package replay

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// UpdateHandler is what a strand does with the requests of a name.
type UpdateHandler struct {
	Name string
	// Open decodes a request, and validates it unless it was accepted before. It returns what
	// handles the request.
	Open func(data []byte, accepted bool) (func(s *Strand) ([]byte, error), error)
}

// HandleUpdate makes the strand handle the requests of a name, from now on and while it waits. It
// takes no place.
func (s *Strand) HandleUpdate(h *UpdateHandler) error {
	m, err := s.begin("Update.Handle", h.Name)
	if err != nil {
		return err
	}
	defer s.end(m)
	switch {
	case s.undo:
		return s.spoil(m, s.misuse("%s was called in a compensation, which handles no requests; call it in the handler", s.doing))
	case s.handlers[h.Name] != nil:
		return s.spoil(m, s.misuse("%s was called again on the same run; handle the requests of a name in one place", s.doing))
	}
	if m.Requests == nil {
		m.Requests = &memory.Requests{Stale: true}
		m.Code() // it is in no place in which a condition may find it
		err := m.readUpdates()
		m.operate(s)
		if err != nil {
			return err
		}
	}
	memory.Put(&s.handlers, h.Name, h)
	return nil
}

// readUpdates reads the requests that have come since, and leaves the book stale if there are more.
// It lets go of the lock meanwhile.
func (m *replayState) readUpdates() error {
	m.Requests.Stale = false
	after := m.Requests.Seen()
	m.mu.Unlock()
	open, err := m.run.host.Updates(m.run.life.Lasting(), after)
	m.mu.Lock()
	if err != nil || len(open) == store.UpdateBound {
		m.Requests.Stale = true
	}
	if m.exiting {
		m.exit()
	}
	if err != nil {
		return store.About(m.run.claimed.Job.ID, "reading the updates of", err)
	}
	if m.Requests.Receive(open); len(open) > 0 {
		m.wakeAll() // some may be for a strand that waits, and the store wakes no run for what it has seen
	}
	return nil
}

// mayServe reports whether the strand may accept a request now. What the run has done before comes
// first: a request that is accepted has its place after all that the journal holds.
func (s *Strand) mayServe(m *replayState) bool {
	return len(s.handlers) > 0 && !m.IsBehind() && m.ending == nil && m.Closed == nil && !m.pauses() && m.full() == nil
}

// serve handles the requests that have come, one after the other. What waits goes on after them, so
// that the order is the same on every replay.
func (s *Strand) serve(m *replayState) error {
	for s.mayServe(m) {
		u, found := m.Requests.Next(func(name string) bool { return s.handlers[name] != nil })
		switch {
		case found:
			if err := s.accept(m, &u); err != nil {
				return err
			}
		case m.Requests.Stale:
			if err := m.readUpdates(); err != nil {
				return err
			}
		case m.Requests.HasAnswers():
			m.flush()
			m.Requests.Stale = true // more may have come meanwhile
		default:
			return nil
		}
	}
	return nil
}

// listen adds to what a strand waits for that requests may wake it.
func (s *Strand) listen(m *replayState, p *blocked.On) {
	if !s.mayServe(m) {
		return
	}
	p.Kinds |= store.MessagesOf(store.MessageUpdate)
	for name := range s.handlers {
		p.Updates = append(p.Updates, name)
	}
}

// accept validates a request, and handles it if that has no objection.
func (s *Strand) accept(m *replayState, u *store.Update) error {
	h := s.handlers[u.Name]
	data, handle, why := s.validate(m, h, u)
	switch {
	case m.exiting:
		m.exit()
	case s.fault.err != nil:
		return s.fault.err
	case why != "":
		m.Requests.Refuse(*u, why)
		return nil
	}
	m.Requests.Accept(*u)
	path := s.nextRequest()
	data = journal.Encode(journal.Update{Key: u.Key, In: data})
	m.Record(store.Entry{Kind: store.EntryUpdated, Path: path, Name: u.Name, Ref: u.Seq, Data: data})
	s.fresh.Store(true) // requests are accepted where the journal ends
	return s.handle(m, path, u.Key, handle)
}

// validate opens a request without the state's lock, and returns why it is refused, if it is.
func (s *Strand) validate(m *replayState, h *UpdateHandler, u *store.Update) (in []byte, handle func(*Strand) ([]byte, error), why string) {
	m.mu.Unlock()
	defer m.mu.Lock()
	defer func() {
		if p := recover(); p != nil {
			why = usercode.CutError(fmt.Sprintf("panic: %v", p))
		}
	}()
	in, err := journal.Unpack(u.Data, u.Codec)
	if err == nil {
		handle, err = h.Open(in, false)
	}
	if err != nil {
		return nil, nil, said(err)
	}
	return in, handle, ""
}

// said is the text of an error for the caller of a request, which is not empty.
func said(err error) string {
	if text := usercode.ErrorText(err); text != "" {
		return text
	}
	return "an error without text"
}

// handle calls the handler of a request that was accepted, and answers the request. A panic is one
// of the strand.
func (s *Strand) handle(m *replayState, path, key string, f func(*Strand) ([]byte, error)) error {
	s.hold(m)
	if m.exiting {
		m.exit()
	}
	s.served++
	s.inner = &Strand{run: s.run, prefix: path + ".", fault: s.fault}
	s.inner.fresh.Store(s.fresh.Load())
	result, err := s.inner.unlockedHandle(m, f)
	s.inner = nil
	m.ended(context.Cause(s.run.life.Base))
	switch {
	case m.exiting:
		m.exit()
	case s.fault.err != nil:
		return s.fault.err
	case err == nil:
		m.Requests.Done(key, result, "")
	case m.ending != nil, usercode.Is(err, usercode.ErrJournalFull):
		return nil //nolint:nilerr // it was not handled to its end, and is not: so says the end of the run
	default:
		if only, ok := usercode.ForHandlers(err).(usercode.HandlersOnlyError); ok { //nolint:errorlint // it is never wrapped
			return s.spoil(m, s.misuse("%s: the handler of a request returned %s, which only the handler of a kind may return",
				s.doing, string(only)))
		}
		m.Requests.Done(key, nil, said(err))
	}
	if count, bytes := m.Requests.Weight(); count >= memory.MaxAppend || bytes >= memory.MaxAppendBytes {
		m.flush()
	}
	return nil
}

func (s *Strand) unlockedHandle(m *replayState, f func(*Strand) ([]byte, error)) ([]byte, error) {
	m.Code()
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.operate(s) }() // also if f panics
	defer s.over.Store(true)
	return f(s)
}

// waits is the path of the wait under way: "3", or "3+2" for the second wait after place 3 that has
// no place of its own.
func (s *Strand) waits() string {
	if s.unplaced > 0 {
		return s.path() + "+" + strconv.Itoa(int(s.unplaced))
	}
	return s.path()
}

// nextRequest is the path of the next request that is handled in the wait under way, such as "3:1".
func (s *Strand) nextRequest() string { return s.waits() + ":" + strconv.Itoa(int(s.served)+1) }

// arriveUnplaced begins a wait that has no place of its own: what was handled while it waited comes
// first.
func (s *Strand) arriveUnplaced(m *replayState) error {
	s.unplaced++
	s.served = 0
	return s.recall(m)
}

// recall handles the requests again that were handled in the wait which begins.
func (s *Strand) recall(m *replayState) error {
	for m.Accepted {
		path := s.nextRequest()
		entries := m.At(path)
		if len(entries) == 0 {
			return nil
		}
		e := entries[0]
		m.visit(path)
		key, handle := s.reopen(m, e)
		m.Requests.Recall(key)
		if err := s.handle(m, path, key, handle); err != nil {
			return err
		}
	}
	return nil
}

// reopen opens a request that the journal has accepted.
func (s *Strand) reopen(m *replayState, e *store.Entry) (key string, handle func(*Strand) ([]byte, error)) {
	var u journal.Update
	h := s.handlers[e.Name]
	if e.Kind != store.EntryUpdated || h == nil {
		s.contradict(m, fmt.Sprintf("the code has no handler at place %s for %s, which the journal has (entry %d)",
			e.Path, journal.Describe(e.Kind, e.Name), e.Seq))
	}
	err := journal.Decode(e, &u)
	if err == nil {
		handle, err = unlocked(m, func() (func(*Strand) ([]byte, error), error) { return h.Open(u.In, true) })
	}
	if m.exiting {
		m.exit()
	}
	if err != nil {
		s.contradict(m, fmt.Sprintf("the code cannot decode %s at place %s, which the journal has (entry %d): %s",
			journal.Describe(e.Kind, e.Name), e.Path, e.Seq, said(err)))
	}
	return u.Key, handle
}
