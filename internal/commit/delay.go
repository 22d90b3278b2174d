package commit

import (
	"runtime"
	"time"
)

const (
	// dryYields is the number of yields without a new operation after which none is expected; about
	// 10 µs on an idle machine.
	dryYields = 64
	// gatherFor bounds how long a commit is delayed.
	gatherFor = 300 * time.Microsecond
	// gatherEnough is the number of operations above which more of them make none cheaper.
	gatherEnough = 256
	// gatherShare bounds the delay to one part in ten of the time, for busy processors where a
	// yield is long.
	gatherShare = 10
)

// commitDelay waits up to 300 µs before a group commit, so that the callers that the last one has
// answered can join it with their next write. Without the delay only half of the callers that write
// in a loop would be in each commit, because those just answered come a moment too late. It yields
// and does not sleep, and ends when no more operations arrive, so a lone writer loses nothing.
type commitDelay struct{ notBefore time.Time }

// wait waits until as many operations have arrived as were answered, or until no more come.
func (g *commitDelay) wait(l *backlog, answered int) {
	began := time.Now() //nolint:forbidigo // measures real time
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
