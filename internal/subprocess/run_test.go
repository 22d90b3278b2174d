//go:build unix

package subprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

const done = `{"type":"result","run":"RUN","result":{"n":1}}`

// TestProcessIsKept: one process runs job after job, and gets all that the docs say.
func TestProcessIsKept(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	first, err := b.run(order{"!pid"})
	if err != nil {
		t.Fatal(err)
	}
	job := b.enqueue(order{"!echo"}, holdfast.Tags("a"), holdfast.Metadata(map[string]int{"m": 1}))
	result, err := job.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var line runLine
	if err := json.Unmarshal(result, &line); err != nil {
		t.Fatal(err)
	}
	if line.EnqueuedAt.IsZero() {
		t.Error("it does not say when the job was enqueued")
	}
	line.EnqueuedAt = time.Time{}
	want := runLine{
		Type: "run", Run: job.ID.String() + "/" + strconv.FormatInt(line.Lease, 10), Job: job.ID.String(), Kind: "try", Queue: "default",
		Namespace: "default", Attempt: 1, Lease: line.Lease, Tags: []string{"a"},
		Metadata: json.RawMessage(`{"m":1}`), Args: json.RawMessage(`["!echo"]`),
	}
	if got, want := fmt.Sprintf("%+v", line), fmt.Sprintf("%+v", want); got != want || line.Lease < 1 {
		t.Errorf("it got\n%s, not\n%s", got, want)
	}
	if second, err := b.run(order{"!pid"}); err != nil || second != first {
		t.Errorf("the process is %s, then %s, %v", first, second, err)
	}
}

// TestOutcomes: what processes say becomes the outcome of the run.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	for _, c := range []struct {
		name   string
		steps  order
		result string
		err    []string // what the job's error contains; nil: it completes
	}{
		{name: "result", steps: order{done}, result: `{"n":1}`},
		{name: "no result", steps: order{`{"type":"result","run":"RUN"}`}, result: ""},
		{name: "error", steps: order{`{"type":"error","run":"RUN","error":"no ink"}`}, err: []string{"no ink"}},
		{name: "no text", steps: order{`{"type":"error","run":"RUN"}`}, err: []string{"gave no reason"}},
		{
			name: "progress before", steps: order{
				`{"type":"progress","run":"RUN","percent":50,"message":"half"}`, `{"type":"heartbeat","run":"RUN"}`, done,
			}, result: `{"n":1}`,
		},
		{name: "late line", steps: order{`{"type":"heartbeat","run":"of before"}`, done}, result: `{"n":1}`},
		{name: "another's end", steps: order{`{"type":"result","run":"of another"}`}, err: []string{"of another", "does not have"}},
		{name: "no JSON", steps: order{"Hello"}, err: []string{"cannot be understood", `"Hello"`, "standard error"}},
		{name: "empty line", steps: order{""}, err: []string{"cannot be understood"}},
		{name: "unknown type", steps: order{`{"type":"done","run":"RUN"}`}, err: []string{`its type "done" is none of`}},
		{name: "unknown field", steps: order{`{"type":"error","run":"RUN","eror":"x"}`}, err: []string{"unknown field"}},
		{name: "no run", steps: order{`{"type":"heartbeat"}`}, err: []string{`no "run"`}},
		{name: "snooze", steps: order{`{"type":"snooze","run":"RUN","for":"soon"}`}, err: []string{"no duration"}},
		{name: "too long", steps: order{"!big"}, err: []string{"a line of more than 8388608 bytes"}},
		{name: "exit", steps: order{"!stderr what\nfor", "!exit xxx"}, err: []string{"exit status 3", "what\nfor"}},
		{name: "exit 0", steps: order{"!exit"}, err: []string{"exit status 0"}},
		{name: "killed", steps: order{"!kill"}, err: []string{"signal: killed"}},
		{name: "result and exit", steps: order{done, "!exit"}, result: `{"n":1}`},
		{name: "stdout closed", steps: order{"!close-stdout"}, err: []string{"signal: killed"}},
	} {
		result, err := b.run(c.steps)
		if c.err == nil && (err != nil || result != c.result) {
			t.Errorf("%s: %s, %v", c.name, result, err)
		}
		for _, word := range c.err {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, without %q", c.name, err, word)
			}
		}
		if _, err := b.run(order{done}); err != nil { // which also ends the pause that grows
			t.Errorf("after %s: %v", c.name, err)
		}
	}
}

