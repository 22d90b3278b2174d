package replay

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// linger is how long a wait may be for which a run stays in its slot: parking and coming back take
// about as long.
const linger = 50 * time.Millisecond

// leave ends the run's goroutines, each at its next operation or in the wait that it is in.
func (m *replayState) leave(o *store.Outcome) {
	if m.exiting {
		return
	}
	m.exiting, m.outcome = true, o
	m.run.seeCancel(m.ending)
	m.strandEnded.Broadcast()
	m.wakeAll()
}

// leavePaused is leave for a run for which a pause was requested. It gives its job back: the store
// holds it if the request still stands, and lets it go on at once if that was taken back meanwhile,
// which the run cannot know.
func (m *replayState) leavePaused() {
	if !m.exiting {
		m.pausesHere = true
	}
	m.leave(outcome.Released())
}

// exit ends the calling strand's goroutine: its deferred functions run, and nothing else. The
// unlock of the caller is deferred.
func (m *replayState) exit() {
	m.mu.Unlock()
	defer m.mu.Lock() // for the unlocks that are deferred by the callers
	runtime.Goexit()
}

// wakeAll lets every strand that waits look again.
func (m *replayState) wakeAll() {
	for s, b := range m.blocked {
		m.wake(s, b)
	}
}

func (m *replayState) wake(s *Strand, b *block) {
	delete(m.blocked, s)
	m.active++
	b.wake <- struct{}{}
}

// pauses reports whether the run stops for a pause: one that is being cancelled goes on until it
// is.
func (m *replayState) pauses() bool { return m.held && !errors.Is(m.ending, usercode.ErrCancelled) }

// hold makes the run pause at its next operation, or now if all of it waits.
func (m *replayState) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
	if m.active == 0 {
		m.idle()
	}
}

// idle is called when every strand waits: it lets a moment pass if that is all that is needed, and
// parks the run otherwise.
func (m *replayState) idle() {
	if m.exiting || len(m.blocked) == 0 {
		return
	}
	if m.ending == nil && m.endsBecauseOf(context.Cause(m.run.life.Base)) {
		return // it is about to be told
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
	if what := m.missed(); what != "" {
		m.leave(outcome.Contradiction(what))
		return
	}
	var on []blocked.On
	for _, b := range m.blocked {
		on = append(on, b.on)
	}
	if what := blocked.Deadlock(on); what != "" {
		m.deadlocked(what)
		return
	}
	w := blocked.Wait(on)
	w.Seen, w.SeenUpdate = m.Seen(), m.Requests.Seen()
	if !w.Until.IsZero() {
		if left := w.Until.Sub(m.run.host.Now()); left <= linger {
			m.lingering = time.AfterFunc(max(left, 0), func() {
				defer m.run.host.Catch("a short wait")
				m.mu.Lock()
				defer m.mu.Unlock()
				if m.Requests != nil {
					m.Requests.Stale = true // the run would have been told as it parks
				}
				m.wakeAll()
			})
			return
		}
	}
	m.leave(&store.Outcome{State: store.Waiting, Wait: w})
}

// deadlocked makes the waits of strands misuses that wait for each other alone.
func (m *replayState) deadlocked(what string) {
	for s := range m.blocked {
		if s.fault.err == nil {
			s.fault.err = s.misuse("its functions wait for each other and for nothing else, so that none would ever return: they wait for %s", what)
		}
	}
	m.wakeAll()
}
