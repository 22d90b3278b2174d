package simulate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
	"github.com/holdfastdev/holdfast/store/storetest/simulate"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// fixedSeed is the first seed of what runs for each commit.
const fixedSeed = 1

// The surveys list jobs by the buckets of their lanes: no job may be missing there.
func TestMain(m *testing.M) {
	lists.Dense = 0
	os.Exit(m.Run())
}

func openModel(clock func() time.Time) (store.Store, error) { return model.New(clock), nil }

func openSQLite(clock func() time.Time) (store.Store, error) {
	source := sqlite.File(sqlite.Memory)
	source.Clock, source.Synchronous = clock, sqlite.Normal // what a sync adds is not the subject
	return source.Open(context.Background())
}

// On SQLite a step costs twenty times as much, and more than it to look at what became of it.
var (
	onModel  = simulate.Simulation{Open: openModel, Survey: 50, Shrinking: 2_000_000}
	onSQLite = simulate.Simulation{Open: openSQLite, Look: 4, Survey: 200, Shrinking: 100_000}
	onTwo    = simulate.Simulation{Open: openTwo, Look: 4, Survey: 200, Shrinking: 100_000}
)

// TestFoundBefore replays what has failed once.
func TestFoundBefore(t *testing.T) {
	files, err := filepath.Glob("testdata/*.steps")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := simulate.ParseSteps(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []simulate.Simulation{onModel, onSQLite, onTwo} {
			report, err := s.Replay(t.Context(), steps)
			if err != nil || report.Failure != nil {
				t.Errorf("%s: %+v, %v", file, report.Failure, err)
			}
		}
	}
}

func TestOnModel(t *testing.T) { hunt(t, onModel, fixedSeed, 45_000, 500) }

func TestOnSQLite(t *testing.T) { hunt(t, onSQLite, fixedSeed, 4_000, 2500) }

// TestOnTwo does so with two stores on one file.
func TestOnTwo(t *testing.T) { hunt(t, onTwo, fixedSeed, 1_000, 2500) }

// hunt simulates clusters of so many steps each, one for each seed.
func hunt(t *testing.T, s simulate.Simulation, seed uint64, total, each int) {
	t.Helper()
	begin := time.Now()
	steps, calls := 0, 0
	for ; steps < total; seed++ {
		report, find, err := s.Hunt(t.Context(), seed, min(each, total-steps))
		if err != nil {
			t.Fatal(err)
		}
		if find != nil {
			t.Fatalf("%v\nKeep the steps that are needed in a file of testdata.", find)
		}
		steps += report.Steps
		calls += report.Calls
	}
	t.Logf("%d steps, %d calls, %.0f steps a second", steps, calls, float64(steps)/time.Since(begin).Seconds())
}

// TestSameSeedSameTrace holds two replays of the same steps against each other: what was seen, and
// what was done.
func TestSameSeedSameTrace(t *testing.T) {
	for name, s := range map[string]simulate.Simulation{"model": onModel, "SQLite": onSQLite, "two": onTwo} {
		t.Run(name, func(t *testing.T) {
			var stories [2][]string
			var digests [2]uint64
			for i := range stories {
				s.Told = func(format string, args ...any) { stories[i] = append(stories[i], fmt.Sprintf(format, args...)) }
				report, err := s.Replay(t.Context(), simulate.Draw(fixedSeed, 700))
				if err != nil || report.Failure != nil {
					t.Fatalf("%+v, %v", report.Failure, err)
				}
				digests[i] = report.Digest
			}
			for i, line := range stories[0] {
				if i >= len(stories[1]) || line != stories[1][i] {
					t.Fatalf("line %d is %q first, and then %q", i, line, stories[1][min(i, len(stories[1])-1)])
				}
			}
			if len(stories[0]) < 700 || len(stories[0]) != len(stories[1]) || digests[0] != digests[1] {
				t.Errorf("%d and %d lines, digests %x", len(stories[0]), len(stories[1]), digests)
			}
		})
	}
}

func TestStepsAreText(t *testing.T) {
	steps := simulate.Draw(7, 500)
	text := []string{"# drawn", ""}
	for _, step := range steps {
		text = append(text, step.String()+" # so")
	}
	read, err := simulate.ParseSteps(strings.Join(text, "\n"))
	if err != nil || !slices.Equal(read, steps) {
		t.Errorf("%d steps are read as %d, %v", len(steps), len(read), err)
	}
	for _, bad := range []string{"dance 1", "claim", "claim x", "claim 1 maybe"} {
		if _, err := simulate.ParseSteps(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestShrink looks for three steps among many that fail together only, and in this order.
func TestShrink(t *testing.T) {
	steps := simulate.Draw(3, 300)
	needed := []simulate.Step{steps[17], steps[18], steps[290]}
	replays := 0
	fails := func(some []simulate.Step) bool {
		replays++
		left := needed
		for _, step := range some {
			if len(left) > 0 && step == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0
	}
	if got := play.Shrink(steps, 1_000_000, fails); !slices.Equal(got, needed) {
		t.Errorf("%d steps are left after %d replays: %v", len(got), replays, got)
	}
	if replays > 150 {
		t.Errorf("it took %d replays", replays)
	}
	if got := play.Shrink(steps, 0, fails); len(got) != len(steps) {
		t.Errorf("without a budget %d steps are left", len(got))
	}
}
