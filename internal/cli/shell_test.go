package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/saidonce"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
)

// global is the default logger of the process, which commands must not use.
type global struct {
	slog.Handler

	lines *atomic.Int64
}

func (g global) Handle(ctx context.Context, r slog.Record) error {
	g.lines.Add(1)
	return g.Handler.Handle(ctx, r)
}

func TestMain(m *testing.M) {
	var lines atomic.Int64
	slog.SetDefault(slog.New(global{slog.NewTextHandler(os.Stderr, nil), &lines}))
	code := pgtest.Main(m)
	if n := lines.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "%d lines were logged through slog.Default(): a command or a test has opened a client without a logger\n", n)
		code = 1
	}
	binaries.Remove()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shell runs commands in process against a database of its own.
type shell struct {
	*testing.T

	dir      string
	db       string
	env      map[string]string
	terminal bool // standard output and error are terminals
	now      func() time.Time
}

func newShell(t *testing.T) *shell {
	t.Helper()
	dir := t.TempDir()
	db := filepath.Join(dir, "test.db")
	return &shell{T: t, dir: dir, db: db, env: map[string]string{app.EnvDatabase: db}, now: time.Now}
}

// migrated returns a shell whose database exists.
func migrated(t *testing.T) *shell {
	t.Helper()
	s := newShell(t)
	sqlitetest.Create(t, s.db)
	return s
}

type outcome struct {
	code           int
	stdout, stderr string
}

func (s *shell) environment(stdin io.Reader, stdout, stderr io.Writer, args ...string) app.Env {
	return app.Env{
		Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) {
			value, set := s.env[name]
			return value, set
		},
		Environ: func() (all []string) {
			for name, value := range s.env {
				all = append(all, name+"="+value)
			}
			return all
		},
		Now:      s.now,
		Terminal: func(any) bool { return s.terminal },
		Signals:  make(chan os.Signal),
		Release:  func() {},

		OutlivePipes:   func() {},
		CompletionTime: 5 * time.Minute, // the machine may be busy with other tests
	}
}

// feed runs a command with standard input. It can be called in a cleanup, when the test's context
// has ended.
func (s *shell) feed(stdin string, args ...string) outcome {
	s.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(context.WithoutCancel(s.Context()), s.environment(strings.NewReader(stdin), &stdout, &stderr, args...))
	return outcome{code, stdout.String(), stderr.String()}
}

func (s *shell) run(args ...string) outcome {
	s.Helper()
	return s.feed("", args...)
}

// ok runs a command that must succeed, and returns its standard output.
func (s *shell) ok(args ...string) string {
	s.Helper()
	got := s.run(args...)
	if got.code != 0 {
		s.Fatalf("holdfast %s: exit code %d\n%s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

// enqueue enqueues a job and returns its id.
func (s *shell) enqueue(args ...string) string {
	s.Helper()
	var v views.Enqueued
	s.decode(s.ok(append([]string{"job", "enqueue"}, args...)...), &v)
	return v.ID
}

// job is the output of "job get" for a job.
func (s *shell) job(id string) map[string]any {
	s.Helper()
	var v map[string]any
	s.decode(s.ok("job", "get", id, "--output", "json"), &v)
	return v
}

func (s *shell) decode(text string, v any) {
	s.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
}

// expect checks the exit code, and that standard error is one line with the words. It returns
// standard output.
func (s *shell) expect(got outcome, code int, words ...string) string {
	s.Helper()
	if got.code != code {
		s.Errorf("exit code %d, want %d\n%s", got.code, code, got.stderr)
	}
	if code != 0 && (strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "holdfast: ")) {
		s.Errorf("standard error is not one line of an error: %q", got.stderr)
	}
	if strings.HasPrefix(got.stderr, "holdfast: holdfast ") || strings.Contains(got.stderr, "conflict: ") {
		s.Errorf("standard error has words of the library: %q", got.stderr)
	}
	if twice := saidonce.Twice(got.stderr); code != 0 && twice != "" {
		s.Errorf("standard error says %q twice: %q", twice, got.stderr)
	}
	for _, w := range words {
		if !strings.Contains(got.stderr, w) {
			s.Errorf("standard error does not say %q: %q", w, got.stderr)
		}
	}
	return got.stdout
}

// expectNote checks the note of a command that succeeds.
func (s *shell) expectNote(got outcome, want string) {
	s.Helper()
	if got.code != 0 || got.stderr != want {
		s.Errorf("exit code %d, it tells %q, want %q", got.code, got.stderr, want)
	}
}

// until polls a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within five minutes", what)
		case <-tick.C:
		}
	}
}

// buffer may be written and read concurrently.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// node is a "dev" or "worker" that runs in process.
type node struct {
	signals chan os.Signal
	stderr  *buffer
	ended   chan int
}

// start starts a node and returns when it serves. It is stopped at the end of the test.
func (s *shell) start(args ...string) *node {
	s.Helper()
	n := &node{signals: make(chan os.Signal), stderr: &buffer{}, ended: make(chan int, 1)}
	env := s.environment(strings.NewReader(""), io.Discard, n.stderr, args...)
	env.Signals = n.signals
	go func() { n.ended <- Run(context.Background(), env) }()
	until(s.T, "the start of the node", func() bool {
		select {
		case code := <-n.ended:
			s.Fatalf("the node ended with %d: %s", code, n.stderr)
		default:
		}
		return strings.Contains(n.stderr.String(), "node started")
	})
	s.Cleanup(func() { n.stop(s.T) })
	return n
}

// stop stops the node and checks that it ends cleanly. It may be called again.
func (n *node) stop(t *testing.T) {
	t.Helper()
	if n.ended == nil {
		return
	}
	n.signals <- syscall.SIGTERM
	if code := <-n.ended; code != 0 {
		t.Errorf("the node ended with %d: %s", code, n.stderr)
	}
	n.ended = nil
}
