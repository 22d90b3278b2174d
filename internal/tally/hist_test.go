package tally

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantilesAreNear: a percentile differs by at most 1/32 from that of the durations themselves.
func TestQuantilesAreNear(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var h Hist
		n := 1 + r.IntN(400)
		all := make([]time.Duration, n)
		spread := 1 + r.Float64()*28
		for i := range all {
			all[i] = time.Duration(math.Exp(r.Float64()*spread)) * time.Microsecond
			h.Add(all[i])
		}
		slices.Sort(all)
		for _, part := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			want := all[max(int(math.Ceil(part*float64(n))), 1)-1]
			got := h.Quantile(part)
			if off := math.Abs(float64(got-want)) / float64(max(want, 1)); off > 1.0/32 {
				t.Fatalf("of %d the quantile %v is %v, want %v: it is off by %.4f", n, part, got, want, off)
			}
		}
		if h.Longest() != all[n-1] || h.N != uint64(n) {
			t.Fatalf("the longest of %d is %v, want %v", h.N, h.Longest(), all[n-1])
		}
	}
}

// TestBuckets: they follow each other without a gap, and each has its middle in itself.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for b := range buckets {
		if got := bucketOf(middle(b)); got != b {
			t.Fatalf("the middle of bucket %d, %d, is in %d", b, middle(b), got)
		}
	}
	last := 0
	for us := range uint64(1 << 20) {
		if b := bucketOf(us); b != last && b != last+1 {
			t.Fatalf("%d µs are in bucket %d, after %d", us, b, last)
		} else {
			last = b
		}
	}
	if bucketOf(1<<topBits-1) != buckets-1 || bucketOf(math.MaxUint64) != buckets-1 {
		t.Error("the longest are not in the last bucket")
	}
}

// TestLongestDurations: what is longer than the buckets go is told by the longest, and less than 0
// is 0.
func TestLongestDurations(t *testing.T) {
	t.Parallel()
	var h Hist
	for range 10 {
		h.Add(math.MaxInt64)
	}
	h.Add(-time.Hour)
	if h.Longest() != math.MaxInt64/1000*1000 || h.Quantile(0.01) != 0 || h.Quantile(0.5) > h.Longest() {
		t.Errorf("%v, %v, %v", h.Longest(), h.Quantile(0.01), h.Quantile(0.5))
	}
	for range 64 {
		h.Merge(&h)
	}
	if h.Sum != math.MaxUint64 || h.Mean() < 0 {
		t.Errorf("the sum of very many is %d, their mean %v", h.Sum, h.Mean())
	}
	if none := (Hist{}); none.Quantile(0.5) != 0 || none.Mean() != 0 {
		t.Errorf("of none: %v, %v", none.Quantile(0.5), none.Mean())
	}
}

// TestMergeIsExact: what was counted apart and merged is the same as what was counted together.
func TestMergeIsExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var whole, merged Set
		for range 1 + r.IntN(4) {
			var one Set
			for range r.IntN(50) {
				name := Name{string(rune('a' + r.IntN(3))), string(rune('x' + r.IntN(3)))}
				d, thing := time.Duration(r.ExpFloat64()*1e9), r.IntN(Things)
				for _, s := range []*Set{&whole, &one} {
					e := s.Of(name)
					e.Counts[thing]++
					e.Wait.Add(d)
					e.Run.Add(2 * d)
				}
			}
			merged.Merge(&one)
		}
		if a, b := whole.Encode(), merged.Encode(); !slices.Equal(a, b) {
			t.Fatalf("together %x\nmerged   %x", a, b)
		}
	}
}
