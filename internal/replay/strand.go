package replay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
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
	future.value, future.err, future.done = value, err, true
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
