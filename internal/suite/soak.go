package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/seed"
)

const soakUsage = `usage: scripts/soak [--for DURATION] [--seed N] [NAME...]

Runs the tests that scripts/test leaves out: kills, crashes, failovers, faults, poolers, upgrades, clients in other
languages, random sequences, mutations, the other runs of the conformance suite, plans over many rows, all pages in a
browser on both databases, all benchmarks once, and the tests of every commit under the race detector.

Each is run once, and then those that draw are run again from other seeds until the time is over. A failure does not
end it: what failed is told at the end, and its seed is appended to ` + seedsFile + `, from which scripts/test runs it
from then on.

  --for DURATION  how long to go on, such as 8h; without it each test is run once
  --seed N        the first seed; without it the time chooses one, which is printed
  NAME            only what has this in its name, such as internal/crashtest, TestFlows, benchmarks; --list tells all
  --list          tell what there is, and run nothing`

// seedsFile has what failed in a soak: a package, a test and a seed on each line.
const seedsFile = "testdata/seeds.txt"

// plain are the packages whose soak tests run without the race detector: what is at work there are
// other processes, the planner of a database, or one goroutine.
var plain = []string{
	"clients", "web", "internal/cli", "internal/mutation", "internal/cron", "store/storetest/simulate", "store/storetest/simulate/rules",
	"examples/csvimport", "examples/stdlibindex", "server/internal/blackbox",
}

// once are soak tests that draw nothing: to run them again would tell nothing new.
var once = []string{"clients", "web", "internal/mutation", "internal/cron"}

// entry is a part of the soak.
type entry struct {
	name string
	command
	repeats bool // with another seed it is another test

	runs, failures int
	took           time.Duration
}

func soak(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scripts/soak", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	span := flags.Duration("for", 0, "")
	first := flags.Uint64("seed", 0, "")
	list := flags.Bool("list", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Println(soakUsage)
			return nil
		}
		fmt.Fprintf(os.Stderr, "%v\n%s\n", err, soakUsage)
		return errUsage
	}
	entries, err := soakEntries(ctx, flags.Args())
	if err != nil {
		return err
	}
	if *list {
		for _, e := range entries {
			fmt.Println(e.name, strings.Join(e.flags, " "))
		}
		return nil
	}
	if len(entries) == 0 {
		return fmt.Errorf("no part of the soak has a name like %q: see --list", flags.Args())
	}
	f, err := openFolder()
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.environment(ctx, false); err != nil { // these stop and crash servers of their own
		return err
	}
	s := &soaking{seed: cmp.Or(*first, uint64(time.Now().Unix())), until: time.Now().Add(*span)}
	fmt.Printf("seed %d\n", s.seed)
	s.rounds(ctx, entries)
	return s.tell(entries)
}

// soakEntries are the parts of the soak whose names, or those of their tests, contain one of the
// words; all if there are none.
func soakEntries(ctx context.Context, words []string) ([]*entry, error) {
	listed, err := output(ctx, "go", "list", "-tags=soak", "-f", "{{.ImportPath}}\t{{.Dir}}", "./...")
	if err != nil {
		return nil, err
	}
	var entries, again []*entry
	var rest []string // packages without soak tests
	for line := range strings.Lines(listed) {
		pkg, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		tests, err := soakTests(dir)
		if err != nil {
			return nil, err
		}
		if len(tests) == 0 {
			rest = append(rest, pkg)
			continue
		}
		short := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"), ".")
		again = append(again, raceOf(short, []string{pkg}, "-skip=^("+strings.Join(tests, "|")+")$"))
		if !matches(short, words) {
			tests = slices.DeleteFunc(tests, func(test string) bool { return !matches(test, words) })
		}
		if len(tests) > 0 {
			entries = append(entries, &entry{name: short, repeats: !slices.Contains(once, short), command: command{
				flags: []string{"-tags=soak", "-count=1", "-run=^(" + strings.Join(tests, "|") + ")$"}, packages: []string{pkg},
				race: !slices.Contains(plain, short), timeout: time.Hour,
			}})
		}
	}
	again = append(again, raceOf("all others", rest), &entry{name: "benchmarks", command: command{
		flags: []string{"-tags=soak", "-run=^$", "-bench=.", "-benchtime=1x"}, packages: []string{"./..."},
		env: []string{"HOLDFAST_BENCH_SMALL=1"}, timeout: 20 * time.Minute,
	}}, &entry{name: "bench", command: command{dir: "bench", packages: []string{"./..."}}})
	return append(entries, slices.DeleteFunc(again, func(e *entry) bool { return !matches(e.name, words) })...), nil
}

