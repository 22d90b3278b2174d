package tally

import (
	"maps"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// stored is a store of parts: a part replaces what has its key.
type stored map[key]*Set

// key is that of a part.
type key struct {
	Namespace string
	Minute    time.Time
	Node      int64
	Number    int64
}

func (s stored) write(parts []Part) {
	for _, p := range parts {
		s[key{p.Namespace, p.Minute, p.Node, p.Number}] = p.Set
	}
}

func (s stored) count(thing int) (n uint64) {
	for _, set := range s {
		for _, name := range set.Names() {
			n += set.Of(name).Counts[thing]
		}
	}
	return n
}

// TestEachMinuteIsAPart: parts are those of their minutes, and are told once they have changed.
func TestEachMinuteIsAPart(t *testing.T) {
	t.Parallel()
	var r Recorder
	r.Joined(7)
	kept := stored{}
	take := func(at time.Time, want int) {
		t.Helper()
		parts := r.Take(at, "a", nil, 10)
		if len(parts) != want {
			t.Fatalf("at %v: %d parts, want %d: %+v", at, len(parts), want, parts)
		}
		kept.write(parts)
		r.Written(parts)
	}
	take(noon, 1) // a node that does nothing says so once a minute
	take(noon.Add(time.Second), 0)
	r.Start(noon.Add(2*time.Second), "a", "q", "k", time.Second)
	r.Start(noon.Add(3*time.Second), "b", "q", "k", time.Second)
	take(noon.Add(5*time.Second), 2)
	r.End(noon.Add(59*time.Second), "a", "q", "k", Completed, time.Second)
	take(noon.Add(61*time.Second), 2) // the end of the last one, and the next one
	take(noon.Add(62*time.Second), 0)
	if len(r.parts) != 1 {
		t.Errorf("%d parts are remembered", len(r.parts))
	}
	if len(kept) != 3 || kept.count(Started) != 2 || kept.count(Completed) != 1 {
		t.Errorf("%+v", kept)
	}
	for p := range kept {
		if p.Node != 7 || p.Minute != noon && p.Minute != noon.Add(time.Minute) {
			t.Errorf("%+v", p)
		}
	}
}

// TestAClockThatIsSetBack: the same minute again is another part, so that nothing is replaced.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	var r Recorder
	kept := stored{}
	for _, at := range []time.Time{noon, noon.Add(time.Minute), noon, noon.Add(time.Minute)} {
		r.Start(at, "a", "q", "k", 0)
		parts := r.Take(at, "a", nil, 10)
		kept.write(parts)
		r.Written(parts)
	}
	if len(kept) != 4 || kept.count(Started) != 4 {
		t.Errorf("%+v", kept)
	}
}

// TestAnswersThatAreLost: what may have been written is written again as a whole, with what came
// since, under the same key.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	var r Recorder
	kept := stored{}
	for i := range 5 * maxParts { // an outage of days
		at := noon.Add(time.Duration(i) * time.Minute)
		r.Start(at, "a", "q", "k", 0)
		if i%100 == 0 {
			kept.write(r.Take(at, "a", nil, 10)) // and the answer is lost
		}
	}
	if len(r.parts) > maxParts {
		t.Errorf("%d parts are remembered", len(r.parts))
	}
	for {
		parts := r.Take(noon.Add(5*maxParts*time.Minute), "a", nil, 10)
		if len(parts) == 0 {
			break
		}
		kept.write(parts)
		r.Written(parts)
	}
	if n := kept.count(Started); n != 5*maxParts {
		t.Errorf("%d starts are stored, of %d", n, 5*maxParts)
	}
}

// TestManyCount: runs of many goroutines, while what they count is written.
func TestManyCount(t *testing.T) {
	t.Parallel()
	var r Recorder
	kept := stored{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				at := noon.Add(time.Duration(i) * time.Second)
				r.Start(at, "a", "q", "k", time.Millisecond)
				r.End(at, "a", "q", "k", Completed, time.Millisecond)
			}
		})
	}
	write := func() bool {
		parts := r.Take(noon, "a", nil, 10)
		kept.write(parts)
		r.Written(parts)
		return len(parts) > 0
	}
	for range 100 {
		write()
	}
	all.Wait()
	for write() {
	}
	if kept.count(Started) != 8000 || kept.count(Completed) != 8000 {
		t.Errorf("%d starts, %d ends", kept.count(Started), kept.count(Completed))
	}
}

// BenchmarkCount: what a job costs.
func BenchmarkCount(b *testing.B) {
	var r Recorder
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			r.Start(noon, "default", "default", "bench", time.Millisecond)
			r.End(noon, "default", "default", "bench", Completed, time.Millisecond)
		}
	})
}

// TestAnEndIsNotBeforeItsMinute: what ended in a minute that is over, and is told late, counts in
// the current one, whose part is still written.
func TestAnEndIsNotBeforeItsMinute(t *testing.T) {
	t.Parallel()
	var r Recorder
	r.Start(noon.Add(time.Minute), "a", "q", "k", 0)
	r.End(noon.Add(59*time.Second), "a", "q", "k", Completed, 0)
	r.End(noon.Add(2*time.Minute), "a", "q", "other", Completed, 0)
	r.End(noon.Add(time.Minute), "b", "q", "k", Completed, 0)
	kept := stored{}
	kept.write(r.Take(noon.Add(2*time.Minute), "a", nil, 10))
	want := map[time.Time]uint64{noon.Add(time.Minute): 1, noon.Add(2 * time.Minute): 2}
	got := map[time.Time]uint64{}
	for p, set := range kept {
		for _, name := range set.Names() {
			got[p.Minute] += set.Of(name).Counts[Completed]
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("ends by the minute: %v, want %v", got, want)
	}
}
