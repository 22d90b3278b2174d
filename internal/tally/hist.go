package tally

import (
	"math/bits"
	"slices"
	"time"
)

const (
	// subBits says into how many buckets durations between a power of two and the next are divided:
	// 16.
	subBits = 4
	sub     = 1 << subBits
	// exact is below how many microseconds each has its own bucket.
	exact = 2 * sub
	// topBits bounds durations: longer ones, from 2^44 µs (203 days) on, are in the last bucket.
	topBits = 44
	// buckets is how many there are.
	buckets = exact + (topBits-subBits-1)*sub
)

// Hist is how long things took. The zero value is none of them.
type Hist struct {
	N       uint64 // how many there were
	Sum     uint64 // in microseconds; it stays at the largest number
	Max     uint64 // the longest of them, in microseconds
	buckets []uint64
}

// bucketOf is the bucket of a duration in microseconds.
func bucketOf(us uint64) int {
	if us < exact {
		return int(us)
	}
	if us >= 1<<topBits {
		return buckets - 1
	}
	power := bits.Len64(us) - 1 // of two, 5 or more
	return exact + (power-subBits-1)*sub + int(us>>(power-subBits))&(sub-1)
}

// middle is the middle of a bucket, in microseconds.
func middle(bucket int) uint64 {
	if bucket < exact {
		return uint64(bucket)
	}
	power := (bucket-exact)/sub + subBits + 1
	width := uint64(1) << (power - subBits)
	return (sub+uint64((bucket-exact)%sub))*width + width/2
}

// Add adds a duration; one below 0 counts as 0.
func (h *Hist) Add(d time.Duration) {
	us := uint64(max(d, 0) / time.Microsecond)
	h.put(bucketOf(us), 1)
	h.N++
	h.Sum = sum(h.Sum, us)
	h.Max = max(h.Max, us)
}

// put adds to a bucket. What was never used of the buckets has no memory.
func (h *Hist) put(bucket int, n uint64) {
	if bucket >= len(h.buckets) {
		grown := make([]uint64, min(bucket+sub, buckets))
		copy(grown, h.buckets)
		h.buckets = grown
	}
	h.buckets[bucket] += n
}

// sum is that of two numbers, or the largest there is.
func sum(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 1<<64 - 1
	}
	return s
}

// Merge adds what another one has.
func (h *Hist) Merge(other *Hist) {
	for i, v := range slices.Backward(other.buckets) { // the last first, so that there is room at once
		if n := v; n > 0 {
			h.put(i, n)
		}
	}
	h.N = sum(h.N, other.N)
	h.Sum = sum(h.Sum, other.Sum)
	h.Max = max(h.Max, other.Max)
}

// Quantile is the duration within which a part of them, from 0 to 1, were; 0 if there are none.
func (h *Hist) Quantile(part float64) time.Duration {
	if h.N == 0 {
		return 0
	}
	rank := uint64(part * float64(h.N))
	if float64(rank) < part*float64(h.N) || rank == 0 {
		rank++
	}
	if rank >= h.N {
		return h.Longest()
	}
	var seen uint64
	for i, n := range h.buckets {
		if seen += n; seen >= rank {
			return time.Duration(min(middle(i), h.Max)) * time.Microsecond
		}
	}
	return h.Longest()
}

// Longest is the longest of them.
func (h *Hist) Longest() time.Duration { return micros(h.Max) }

// Mean is how long they took on average; 0 if there are none.
func (h *Hist) Mean() time.Duration {
	if h.N == 0 {
		return 0
	}
	return micros(h.Sum / h.N)
}

// micros is a duration, at most the longest that there is.
func micros(us uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Microsecond)
	return time.Duration(min(us, most)) * time.Microsecond
}
