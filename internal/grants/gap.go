package grants

import "time"

// Calls take one part in gapShare+1 of the time at the most, so that a node makes few where they
// are slow. After a quiet time some may follow each other at once: a slot that moves takes two or
// three of each node.
const (
	gapShare = 4
	leastGap = time.Millisecond
	mostGap  = 50 * time.Millisecond // after one call
	credit   = 50 * time.Millisecond // of waiting that is not done at once
)

// gap is a leaky bucket: what is in it is how long calls should have been waited for.
type gap struct {
	empty time.Time // when nothing is in it any more
}

// after returns how long to wait after a call that has just ended.
func (g *gap) after(took time.Duration, now time.Time) time.Duration {
	if began := now.Add(-took); g.empty.Before(began) {
		g.empty = began
	}
	g.empty = g.empty.Add(took + min(gapShare*took, mostGap))
	return max(g.empty.Sub(now)-credit, leastGap)
}
