package slots

import "slices"

// classOf returns the class of a job.
func (s *Slots) classOf(at lane) *class { return s.shareOf(at.queue).classOf(at) }

// divide makes the classes: for each share those that its limits tell apart. What is known of
// jobs that wait is lost, so each may have some.
func (s *Slots) divide() {
	s.classes, s.division = nil, s.division+1
	for _, q := range s.shares {
		q.classes, q.byLane = nil, map[lane]*class{}
		queues := s.queuesApart(q)
		for _, queue := range queues {
			for _, kind := range s.kindsApart(queue) {
				c := &class{share: q, lane: lane{queue, kind}, place: len(s.classes), emptied: never}
				for _, l := range s.limits {
					if weight := l.weightOf(queue, s.kinds[kind]); weight > 0 {
						c.counts = append(c.counts, count{l, weight})
					}
				}
				q.classes, q.byLane[c.lane], s.classes = append(q.classes, c), c, append(s.classes, c)
			}
		}
	}
}

// queuesApart are the queues of a share that limits tell apart, and "" for all others, if it has
// several.
func (s *Slots) queuesApart(q *share) []string {
	if q.queue != "" {
		return []string{q.queue}
	}
	queues, known := []string{""}, map[string]bool{}
	for _, l := range s.limits {
		for _, queue := range l.Queues {
			if !known[queue] {
				known[queue], queues = true, append(queues, queue)
			}
		}
	}
	return queues
}

// kindsApart are the kinds of a queue that limits tell apart, by name, and "" for all others.
func (s *Slots) kindsApart(queue string) []string {
	kinds := []string{""}
	for claimed, kind := range s.kinds {
		for _, l := range s.limits {
			if l.Kinds[kind] > 0 && l.hasQueue(queue) {
				kinds = append(kinds, claimed)
				break
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}
