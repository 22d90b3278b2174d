package commit

import (
	"runtime"
	"time"
)

const (
	// dryYields is after how many yields without a new operation no more are expected; about 10 µs if there is nothing else to run.
	dryYields = 64
	// gatherFor bounds how long a commit is delayed.
	gatherFor = 300 * time.Microsecond
	// gatherEnough is from how many operations on more of them make none cheaper.
	gatherEnough = 256
	// gatherShare bounds what it takes where a yield is long, because the processors are busy: one part in so many.
	gatherShare = 10
)

// commitDelay waits up to 300 µs before a group commit, so that the callers that the last one has
// answered can join it with their next write. Without it, of callers that write one thing after the
// other only half would be in each commit: those that were just answered come a moment too late. It
// yields and does not sleep, and ends when no more operations arrive, so a lone writer loses nothing.
type commitDelay struct{ notBefore time.Time }

// wait waits until as many operations more than now are in line as were answered, or until no more come.
func (g *commitDelay) wait(l *lane, answered int) {
	began := time.Now() //nolint:forbidigo // what the processors do takes real time
	if answered == 0 || began.Before(g.notBefore) {
		return
	}
	n := l.length()
	target := min(n+answered, gatherEnough)
	for dry := 0; n < target && dry < dryYields; {
		runtime.Gosched()
		if now := l.length(); now != n {
			n, dry = now, 0
			continue
		}
		dry++
		if took := time.Since(began); took > gatherFor { //nolint:forbidigo // as above
			g.notBefore = began.Add(gatherShare * took)
			return
		}
	}
}
