package remote

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// clockLife is how long a time of the server counts before it is asked for again.
	clockLife = time.Minute
	// clockJump is how far the two clocks of this machine may part, of which one stands while it
	// sleeps, before the server is asked again.
	clockJump = time.Second
)

// clock knows what the server's clock says.
type clock struct {
	asking atomic.Bool

	mu    sync.Mutex
	there time.Time     // of the server
	here  time.Time     // when that was, by both clocks of this machine
	error time.Duration // by how much it may be wrong
}

// heard takes the time of an answer, which is that of a moment between two others: their middle. It
// reports whether the answer has one, as those of servers have.
func (c *clock) heard(out any, began, ended time.Time) bool {
	there, _ := reflect.TypeAssert[time.Time](reflect.ValueOf(out).Elem().FieldByName("Now"))
	if there.IsZero() {
		return false
	}
	wrong := ended.Sub(began) / 2
	here := began.Add(wrong)
	c.mu.Lock()
	defer c.mu.Unlock()
	off := there.Sub(c.there.Add(here.Sub(c.here))).Abs()
	if wrong <= c.error || c.isOld(here) || off > wrong+c.error {
		c.there, c.here, c.error = there, here, wrong
	}
	return true
}

// isOld reports whether the time is to be asked for. c.mu is held.
func (c *clock) isOld(now time.Time) bool {
	byOne := now.Sub(c.here)
	byOther := now.Round(0).Sub(c.here.Round(0))
	return byOne > clockLife || (byOther-byOne).Abs() > clockJump
}

// now is what the server's clock says, and whether it is time to ask.
func (c *clock) now() (at time.Time, old bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.there.Add(now.Sub(c.here)), c.isOld(now)
}

// Now implements store.Store: the server's clock, as far as it is known here.
func (s *Store) Now() time.Time {
	if s.fixed != nil {
		return s.fixed()
	}
	at, old := s.clock.now()
	if old && s.clock.asking.CompareAndSwap(false, true) && !s.begin(s.askTime) {
		s.clock.asking.Store(false) // it is closed
	}
	return at
}

// askTime asks for the time.
func (s *Store) askTime() {
	defer s.clock.asking.Store(false)
	ctx, cancel := context.WithTimeout(s.life, store.CallTimeout)
	defer cancel()
	if _, err := s.hello(ctx); err != nil {
		sleep(ctx, time.Second) // and then it is asked again
	}
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
