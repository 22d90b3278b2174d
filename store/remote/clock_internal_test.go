package remote

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
)

// at is an answer that was given at a time.
func at(t time.Time) *wire.Out[wire.None, wire.None] {
	return &wire.Out[wire.None, wire.None]{Now: t}
}

// TestClock: the time is that of the quickest answer of late, and of any that it cannot be true
// beside.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		server := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		answered := func(there time.Time, took time.Duration) {
			began := time.Now()
			time.Sleep(took) //nolint:forbidigo // virtual time
			c.heard(at(there), began, time.Now())
		}
		want := func(what string, want time.Time, wantOld bool) {
			t.Helper()
			if got, old := c.now(); !got.Equal(want) || old != wantOld {
				t.Errorf("%s: %v, %t; not %v, %t", what, got, old, want, wantOld)
			}
		}
		answered(server, 10*time.Millisecond)
		want("an answer", server.Add(5*time.Millisecond), false)
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		want("a second later", server.Add(1005*time.Millisecond), false)
		answered(server.Add(1500*time.Millisecond), time.Second) // from when to when it was is not known
		want("a slow answer", server.Add(2005*time.Millisecond), false)
		answered(server.Add(2006*time.Millisecond), 2*time.Millisecond)
		want("a quick one", server.Add(2007*time.Millisecond), false)
		answered(server.Add(time.Hour), 2*time.Second)
		want("a clock that was set", server.Add(time.Hour+time.Second), false)
		time.Sleep(clockLife + 2*time.Second) //nolint:forbidigo // virtual time
		want("after a minute", server.Add(time.Hour+clockLife+3*time.Second), true)
		answered(server.Add(time.Hour+clockLife+3*time.Second), 0)
		want("when it was asked again", server.Add(time.Hour+clockLife+3*time.Second), false)
	})
}
