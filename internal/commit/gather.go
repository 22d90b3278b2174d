package commit

import (
	"runtime"
	"time"
)

const (
	// dryYields is after how many yields that brought nothing nobody else is expected; about 10 µs if there is nothing else to run.
	dryYields = 64
	// gatherFor bounds how long a commit waits for company.
	gatherFor = 300 * time.Microsecond
	// gatherEnough is from how many operations on more of them make none cheaper.
	gatherEnough = 256
	// gatherShare bounds what it takes where a yield is long, because the processors are busy: one part in so many.
	gatherShare = 10
)

// gatherer lets those go on whom a commit has answered before the next one begins: what they want next is then in it, instead of in the one
// after. Of callers who each wait for one write after the other only half would be in each commit otherwise, as those who were answered
// come a moment too late for the next. It yields and does not sleep, so that a lone writer loses nothing: it is over when nobody comes.
type gatherer struct{ notBefore time.Time }

// gather waits until as many operations more than now are in line as were answered, or until no more come.
func (g *gatherer) gather(l *lane, answered int) {
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