// TestWhatWasReadIsAnAttempt: a process that has read a job may have done it, with whatever status
// it ends: a job of one attempt does not run elsewhere.
func TestWhatWasReadIsAnAttempt(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	file := filepath.Join(t.TempDir(), "marks")
	for range 5 {
		if _, err := b.run(order{done}); err != nil { // the process has ended a run
			t.Fatal(err)
		}
		if _, err := b.run(order{"!mark " + file, "!exit"}); err == nil || !strings.Contains(err.Error(), "exit status 0") {
			t.Errorf("it ends with %v", err)
		}
	}
	if marks, err := os.ReadFile(file); err != nil || len(marks) != 5 {
		t.Errorf("5 jobs of one attempt have run %d times: %v", len(marks), err)
	}
}

// TestStandardErrorWithoutEnd: a process that writes to standard error without pause does not keep
// its runs.
func TestStandardErrorWithoutEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	if result, err := b.run(order{"!flood", done}); err != nil || result != `{"n":1}` {
		t.Errorf("%s, %v", result, err)
	}
}

// TestWhatComesOfAnError: whether the job is tried again.
func TestWhatComesOfAnError(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	for _, c := range []struct {
		name, line string
		state      store.State
		attempts   int
	}{
		{"permanent", `{"type":"error","run":"RUN","error":"no","permanent":true}`, store.Failed, 1},
		{"retry after", `{"type":"error","run":"RUN","error":"no","retry_after":"1h"}`, store.Retryable, 1},
		{"as the job says", `{"type":"error","run":"RUN","error":"no"}`, store.Retryable, 1},
		{"snooze", `{"type":"snooze","run":"RUN","for":"1h"}`, store.Scheduled, 0},
	} {
		job := b.enqueue(order{c.line}, holdfast.MaxAttempts(3), holdfast.Backoff(time.Hour, time.Hour))
		var info holdfast.Info[order, json.RawMessage]
		until(t, c.name, func() bool {
			var err error
			if info, err = kind.Get(t.Context(), b.hf, job.ID); err != nil {
				t.Fatal(err)
			}
			return info.State == c.state
		})
		if info.Attempt != c.attempts {
			t.Errorf("%s: it has had %d attempts that count, not %d", c.name, info.Attempt, c.attempts)
		}
	}
}

// TestLogs: what a process logs and writes to standard error is kept with the job, in order and
// nothing of another one.
func TestLogs(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	until(t, "the process has begun", func() bool { return strings.Contains(b.log.String(), "begun with 2 arguments") })
	const said = `{"type":"log","run":"RUN","level":"warn","message":"hot","attrs":{"celsius":90}}`
	for i := range 50 {
		text := fmt.Sprintf("err %d", i)
		job := b.enqueue(order{"!stderr " + text + "\n" + text + ", part", said, done})
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := b.lines(job.ID)
		slices.Sort(got)
		if want := []string{"INFO " + text, "INFO " + text + ", part", "WARN hot"}; !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if log := b.log.String(); !strings.Contains(log, "celsius=90") {
		t.Error("the node's log lacks something")
	}
}

// TestEndsOfRuns: a run that has to end is told to the process, which ends it or is ended.
func TestEndsOfRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *Config) { c.Count = 5 })
	timeout := holdfast.Timeout(300 * time.Millisecond)
	for _, c := range []struct {
		name  string
		steps order
		err   string // "": it completes
		least time.Duration
	}{
		{"answers", order{"!await cancel timeout", done}, "", 0},
		{"gives up", order{"!await cancel timeout", `{"type":"error","run":"RUN","error":"gave up"}`}, "gave up", 0},
		{"hangs", order{"!stderr stuck", "!hang"}, "stuck", beforeTerm},
		{"hears no SIGTERM", order{"!deaf"}, "killed", beforeTerm + beforeKill},
		{"does not read", order{"!close"}, "terminated", beforeTerm},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			_, err := b.run(c.steps, timeout)
			if took := time.Since(begun); took < c.least {
				t.Errorf("it took %v", took)
			}
			if c.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "stopped: timed out") {
				t.Errorf("%v", err)
			}
		})
	}
	job := b.enqueue(order{"!await cancel cancelled", `{"type":"error","run":"RUN","error":"stopped"}`})
	until(t, "it runs", func() bool {
		info, err := kind.Get(t.Context(), b.hf, job.ID)
		return err == nil && info.State == store.Running
	})
	if _, err := b.hf.Cancel(t.Context(), "enough", job.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrCancelled) {
		t.Error(err)
	}
}

