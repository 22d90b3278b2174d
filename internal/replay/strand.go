package replay

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// Go runs f as a strand of its own, in a goroutine of its own. The future is done when f has
// returned.
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
	m.join(strand)
	go strand.carry(m, future, f)
	return future, nil
}

func (s *Strand) carry(m *replayState, future *Future, f func(*Strand) (any, error)) {
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
		m.quit(s)
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
	future.value, future.err, future.done, future.late = value, err, true, m.ending != nil
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
	if err := s.arriveUnplaced(m); err != nil {
		return nil, err
	}
	if err := s.await(m, func() bool { return f.done }, func() blocked.On { return f.pause(m) }); err != nil {
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

func (f *Future) madeBy(r *Run) bool { return f != nil && f.run == r }

func (f *Future) describe() string {
	if f == nil {
		return "a future"
	}
	return fmt.Sprintf("the future of %q", f.name)
}

func (f *Future) ready(*replayState, time.Time) bool { return f.done }

func (f *Future) pause(*replayState) blocked.On {
	return blocked.On{Strand: true, What: "strand " + f.name}
}

// panic is the panic of the strand, or nil.
func (f *Future) panic() *usercode.PanicError {
	p, _ := f.err.(*usercode.PanicError) //nolint:errorlint // it is never wrapped
	return p
}

// Main returns the strand of the handler itself.
func (r *Run) Main() *Strand { return &r.main }

// panicked notes the panic of a strand that has not been awaited yet.
func (m *replayState) panicked(f *Future) {
	m.abandoned = append(m.abandoned, f)
	if m.concluded {
		m.tellAbandoned()
	}
}

// abandonedPanic takes one of the panics that were not awaited: it counts as one of the handler,
// which has returned.
func (m *replayState) abandonedPanic() *usercode.PanicError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.abandoned) == 0 {
		return nil
	}
	first := m.abandoned[0]
	m.abandoned = m.abandoned[1:]
	return first.panic()
}

// tellAbandoned logs the panics that will not be awaited any more: the run ends for another reason,
// or is parked.
func (m *replayState) tellAbandoned() {
	for _, f := range m.abandoned {
		p := f.panic()
		m.run.host.Say(slog.LevelError, "a function started with holdfast.Go panicked, and nobody has awaited it",
			slog.String(logs.KeyStrand, f.name), slog.Any(logs.KeyError, panicText{p}), slog.String(logs.KeyStack, usercode.CutTrace(p.Stack)))
	}
	m.abandoned = nil
}

// panicText is what a panic says. That is the user's code: it is called when the line is written,
// and not with the state's lock.
type panicText struct{ p *usercode.PanicError }

func (t panicText) LogValue() slog.Value { return slog.StringValue(usercode.CutError(t.p.Error())) }
