package replay

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// Go runs f as a strand of its own, in a goroutine of its own. The future is done when f has
// returned.
func (s *Strand) Go(name string, f func(*Strand) (any, error)) (*await.Future, error) {
	m, err := s.begin("holdfast.Go", name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	future := &await.Future{Name: name, By: s.run}
	strand := &Strand{run: s.run, prefix: path + ".", undo: s.undo, fault: s.fault}
	strand.fresh.Store(s.fresh.Load())
	m.active++
	m.strands++
	m.join(strand)
	go strand.carry(m, future, f)
	return future, nil
}

func (s *Strand) carry(m *replayState, future *await.Future, f func(*Strand) (any, error)) {
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
			future.Err, future.Done = failure, true
			m.panicked(future)
		}
		switch {
		case m.exiting:
		case !future.Done:
			future.Err, future.Done = errGoexit, true
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
	m.ended(context.Cause(s.run.life.Base))
	future.Value, future.Err, future.Done, future.Late = value, err, true, m.ending != nil
}

// Await waits for a future.
func (s *Strand) Await(f *await.Future) (any, error) {
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
	if err := s.await(m, func() bool { return f.Done }, f.Blocked); err != nil {
		return nil, err
	}
	if p := f.Panic(); p != nil {
		m.abandoned = slices.DeleteFunc(m.abandoned, func(one *await.Future) bool { return one == f })
		panic(p)
	}
	return f.Value, f.Err
}

// errGoexit is the error of a strand whose goroutine ended without returning.
var errGoexit = errors.New("holdfast: the strand ended its goroutine (runtime.Goexit)")

// Main returns the strand of the handler itself.
func (r *Run) Main() *Strand { return &r.main }

// panicked notes the panic of a strand that has not been awaited yet.
func (m *replayState) panicked(f *await.Future) {
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
	return first.Panic()
}

// tellAbandoned logs the panics that will not be awaited any more: the run ends for another reason,
// or is parked.
func (m *replayState) tellAbandoned() {
	for _, f := range m.abandoned {
		p := f.Panic()
		m.run.host.Say(slog.LevelError, "a function started with holdfast.Go panicked, and nobody has awaited it",
			slog.String(logs.KeyStrand, f.Name), slog.Any(logs.KeyError, p), slog.String(logs.KeyStack, usercode.CutTrace(p.Stack)))
	}
	m.abandoned = nil
}

// Replays reports whether the strand repeats what an earlier run of the job has done, as far as it
// has come: it has not asked yet for anything that the journal does not have. What its code does
// between the last entry and the next operation was done by the run that wrote the entry, unless
// that was killed there. In the function of a step nothing is a repetition.
func (s *Strand) Replays() bool { return s.run.claimed.Durable && !s.fresh.Load() }

// undoing is the strand of a compensation. What it does is new, unless the journal has
// some of it.
func (m *replayState) undoing(r *Run, path string) *Strand {
	s := &Strand{run: r, prefix: path + ".", undo: true, fault: &fault{}}
	last, _ := m.LastPlace(s.prefix)
	s.fresh.Store(last == 0)
	return s
}
