package slots

import (
	"math"
	"time"
)

// may reports whether a job of the queue may take a slot now: there is a free one, and not all that
// are free are kept for other queues. So each queue finds as many slots as are kept for it,
// whenever it has jobs. s.mu is held.
func (s *Slots) may(q *share) bool {
	return s.used < s.size && q.running < q.limit && (q.running < q.min || s.size-s.used > s.unmet)
}

// mayReserve is may for a job of an enqueue in progress, with those that are reserved already.
func (s *Slots) mayReserve(q *share) bool {
	if !s.weighed || q.running+q.reserved < q.min {
		return true
	}
	free := s.size
	for _, r := range s.shares {
		free -= max(r.running+r.reserved, r.min)
	}
	return free > 0
}

// comesFirst reports whether a slot is for the first job in the buffer of one queue rather than for
// that of another: for a queue that has fewer than are kept for it; else for the one that has less
// of the others, by its weight; else for the job that was claimed first.
func (s *Slots) comesFirst(q, other *share) bool {
	if s.weighed {
		if a, b := q.running < q.min, other.running < other.min; a != b {
			return a
		}
		if a, b := (q.above()+1)*other.weight, (other.above()+1)*q.weight; a != b {
			return a < b
		}
	}
	return q.buffer[0].Lease.Before(other.buffer[0].Lease)
}

// above is how many slots it uses that are not kept for it.
func (q *share) above() int { return max(q.running-q.min, 0) }

// shareRooms returns how many jobs of each share may be claimed now, and of all together. s.mu is
// held.
func (s *Slots) shareRooms(now time.Time) (roomOf func(*share) int, most int) {
	if !s.weighed {
		return func(q *share) int { return q.room(now, s.mostAhead()) }, s.room(now)
	}
	rooms := map[*share]int{}
	if s.quiet || s.tooManyAside() {
		return func(*share) int { return 0 }, 0
	}
	free := s.unkept(now)
	for _, likely := range []bool{true, false} { // what those that have jobs leave is for looking at the others
		var those []*share
		var stakes []stake
		for i := range s.shares {
			q := s.shares[(s.turn+i)%len(s.shares)]
			if q.mayHaveJobs() != likely || !s.isInFront(q) {
				continue
			}
			has, room := q.running+q.reserved+len(q.buffer), q.room(now, s.mostAhead())
			rooms[q] = min(max(q.min-has, 0), room)
			those, stakes = append(those, q), append(stakes, stake{q.weight, max(has-q.min, 0), room - rooms[q]})
		}
		for i, n := range fill(free, stakes) {
			rooms[those[i]] += n
			free -= n
		}
	}
	for _, n := range rooms {
		most += n
	}
	return func(q *share) int { return rooms[q] }, most
}

// unkept is how many jobs may be claimed beside those for which slots are kept: for the slots that
// are free and kept for no queue, and as many more as are expected to get one soon.
func (s *Slots) unkept(now time.Time) int {
	free, ahead := s.size, 0
	for _, q := range s.shares {
		uses := q.running + q.reserved
		free -= max(uses, q.min)
		soon := q.pace.ahead(now)
		free -= min(max(len(q.buffer)-max(q.min-uses, 0), 0), max(q.limit-uses, 0)+soon)
		ahead += soon
	}
	return max(free+min(ahead, s.mostAhead()), 0)
}

// stake is how much a queue weighs, how much it holds, and how much more it could use.
type stake struct{ weight, holds, wants int }

// fill divides what is free such that what the stakes hold then is as even, by weight, as it can be
// without taking anything away, and that nothing is left while one of them wants more.
func fill(free int, stakes []stake) []int {
	given := make([]int, len(stakes))
	wanted, high := 0, 0.0
	for _, k := range stakes {
		wanted += k.wants
		high = max(high, float64(k.holds+k.wants)/float64(k.weight))
	}
	if free <= 0 || len(stakes) == 0 {
		return given
	}
	// The level up to which all may be filled.
	low, upTo := 0.0, func(level float64) (sum int) {
		for i, k := range stakes {
			given[i] = min(max(int(level*float64(k.weight))-k.holds, 0), k.wants)
			sum += given[i]
		}
		return sum
	}
	for range 50 {
		if mid := (low + high) / 2; upTo(mid) <= free {
			low = mid
		} else {
			high = mid
		}
	}
	// What is left goes to those that are lowest then.
	for left := min(free, wanted) - upTo(low); left > 0; left-- {
		next, lowest := -1, math.Inf(1)
		for i, k := range stakes {
			if level := float64(k.holds+given[i]+1) / float64(k.weight); given[i] < k.wants && level < lowest {
				next, lowest = i, level
			}
		}
		given[next]++
	}
	return given
}