// raceOf is the tests of every commit again: under the race detector, and on PostgreSQL, too, where
// a commit has them on SQLite alone.
func raceOf(what string, packages []string, flags ...string) *entry {
	return &entry{name: "race: " + what, command: command{
		flags: append([]string{"-tags=soak", "-count=1"}, flags...), packages: packages, race: true, timeout: time.Hour,
	}}
}

func matches(name string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

var (
	soakFile = regexp.MustCompile(`(?m)^//go:build .*\bsoak\b`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// soakTests are the names of the soak tests of a folder.
func soakTests(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !soakFile.Match(content) {
			continue
		}
		for _, found := range testFunc.FindAllSubmatch(content, -1) {
			if name := string(found[1]); name != "TestMain" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// soaking is a run of the soak.
type soaking struct {
	seed  uint64
	until time.Time

	mu     sync.Mutex // guards the entries that run, and the fields below
	failed []string   // what failed, with the seed
}

// workers is how many packages are tested at once: most of them wait most of the time.
const workers = 2

// rounds runs all entries, and again those that repeat until the time is over.
func (s *soaking) rounds(ctx context.Context, entries []*entry) {
	work := make(chan *entry)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for e := range work {
				s.run(ctx, e)
			}
		})
	}
	defer all.Wait()
	defer close(work)
	for round := 0; round == 0 || time.Now().Before(s.until); round++ {
		again := 0
		for _, e := range entries {
			if round > 0 && (!e.repeats || !time.Now().Before(s.until)) {
				continue
			}
			select {
			case work <- e:
				again++
			case <-ctx.Done():
				return
			}
		}
		if again == 0 {
			return
		}
	}
}

// run runs a part of the soak once, with a seed of its own.
func (s *soaking) run(ctx context.Context, e *entry) {
	s.mu.Lock()
	drawn := s.seed
	s.seed++
	e.runs++
	c := e.command
	s.mu.Unlock()
	c.env = append(slices.Clone(c.env), fmt.Sprintf("%s=%d", seed.Env, drawn))
	begin := time.Now()
	var told strings.Builder
	r, err := goTest(ctx, c, &told)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.took += time.Since(begin)
	fmt.Printf("%s: seed %d, %.0f s\n%s", e.name, drawn, time.Since(begin).Seconds(), told.String())
	switch {
	case ctx.Err() != nil:
	case err != nil || r.unbuilt:
		e.failures++
		s.failed = append(s.failed, e.name+": "+reason(err))
	default:
		e.failures += len(r.failed)
		for _, n := range r.failed {
			s.failed = append(s.failed, fmt.Sprintf("%s (seed %d)", n, drawn))
			if err := keepSeed(n, drawn); err != nil {
				fmt.Fprintln(os.Stderr, "suite:", err)
			}
		}
	}
}

func reason(err error) string {
	if err == nil {
		return "it does not build"
	}
	return err.Error()
}

// keepSeed appends what failed to the file of seeds.
func keepSeed(n name, drawn uint64) error {
	if n.Test == "" {
		return nil
	}
	file, err := os.OpenFile(seedsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	test, _, _ := strings.Cut(n.Test, "/")
	_, err = fmt.Fprintf(file, "%s %s %d\n", n.Package, test, drawn)
	return errors.Join(err, file.Close())
}

// tell prints the table of a soak, and what failed.
func (s *soaking) tell(entries []*entry) error {
	fmt.Printf("\n%-36s %5s %8s %8s\n", "part", "runs", "failures", "took")
	for _, e := range entries {
		fmt.Printf("%-36s %5d %8d %6.0f s\n", e.name, e.runs, e.failures, e.took.Seconds())
	}
	if len(s.failed) == 0 {
		return nil
	}
	fmt.Println()
	for _, what := range s.failed {
		fmt.Println("FAILED:", what)
	}
	return errFailed
}

// replay runs what failed in a soak once, each from its seed.
func (s *suite) replay(ctx context.Context) error {
	content, err := os.ReadFile(seedsFile)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 3 {
			return fmt.Errorf("%s: %q is not a package, a test and a seed", seedsFile, strings.TrimSpace(line))
		}
		c := command{
			flags: []string{"-tags=soak", "-run=^" + fields[1] + "$"}, packages: fields[:1], env: []string{seed.Env + "=" + fields[2]},
		}
		if err := s.step(ctx, stage{name: "seed " + fields[1], budget: 20 * time.Second, holds: fields[:1], command: c}); err != nil {
			return err
		}
	}
	return nil
}
