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

// detects is false where there is no C compiler, which the race detector needs.
var detects = os.Getenv("HOLDFAST_NO_RACE") == ""

// command is a call of go test.
type command struct {
	dir      string   // of the module; "" is the main one
	flags    []string // for the go command, such as -tags or -run
	packages []string
	race     bool
	env      []string
	timeout  time.Duration // of a package; 0: ten minutes
}

func (c command) arguments() []string {
	args := []string{"test", "-json", "-vet=off", "-timeout=" + cmp.Or(c.timeout, 10*time.Minute).String()}
	if c.race && detects {
		args = append(args, raced...)
	}
	return slices.Concat(args, c.flags, c.packages)
}

// event is a line of go test -json: see go doc test2json.
type event struct {
	Action  string  `json:"action"`
	Package string  `json:"package"`
	Test    string  `json:"test"`
	Output  string  `json:"output"`
	Elapsed float64 `json:"elapsed"`
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
	cmd := exec.CommandContext(ctx, "go", c.arguments()...)
	cmd.Dir = c.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that tests end what they started
	cmd.WaitDelay = 20 * time.Second
	cgo := "CGO_ENABLED=0"
	if c.race && detects {
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
	r := read(pipe, out)
	exit := cmd.Wait()
	if exit != nil && len(r.failed) == 0 && !r.unbuilt {
		return nil, fmt.Errorf("%s: %w", cmd, exit)
	}
	return r, ctx.Err()
}

// reader makes a report of events.
type reader struct {
	out             io.Writer
	texts           map[name]*bytes.Buffer
	running, failed map[name]bool
	report          *report
}

// read reads the events of go test -json, and writes what a person wants to see of them.
func read(events io.Reader, out io.Writer) *report {
	r := &reader{
		out: out, texts: map[name]*bytes.Buffer{}, running: map[name]bool{}, failed: map[name]bool{},
		report: &report{outputs: map[name]string{}, seconds: map[string]float64{}},
	}
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
		r.take(e)
	}
	return r.end()
}

func (r *reader) take(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "run":
		r.running[n] = true
	case "output":
		if e.Test == "" && said(e.Output) {
			fmt.Fprint(r.out, e.Output)
		}
		if r.texts[n] == nil {
			r.texts[n] = &bytes.Buffer{}
		}
		r.texts[n].WriteString(e.Output)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.report.unbuilt = true
	case "pass", "skip", "fail":
		r.close(n, e)
	}
}

// close notes how a test or a package has ended.
func (r *reader) close(n name, e event) {
	delete(r.running, n)
	if e.Test == "" {
		r.report.seconds[e.Package] = e.Elapsed
	}
	if e.Action == "fail" {
		r.failed[n] = true
		return
	}
	delete(r.texts, n)
	if e.Action == "pass" && e.Test != "" && !strings.Contains(e.Test, "/") {
		r.report.passed++
	}
}

func (r *reader) end() *report {
	for n := range r.running { // the process ended in the middle of them
		if r.failed[name{n.Package, ""}] {
			r.failed[n] = true
		}
	}
	r.report.failed = leaves(r.failed)
	for n := range r.failed {
		if text := r.texts[n]; text != nil {
			r.report.outputs[n] = text.String()
		}
	}
	for _, n := range r.report.failed {
		fmt.Fprintf(r.out, "--- FAIL: %s\n%s", n, r.report.outputs[n])
	}
	return r.report
}

// said reports whether a line of a package is worth a reader's time.
func said(line string) bool {
	return line != "PASS\n" && line != "FAIL\n" && !strings.HasPrefix(line, "?") && !strings.Contains(line, "[no tests to run]") &&
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
