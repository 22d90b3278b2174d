package gcra_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// TestPermitsKeepTheRate: whoever uses permits when, within the times that they tell, no time has
// more than the burst and what comes in it. The shortest window of those from one permit up to
// another begins at the last use of the first and ends at the first use of the last.
func TestPermitsKeepTheRate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		rate := store.Rate{
			Count: []int{1, 3, 7, 50, 700, 2_000}[random.IntN(6)],
			Per:   []time.Duration{time.Second, 3 * time.Second, time.Minute}[random.IntN(3)],
		}
		rate.Burst = rate.LeastBurst() + random.IntN(4)*random.IntN(10)
		s := gcra.State{Burst: 1}
		now := int64(1_000_000_000)
		s.Become(now, &rate)
		var from, until []time.Duration
		for range 25 {
			p, _ := s.Take(now, &store.PermitAsk{Want: random.IntN(2 * rate.Burst), Ahead: store.PermitAhead * time.Duration(random.IntN(2))})
			for k := range p.Count {
				if p.From(k) > store.PermitAhead || p.Until(k) > store.PermitAhead+store.PermitStays+store.PermitLife ||
					p.Until(k) < p.From(k)+store.PermitLife {
					t.Fatalf("a permit may be used from %v to %v after the call", p.From(k), p.Until(k))
				}
				from, until = append(from, time.Duration(now)*time.Microsecond+p.From(k)), append(until, time.Duration(now)*time.Microsecond+p.Until(k))
			}
			now += random.Int64N(1 + []int64{0, 1000, 30_000, 3_000_000}[random.IntN(4)])
		}
		for i := range from {
			for j := i; j < len(from); j++ {
				window := max(from[j]-until[i], 0)
				if n, most := j-i+1, rate.Burst+int(window/rate.Period()); n > most {
					t.Fatalf("%d permits of %v with a burst of %d may be used in %v, and %d jobs may start", n, &rate, rate.Burst, window, most)
				}
			}
		}
	}
}

// TestAfterAStop: after a rate of 0 permits come one by one, if what was taken or booked before has
// not come back.
func TestAfterAStop(t *testing.T) {
	t.Parallel()
	stopped := store.Rate{Per: time.Second}
	for _, c := range []struct {
		before, after store.Rate
		taken         int
		ahead         time.Duration
	}{
		{store.Rate{Count: 1000, Per: time.Second, Burst: 100}, store.Rate{Count: 1, Per: time.Minute, Burst: 100}, 80, 0},
		{store.Rate{Count: 1, Per: time.Minute, Burst: 1}, store.Rate{Count: 1000, Per: time.Second, Burst: 100}, 10_000, store.MostAhead},
	} {
		s, now := gcra.State{Burst: 1}, int64(1_000_000_000)
		s.Become(now, &c.before)
		if p, _ := s.Take(now, &store.PermitAsk{Want: c.taken, Ahead: c.ahead}); p.Count != c.taken {
			t.Fatalf("of %v %d permits are taken", &c.before, p.Count)
		}
		now += 10_000
		s.Become(now, &stopped)
		if p, _ := s.Take(now, &store.PermitAsk{Want: 1, Ahead: store.MostAhead}); p.Count != 0 {
			t.Errorf("a limit that is stopped gives out %d", p.Count)
		}
		now += 10_000
		s.Become(now, &c.after)
		if p, _ := s.Take(now, &store.PermitAsk{Want: 50}); p.Count != 1 {
			t.Errorf("after a stop %v gives out %d at once", &c.after, p.Count)
		}
		now += 10 * c.after.Period().Microseconds()
		if p, _ := s.Take(now, &store.PermitAsk{Want: 50}); p.Count != 10 {
			t.Errorf("in the time of ten permits %v gives out %d", &c.after, p.Count)
		}
	}
}
