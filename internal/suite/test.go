package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const testUsage = `usage: scripts/test [--run PATTERN] [PACKAGE...]
       scripts/test --tested

Checks the format, vets and builds everything, lints what changed, and runs the tests of every commit on SQLite and
PostgreSQL: what scripts/soak runs is not in it. With packages, or a pattern of names of tests as in go test -run, it
runs those tests alone.

A test that fails is run again alone, twice; if it passes both times it is told as FLAKY, its output is appended to the
file that CI_FLAKES names, if any, and the run passes.

  --tested  say whether HEAD is the last commit that has passed as a whole

Databases of tests are in $TMPDIR; if that is not set, in /dev/shm where that has room, and else in /tmp.`

// limit is what the first tier may take on two quiet cores, with a warm and with an empty build
// cache.
const limit, coldLimit = 720 * time.Second, 900 * time.Second

// outcome is what became of a stage.
type outcome struct {
	stage
	took time.Duration
	note string
	err  error
}

// suite is a run of the first tier.
type suite struct {
	packages []string
	passed   int
	failed   int
	flaky    []name
	broken   bool // a stage has failed
	outcomes []outcome
}

func test(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scripts/test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	pattern := flags.String("run", "", "")
	asks := flags.Bool("tested", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Println(testUsage)
			return nil
		}
		fmt.Fprintf(os.Stderr, "%v\n%s\n", err, testUsage)
		return errUsage
	}
	if *asks {
		return tested(ctx)
	}
	begin := time.Now()
	if *pattern != "" || flags.NArg() > 0 {
		return some(ctx, *pattern, flags.Args())
	}
	s := &suite{}
	err := s.whole(ctx)
	s.table(time.Since(begin))
	return err
}

// whole runs all stages, and notes the commit that has passed them.
func (s *suite) whole(ctx context.Context) error {
	commit, err := output(ctx, "git", "rev-parse", "HEAD")
	if err != nil || !clean(ctx) {
		commit = "" // there is nothing to note
	}
	if os.Getenv("CI") != "" { // a clone, whose files are as old as itself
		if err := stamp(ctx); err != nil {
			return err
		}
	}
	f, err := openFolder()
	if err != nil {
		return err
	}
	defer func() {
		if err := f.close(); err != nil {
			fmt.Fprintln(os.Stderr, "suite:", err)
		}
	}()
	for _, stage := range stages {
		if stage.do == nil && s.packages == nil {
			if err := s.prepare(ctx, f); err != nil {
				return err
			}
		}
		err := s.step(ctx, stage)
		if err != nil && (stage.do != nil || !errors.Is(err, errFailed)) {
			return err // tests that fail leave the others something to tell
		}
	}
	if err := s.replay(ctx); err != nil {
		return err
	}
	if s.broken {
		return errFailed
	}
	if commit == "" || !clean(ctx) {
		return nil
	}
	return noteTested(ctx, commit)
}

// prepare makes what the tests of all stages use.
func (s *suite) prepare(ctx context.Context, f *folder) error {
	var err error
	s.packages, err = tests(ctx, "./...")
	if err != nil {
		return err
	}
	return f.environment(ctx, true)
}

// tests are the packages that have tests of the first tier.
func tests(ctx context.Context, patterns ...string) ([]string, error) {
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	listed, err := output(ctx, "go", append(args, patterns...)...)
	return strings.Fields(listed), err
}

// step runs a stage, and ends the run if it has failed.
func (s *suite) step(ctx context.Context, stage stage) error {
	fmt.Printf("\n==> %s\n", stage.name)
	begin := time.Now()
	o := outcome{stage: stage}
	if stage.do != nil {
		o.err = stage.do(ctx)
	} else {
		stage.packages = stage.testsOf(s.packages)
		o.note, o.err = s.tests(ctx, stage.command)
	}
	o.took = time.Since(begin)
	s.outcomes = append(s.outcomes, o)
	if o.err != nil {
		s.broken = true
		fmt.Printf("==> %s: FAILED after %.0f s\n", stage.name, o.took.Seconds())
	}
	return o.err
}

// tests runs tests, and again what has failed.
func (s *suite) tests(ctx context.Context, c command) (note string, err error) {
	if len(c.packages) == 0 {
		return "no tests", nil
	}
	r, err := goTest(ctx, c, os.Stdout)
	if err != nil {
		return "", err
	}
	flaky, lasting, err := judge(ctx, c, r, os.Stdout)
	s.passed += r.passed + len(flaky)
	s.failed += len(lasting)
	s.flaky = append(s.flaky, flaky...)
	if err := errors.Join(err, keepFlaky(flaky, r)); err != nil {
		return "", err
	}
	if r.unbuilt || len(lasting) > 0 {
		return "", errFailed
	}
	return r.slowest(3), nil
}

// some runs the tests of some packages, or of a pattern.
func some(ctx context.Context, pattern string, patterns []string) error {
	s := &suite{}
	f, err := openFolder()
	if err != nil {
		return err
	}
	defer f.close()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	c := command{}
	if pattern != "" {
		c.flags = append(c.flags, "-run="+pattern)
	}
	if c.packages, err = tests(ctx, patterns...); err != nil {
		return err
	}
	if err := f.environment(ctx, true); err != nil {
		return err
	}
	err = show(ctx, "", []string{"CGO_ENABLED=0"}, "go", append([]string{"vet", "-tags=soak"}, patterns...)...)
	if err == nil {
		_, err = s.tests(ctx, c)
	}
	fmt.Printf("\n%d passed, %d failed\n", s.passed, s.failed)
	fmt.Println("left out: the format, the linter, the race detector, and all other packages")
	s.tellFlaky()
	return err
}

// keepFlaky appends what flaky tests have printed to the file that CI_FLAKES names.
func keepFlaky(flaky []name, r *report) error {
	path := os.Getenv("CI_FLAKES")
	if path == "" || len(flaky) == 0 {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, n := range flaky {
		if _, err = fmt.Fprintf(file, "FLAKY: %s\n%s\n", n, r.outputs[n]); err != nil {
			break
		}
	}
	return errors.Join(err, file.Close())
}

func (s *suite) tellFlaky() {
	for _, n := range s.flaky {
		fmt.Printf("FLAKY: %s\n", n)
	}
}

// table tells what each stage took, and how many tests have passed.
func (s *suite) table(total time.Duration) {
	fmt.Printf("\n%-24s %6s %7s\n", "stage", "took", "budget")
	var over []string
	for _, o := range s.outcomes {
		mark := ""
		switch {
		case o.err != nil:
			mark = "FAILED"
		case o.took > o.budget:
			mark = "OVER"
			over = append(over, o.name)
		}
		fmt.Printf("%-24s %4.0f s %5.0f s  %-6s %s\n", o.name, o.took.Seconds(), o.budget.Seconds(), mark, o.note)
	}
	fmt.Printf("%-24s %4.0f s %5.0f s\n", "all", total.Seconds(), limit.Seconds())
	if total > limit {
		over = append(over, "all of it")
	}
	if len(over) > 0 {
		fmt.Printf("!!! OVER BUDGET: %s. All may take %.0f s on two quiet cores, and %.0f s from an empty build cache.\n",
			strings.Join(over, ", "), limit.Seconds(), coldLimit.Seconds())
	}
	fmt.Printf("\n%d passed, %d failed\n", s.passed, s.failed)
	s.tellFlaky()
}