// TestProcessesWear: a process is replaced after so many runs, or with so much memory; one that
// ends between runs, too.
func TestProcessesWear(t *testing.T) {
	t.Parallel()
	pids := func(t *testing.T, b *bed, steps order) (all []string) {
		t.Helper()
		for range 4 {
			pid, err := b.run(steps)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
		return all
	}
	t.Run("runs", func(t *testing.T) {
		t.Parallel()
		got := pids(t, newBed(t, func(c *Config) { c.MaxRuns = 2 }), order{"!pid"})
		if got[0] != got[1] || got[1] == got[2] || got[2] != got[3] {
			t.Errorf("%v", got)
		}
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		if !measuresMemory {
			if _, err := Start(Config{Kind: "try", Command: self(), Count: 1, MaxMemory: 1}, nil); err == nil {
				t.Error("a bound that is not kept was accepted")
			}
			return
		}
		got := pids(t, newBed(t, func(c *Config) { c.MaxMemory = 1 << 20 }), order{"!pid"})
		slices.Sort(got)
		if len(slices.Compact(got)) != 4 {
			t.Errorf("%v", got)
		}
		got = pids(t, newBed(t, func(c *Config) { c.MaxMemory = 1 << 40 }), order{"!pid"})
		if len(slices.Compact(got)) != 1 {
			t.Errorf("%v", got)
		}
	})
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, nil)
		got := pids(t, b, order{"!pid", "!exit"})
		slices.Sort(got)
		if len(slices.Compact(got)) != 4 {
			t.Errorf("%v", got)
		}
		if _, err := b.run(order{"!pid", "garbage"}); err != nil {
			t.Error(err)
		}
		until(t, "the log tells of it", func() bool {
			log := b.log.String()
			return strings.Contains(log, "a subprocess without a run was ended") && strings.Contains(log, "garbage")
		})
		if _, err := b.run(order{"!pid"}); err != nil {
			t.Error(err)
		}
	})
}

// TestManyAtOnce: as many jobs run as there are processes, whatever else happens to these.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *Config) { c.Count, c.MaxRuns = 4, 7 })
	var jobs []*holdfast.Job[json.RawMessage]
	for i := range 200 {
		steps := order{fmt.Sprintf(`{"type":"result","run":"RUN","result":%d}`, i)}
		if i%17 == 3 {
			steps = append(order{"!stderr x"}, "!kill")
		}
		jobs = append(jobs, b.enqueue(steps))
	}
	for i, job := range jobs {
		result, err := job.Wait(t.Context())
		if dies := i%17 == 3; dies != (err != nil) || !dies && string(result) != strconv.Itoa(i) {
			t.Errorf("job %d: %s, %v", i, result, err)
		}
	}
}

// TestNothingIsLeft: what a process has started ends with it, and the process with the pool.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	hf := newBed(t, func(c *Config) {
		c.Command = []string{"sh", "-c", `sleep 1000 & echo "$$ $!" >&2; cat >/dev/null`}
	})
	var shell, sleeper int
	until(t, "it began", func() bool {
		_, text, ok := strings.Cut(hf.log.String(), `text="`)
		if !ok {
			return false
		}
		n, err := fmt.Sscanf(text, "%d %d", &shell, &sleeper)
		return err == nil && n == 2
	})
	p, err := Start(Config{Kind: "other", Command: self(), Count: 2}, discard())
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := hf.hf.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	hf.pool.Close()
	for _, pid := range []int{shell, sleeper} {
		until(t, "it is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}

// TestCommandThatCannotBeStarted is an error at once, and later one of a run.
func TestCommandThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	if _, err := Start(Config{Kind: "try", Command: []string{"/no/such/program"}, Count: 3}, discard()); err == nil ||
		!strings.Contains(err.Error(), "the kind try: cannot start /no/such/program") {
		t.Error(err)
	}
	for _, c := range []Config{{Count: 0}, {Count: 1, MaxRuns: -1}, {Count: 1, MaxMemory: -1}} {
		c.Kind, c.Command = "try", self()
		if _, err := Start(c, discard()); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// TestProgramThatGoesAway: processes that cannot be started any more fail runs, one for each try.
func TestProgramThatGoesAway(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nrm \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, func(c *Config) { c.Command = []string{script} })
	until(t, "it is gone", func() bool { return strings.Contains(b.log.String(), "a subprocess cannot be started") })
	if _, err := b.run(order{"!pid"}); err == nil || !strings.Contains(err.Error(), "cannot start "+script) {
		t.Error(err)
	}
}
