package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
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

// TestBenchFlags: each wrong value is named.
func TestBenchFlags(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(f *benchFlags){
		"<nil>":                                                func(*benchFlags) {},
		"--jobs 0: must be positive":                           func(f *benchFlags) { f.jobs = 0 },
		"--slots -1: must be positive":                         func(f *benchFlags) { f.slots = -1 },
		"--rate 0: must be positive":                           func(f *benchFlags) { f.rate = 0 },
		"--rate 1000001: at most 1000000":                      func(f *benchFlags) { f.rate = 1_000_001 },
		"--seconds 0: must be positive, and at most 86400":     func(f *benchFlags) { f.seconds = 0 },
		"--seconds NaN: must be positive, and at most 86400":   func(f *benchFlags) { f.seconds = math.NaN() },
		"--seconds +Inf: must be positive, and at most 86400":  func(f *benchFlags) { f.seconds = math.Inf(1) },
		"--seconds 1e+09: must be positive, and at most 86400": func(f *benchFlags) { f.seconds = 1e9 },
	} {
		f := benchFlags{jobs: 1, seconds: 86400, rate: 1, slots: 1}
		change(&f)
		if got := fmt.Sprint(f.check()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNoTimeAtAll: whoever is late still measures one job, or one batch.
func TestNoTimeAtAll(t *testing.T) {
	t.Parallel()
	client, err := holdfast.Open(t.Context(), sqlite.File(filepath.Join(t.TempDir(), "jobs.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(t.Context()) }()
	load, err := newBenchLoad(client)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := load.enqueue(t.Context(), 4, 0); err != nil || r.jobs != 4 || len(r.each) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := load.drain(t.Context()); err != nil || r.jobs != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := load.steady(t.Context(), 0); err != nil || r.jobs != benchBatch {
		t.Errorf("%+v, %v", r, err)
	}
}
