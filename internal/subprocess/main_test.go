//go:build unix

package subprocess

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// asProcess is the first argument with which the test binary is a process of a pool.
const asProcess = "be-a-subprocess"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == asProcess:
		beProcess()
	case os.Getenv(asNode) != "":
		beNode()
	default:
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/holdfastdev/holdfast/internal/crashtest/process.serve"))
	}
}

// self is the command of a process that runs jobs as their args say.
func self() []string { return []string{os.Args[0], asProcess} }

// order is the args of a job: what the process does, as lines. A line "!word" is something other
// than being said.
type order []string

// beProcess runs jobs until its standard input ends.
func beProcess() {
	fmt.Fprintf(os.Stderr, "begun with %d arguments\n", len(os.Args))
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var line struct {
			Type string `json:"type"`
			Run  string `json:"run"`
			Args order  `json:"args"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			panic(err)
		}
		if line.Type != "run" {
			continue
		}
		for _, step := range line.Args {
			do(in, text, strings.ReplaceAll(step, "RUN", line.Run))
		}
	}
}

// hang does nothing, for longer than any test. Without cgo an empty select would be a deadlock,
// at which the runtime ends the process.
func hang() { time.Sleep(time.Hour) } //nolint:forbidigo // it is to outlast all that is waited for

func do(in *bufio.Reader, line, step string) {
	name, rest, _ := strings.Cut(step, " ")
	switch name {
	case "!stderr":
		fmt.Fprint(os.Stderr, rest)
	case "!mark": // a file, which gets a byte
		f, err := os.OpenFile(rest, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		_, _ = f.WriteString("x")
		_ = f.Close()
	case "!flood":
		go func() {
			text := []byte(strings.Repeat("x", 1000) + "\n")
			for {
				_, _ = os.Stderr.Write(text)
			}
		}()
	case "!exit":
		os.Exit(len(rest))
	case "!kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "!deaf": // to SIGTERM, too
		signal.Ignore(syscall.SIGTERM)
		hang()
	case "!hang":
		hang()
	case "!close":
		_ = os.Stdin.Close()
		hang()
	case "!close-stdout":
		_ = os.Stdout.Close()
		hang()
	case "!await": // the next line, which is to be of this type
		text, err := in.ReadString('\n')
		var next struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		}
		if err != nil || json.Unmarshal([]byte(text), &next) != nil || next.Type+" "+next.Reason != rest {
			fmt.Fprintf(os.Stderr, "got %q, %v, want %s\n", text, err, rest)
			os.Exit(1)
		}
	case "!pid":
		say(line, map[string]any{"type": "result", "result": os.Getpid()})
	case "!echo":
		say(line, map[string]any{"type": "result", "result": json.RawMessage(line)})
	case "!big":
		fmt.Print(strings.Repeat("x", maxLine+1))
	default:
		fmt.Println(step)
	}
}

// say says something about the run of a line.
func say(line string, what map[string]any) {
	var of head
	_ = json.Unmarshal([]byte(line), &of)
	what["run"] = of.Run
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

var kind = holdfast.NewKind[order, json.RawMessage]("try", holdfast.MaxAttempts(1))

// bed is a node with a pool.
type bed struct {
	t    *testing.T
	hf   *holdfast.Client
	pool *Pool
	log  *lockedText
}

func newBed(t *testing.T, change func(*Config)) *bed {
	t.Helper()
	b := &bed{t: t, log: &lockedText{}}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), holdfast.WithLogger(log))
	if err != nil {
		t.Fatal(err)
	}
	b.hf = hf
	config := Config{Kind: kind.Name(), Command: self(), Count: 1}
	if change != nil {
		change(&config)
	}
	if b.pool, err = Start(config, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
		b.pool.Close()
		if t.Failed() {
			t.Logf("the log:\n%s", b.log)
		}
	})
	if err := b.pool.Register(hf); err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bed) enqueue(steps order, opts ...holdfast.EnqueueOption) *holdfast.Job[json.RawMessage] {
	b.t.Helper()
	job, err := kind.Enqueue(b.t.Context(), b.hf, steps, opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	return job
}

// run runs a job to its end.
func (b *bed) run(steps order, opts ...holdfast.EnqueueOption) (string, error) {
	b.t.Helper()
	result, err := b.enqueue(steps, opts...).Wait(b.t.Context())
	return string(result), err
}

// lines are what is kept of what a job has logged.
func (b *bed) lines(id holdfast.ID) (lines []string) {
	b.t.Helper()
	page, err := joblog.Read(b.t.Context(), b.hf, id, joblog.Query{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, line := range page.Lines {
		lines = append(lines, line.Level.String()+" "+line.Message)
	}
	return lines
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within five minutes", what)
		case <-tick.C:
		}
	}
}
