package bench

import (
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	durations := []time.Duration{4, 2, 1, 3}
	for percent, want := range map[float64]time.Duration{0: 1, 25: 1, 26: 2, 50: 2, 99: 4, 100: 4} {
		if got := percentile(durations, percent); got != want {
			t.Errorf("%v %%: %d, want %d", percent, got, want)
		}
	}
}
