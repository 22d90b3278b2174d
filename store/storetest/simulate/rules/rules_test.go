package rules_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/rules"
)

// fixedSeed is the first seed of what runs for each commit.
const fixedSeed = 1

func openModel(clock func() time.Time) (store.Store, error) { return model.New(clock), nil }

func openSQLite(clock func() time.Time) (store.Store, error) {
	source := sqlite.File(sqlite.Memory)
	source.Clock, source.Synchronous = clock, sqlite.Normal // what a sync adds is not the subject
	return source.Open(context.Background())
}

var subjects = map[string]rules.Subject{
	"limits": rules.Limits, "keys": rules.Keys, "rests": rules.Rests, "edges": rules.Edges, "batches": rules.Batches,
	"fair": rules.Fair, "together": rules.Together,
}

func TestOnModel(t *testing.T) { huntAll(t, openModel, fixedSeed, 800, 500_000) }

func TestOnSQLite(t *testing.T) { huntAll(t, openSQLite, fixedSeed, 200, 40_000) }

// huntAll simulates clusters of each subject, one for each seed.
func huntAll(t *testing.T, open rules.Open, first uint64, steps, shrinking int) {
	t.Helper()
	const each = 400
	for name, about := range subjects {
		t.Run(name, func(t *testing.T) {
			begin, calls := time.Now(), 0
			game := rules.Game(about, open, shrinking)
			for seed, left := first, steps; left > 0; seed, left = seed+1, left-each {
				report, find, err := game.Hunt(seed, min(each, left))
				if err != nil {
					t.Fatal(err)
				}
				if find != nil {
					t.Fatalf("%v\nKeep the steps that are needed in a file of testdata, which begins with the name of the subject.", find)
				}
				calls += report.Calls
			}
			t.Logf("%d steps, %d calls, %.0f steps a second", steps, calls, float64(steps)/time.Since(begin).Seconds())
		})
	}
}

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
		steps, err := play.ParseSteps(string(text))
		if err != nil {
			t.Fatal(err)
		}
		subject, _, _ := strings.Cut(filepath.Base(file), "-")
		for _, open := range []rules.Open{openModel, openSQLite} {
			report, err := rules.Game(subjects[subject], open, 0).Replay(steps, nil)
			if err != nil || report.Failure != nil {
				t.Errorf("%s: %+v, %v", file, report.Failure, err)
			}
		}
	}
}

// TestSameSeedSameTrace holds replays of the same steps against each other.
func TestSameSeedSameTrace(t *testing.T) {
	for name, open := range map[string]rules.Open{"model": openModel, "SQLite": openSQLite} {
		game := rules.Game(rules.Together, open, 0)
		var digests [2]uint64
		for i := range digests {
			report, err := game.Replay(play.Draw(game.Weights, fixedSeed, 150), nil)
			if err != nil || report.Failure != nil {
				t.Fatalf("%s: %+v, %v", name, report.Failure, err)
			}
			digests[i] = report.Digest
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: the digests are %x", name, digests)
		}
	}
}
