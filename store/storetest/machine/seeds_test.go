package machine

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// seedsFile has a line for each mistake: the name of its test, a tab, and a seed from which the
// machine drew a sequence that showed it. Such a sequence is found again at once, where a search
// takes up to a minute. A machine that is changed may draw other sequences from it: what shows the
// mistake no more is searched for as if there were no seed.
const seedsFile = "testdata/seeds.txt"

// checksOfSearch is how many sequences each round of a search draws.
const checksOfSearch = 200

var update = flag.Bool("update", false, "search for all mistakes, which takes minutes, and write "+seedsFile)

// searches reports whether the mistakes are searched for whatever the file says.
func searches() bool { return *update || os.Getenv(deepEnv) != "" }

// keptSeeds are seeds by the names of tests.
type keptSeeds struct {
	mu    sync.Mutex
	seeds map[string]uint64
}

var seeds keptSeeds

// read reads the file, and is called before the tests begin.
func (k *keptSeeds) read() error {
	k.seeds = map[string]uint64{}
	if *update {
		return nil // all are searched for anew
	}
	data, err := os.ReadFile(seedsFile)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seed == 0 {
			return fmt.Errorf("%s: the line of %q has no seed", seedsFile, name)
		}
		k.seeds[name] = seed
	}
	return nil
}

// write writes the file, after the tests.
func (k *keptSeeds) write() error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(k.seeds)) {
		fmt.Fprintf(&b, "%s\t%d\n", name, k.seeds[name])
	}
	return os.WriteFile(seedsFile, b.Bytes(), 0o644)
}

func (k *keptSeeds) of(name string) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seeds[name]
}

func (k *keptSeeds) keep(name string, seed uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seeds[name] = seed
}

var seedSaid = regexp.MustCompile(`-rapid\.seed=(\d+)`)

// seedIn returns the seed that rapid names in what it says of a failure, or 0.
func seedIn(said string) uint64 {
	found := seedSaid.FindStringSubmatch(said)
	if found == nil {
		return 0
	}
	seed, err := strconv.ParseUint(found[1], 10, 64)
	if err != nil {
		return 0
	}
	return seed
}

// setting is held from when the flags of rapid are set until they are read.
var setting sync.Mutex

// seeded is rapid.Check with a seed, or 0 for any, and a number of checks. Rapid has flags for
// these, and has read them when it calls the property for the first time.
func seeded(tb rapid.TB, seed uint64, checks int, property func(*rapid.T)) {
	setting.Lock()
	read := sync.OnceFunc(setting.Unlock)
	defer read()
	set("rapid.seed", strconv.FormatUint(seed, 10))
	set("rapid.checks", strconv.Itoa(checks))
	rapid.Check(tb, func(t *rapid.T) {
		read()
		property(t)
	})
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// TestSeedsAreRead checks how a seed is found in what rapid says, which no version of it promises.
func TestSeedsAreRead(t *testing.T) {
	t.Parallel()
	check := func(seed uint64) string {
		return failure(func(tb rapid.TB) {
			seeded(tb, seed, checksOfSearch, func(t *rapid.T) {
				if n := rapid.IntRange(0, 9).Draw(t, "n"); n == 7 {
					t.Fatalf("%d", n)
				}
			})
		})
	}
	seed := seedIn(check(0))
	if seed == 0 {
		t.Fatal("rapid names no seed")
	}
	if got := check(seed); !strings.Contains(got, "failed after 0 tests") || seedIn(got) != seed {
		t.Errorf("from the seed %d rapid said: %s", seed, got)
	}
}
