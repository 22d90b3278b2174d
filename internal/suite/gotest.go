package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// raced is how tests are built that run under the race detector. SQLite is C that was translated:
// instrumented it takes six times as long, and has no goroutines of its own.
var raced = []string{"-race", "-gcflags=modernc.org/sqlite/...=-race=false", "-gcflags=modernc.org/libc/...=-race=false"}

// command is a call of go test.
type command struct {
	flags    []string // for the go command, such as -tags or -run
	packages []string
	race     bool
	env      []string
	timeout  time.Duration // of a package; 0: ten minutes
}

func (c command) arguments(more ...string) []string {
	args := []string{"test", "-json", "-vet=off", "-timeout=" + cmp.Or(c.timeout, 10*time.Minute).String()}
	if c.race {
		args = append(args, raced...)
	}
	return slices.Concat(args, c.flags, more)
}

// event is a line of go test -json: see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// name is a test, or a part of one; Test is "" for a package that failed outside of its tests.
type name struct{ Package, Test string }

func (n name) String() string { return strings.TrimSpace(n.Package + " " + n.Test) }

// report is what became of the tests of a call.
type report struct {
	passed  int // tests without parts
	failed  []name
	outputs map[name]string // of what failed
	seconds map[string]float64
	unbuilt bool // something did not compile
}

// goTest runs tests. Its error is nil also if tests failed; that is in the report.
func goTest(ctx context.Context, c command, out io.Writer) (*report, error) {
	return call(ctx, c, c.arguments(c.packages...), out)
}

func call(ctx context.Context, c command, args []string, out io.Writer) (*report, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that tests end what they started
	cmd.WaitDelay = 20 * time.Second
	cgo := "CGO_ENABLED=0"
	if c.race {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = slices.Concat(os.Environ(), []string{cgo}, c.env)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r, err := read(pipe, out)
	exit := cmd.Wait()
	if err != nil {
		return nil, err
	}
	if exit != nil && len(r.failed) == 0 && !r.unbuilt {
		return nil, fmt.Errorf("%s: %w", cmd, exit)
	}
	return r, ctx.Err()
}

// read reads the events of go test -json, and writes what a person wants to see of them.
func read(events io.Reader, out io.Writer) (*report, error) {
	r := &report{outputs: map[name]string{}, seconds: map[string]float64{}}
	texts, running, failed := map[name]*bytes.Buffer{}, map[name]bool{}, map[name]bool{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprint(out, string(line)) // of the go command itself
			continue
		}
		n := name{e.Package, e.Test}
		switch e.Action {
		case "run":
			running[n] = true
		case "output":
			if e.Test == "" && said(e.Output) {
				fmt.Fprint(out, e.Output)
			}
			if texts[n] == nil {
				texts[n] = &bytes.Buffer{}
			}
			texts[n].WriteString(e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "build-fail":
			r.unbuilt = true
		case "pass", "skip", "fail":
			delete(running, n)
			if e.Test == "" {
				r.seconds[e.Package] = e.Elapsed
			}
			if e.Action == "fail" {
				failed[n] = true
			} else {
				delete(texts, n)
				if e.Action == "pass" && e.Test != "" && !strings.Contains(e.Test, "/") {
					r.passed++
				}
			}
		}
	}
	for n := range running { // the process ended in the middle of them
		if failed[name{n.Package, ""}] {
			failed[n] = true
		}
	}
	r.failed = leaves(failed)
	for n := range failed {
		if text := texts[n]; text != nil {
			r.outputs[n] = text.String()
		}
	}
	for _, n := range r.failed {
		fmt.Fprintf(out, "--- FAIL: %s\n%s", n, r.outputs[n])
	}
	return r, nil
}

// said reports whether a line of a package is worth a reader's time.
func said(line string) bool {
	return line != "PASS\n" && !strings.HasPrefix(line, "?") && !strings.Contains(line, "[no tests to run]") &&
		!strings.Contains(line, "coverage: ")
}

// leaves are the failures that are not merely those of a part: a test fails with its parts, and a
// package with its tests.
func leaves(failed map[name]bool) []name {
	inner := map[name]bool{}
	for n := range failed {
		if n.Test == "" {
			continue
		}
		inner[name{n.Package, ""}] = true
		for test := n.Test; strings.Contains(test, "/"); {
			test = test[:strings.LastIndexByte(test, '/')]
			inner[name{n.Package, test}] = true
		}
	}
	var found []name
	for n := range failed {
		if !inner[n] {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b name) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// alone is the call that runs what failed again, and nothing else.
func (c command) alone(n name) command {
	c.packages, c.flags = []string{n.Package}, slices.Clone(c.flags)
	c.flags = slices.DeleteFunc(c.flags, func(flag string) bool {
		return strings.HasPrefix(flag, "-run=") || strings.HasPrefix(flag, "-skip=")
	})
	if n.Test != "" {
		parts := strings.Split(n.Test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		c.flags = append(c.flags, "-run="+strings.Join(parts, "/"))
	}
	c.flags = append(c.flags, "-count=1")
	return c
}

// mostFlaky bounds what is run again: more failures than that are no accident.
const mostFlaky = 5

// judge runs what failed again, alone, and returns what was flaky: it passed twice. What else
// failed is in lasting.
func judge(ctx context.Context, c command, r *report, out io.Writer) (flaky, lasting []name, err error) {
	if r.unbuilt || len(r.failed) > mostFlaky {
		return nil, r.failed, nil
	}
	for _, n := range r.failed {
		passes := 0
		for range 2 {
			fmt.Fprintf(out, "again, alone: %s\n", n)
			again, err := goTest(ctx, c.alone(n), out)
			if err != nil {
				return flaky, lasting, err
			}
			if len(again.failed) > 0 || again.passed == 0 {
				break
			}
			passes++
		}
		if passes == 2 {
			flaky = append(flaky, n)
		} else {
			lasting = append(lasting, n)
		}
	}
	return flaky, lasting, nil
}

// slowest tells which packages took longest.
func (r *report) slowest(n int) string {
	packages := slices.SortedFunc(maps.Keys(r.seconds), func(a, b string) int { return cmp.Compare(r.seconds[b], r.seconds[a]) })
	var told []string
	for _, p := range packages[:min(n, len(packages))] {
		told = append(told, fmt.Sprintf("%s %.0f s", p[strings.LastIndexByte(p, '/')+1:], r.seconds[p]))
	}
	return strings.Join(told, ", ")
}
