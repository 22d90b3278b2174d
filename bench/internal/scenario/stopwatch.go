package scenario

import (
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
)

// stopwatch keeps durations by name, and may be used by many goroutines.
type stopwatch struct {
	mu   sync.Mutex
	took map[string][]time.Duration
}

func newStopwatch() *stopwatch { return &stopwatch{took: map[string][]time.Duration{}} }

func (s *stopwatch) note(name string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took[name] = append(s.took[name], took)
}

// tell adds the percentiles of all names, and the longest of each, to figures.
func (s *stopwatch) tell(into map[string]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, took := range s.took {
		into[name+"_p50_ms"] = figures.Milliseconds(figures.Percentile(took, 0.50))
		into[name+"_p99_ms"] = figures.Milliseconds(figures.Percentile(took, 0.99))
		into[name+"_max_ms"] = figures.Milliseconds(figures.Percentile(took, 1))
	}
}

// all is what was noted under any of the names.
func (s *stopwatch) all(names ...string) (took []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		took = append(took, s.took[name]...)
	}
	return took
}
