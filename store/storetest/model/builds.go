package model

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// builds are those of nodes, of those that are known.
func (s *Store) builds(nodes []int64) map[int64]store.Build {
	known := map[int64]store.Build{}
	for _, id := range nodes {
		if n := s.nodes[id]; n != nil && !s.blank[id] {
			known[id] = n.Info.Build()
		}
	}
	return known
}

// forgetBuilds forgets by which programs nodes have run that ended long ago.
func (s *Store) forgetBuilds(base store.Retention, now time.Time) {
	longest := base
	longer := func(than *time.Duration, d time.Duration) {
		if d <= 0 || *than > 0 && *than < d {
			*than = max(d, 0)
		}
	}
	for _, q := range s.queues {
		if c, known := s.classes[q.Attempts.Retention]; known {
			own := c.In(base)
			longer(&longest.Completed, own.Completed)
			longer(&longest.Failed, own.Failed)
			longer(&longest.Cancelled, own.Cancelled)
		}
	}
	for id := range s.gone {
		if now.Sub(s.nodes[id].DeadAt) > store.KeepBuilds(longest) {
			s.blank[id] = true
		}
	}
}
