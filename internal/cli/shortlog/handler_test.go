package shortlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someJob = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"

// jobAttrs are the attributes of a job in the engine's lines.
func jobAttrs(attempt int, more ...any) []any {
	return append([]any{"job", someJob, "kind", "mail", "queue", "default", "attempt", attempt}, more...)
}

// TestShortLines checks the text of each line.
func TestShortLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(2340 * time.Millisecond)
		for _, test := range []struct {
			level slog.Level
			msg   string
			attrs []any
			want  string
		}{
			{slog.LevelDebug, LineStarted, jobAttrs(1), someJob + "  mail  started"},
			{slog.LevelDebug, LineStarted, jobAttrs(3), someJob + "  mail  started, attempt 3"},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "completed", "took", 12345*time.Microsecond), someJob + "  mail  done in 12ms"},
			{slog.LevelDebug, LineEnded, jobAttrs(2, "state", "completed", "took", time.Microsecond), someJob + "  mail  done in <1ms, attempt 2"},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "scheduled", "retry_at", soon), someJob + "  mail  snoozed, again in 2.3s"},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "waiting", "took", time.Hour), someJob + "  mail  waits, parked after 60m"},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "waiting"), someJob + "  mail  waits, parked"},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "available", "took", time.Second), someJob + "  mail  given back after 1s"},
			{
				slog.LevelDebug, LineEnded, jobAttrs(1, "state", "cancelled", "took", time.Second, "error", "enough"),
				someJob + "  mail  cancelled after 1s: enough",
			},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "failed", "error", "boom"), ""},
			{slog.LevelDebug, LineEnded, jobAttrs(1, "state", "retryable", "error", "boom"), ""},
			{slog.LevelDebug, "leadership changed", nil, ""},
			{
				slog.LevelWarn, LineAttempt, jobAttrs(1, "error", "boom\nand\x1b[31m more", "reason", "error", "retry_at", soon),
				someJob + "  mail  failed, again in 2.3s: boom and [31m more",
			},
			{
				slog.LevelError, linePanicked,
				jobAttrs(2, "error", "panic: boom", "retry_at", soon, "stack", "goroutine 1:\nmain.f()\n\tmain.go:1\n"),
				someJob + "  mail  panicked, attempt 2, again in 2.3s: boom\n    goroutine 1:\n    main.f()\n      main.go:1",
			},
			{
				slog.LevelError, LineFailed, jobAttrs(25, "error", "boom", "reason", "terminal"),
				someJob + "  mail  failed for good, attempt 25: boom",
			},
			{slog.LevelError, linePanickedOut, jobAttrs(2, "error", "panic: boom"), someJob + "  mail  panicked, attempt 2: boom"},
			{slog.LevelError, lineHeld, jobAttrs(1, "error", "it differs"), someJob + "  mail  held for a person: it differs"},
			{
				slog.LevelWarn, lineStep, jobAttrs(1, "step", "charge", "tries", 1, "error", "boom", "retry_at", soon),
				someJob + "  mail  step charge failed, again in 2.3s: boom",
			},
			{slog.LevelWarn, lineLeftOut, []any{"kind", "mail", "cause", LineAttempt, "lines", 120}, "mail  120 more lines: " + LineAttempt},
			{
				slog.LevelWarn, lineUnserved,
				[]any{"kind", "mail", "queue", "bulk", "namespace", "default", "cause", "no live node serves the kind"},
				"mail  waits in queue bulk: no live node serves the kind",
			},
			{slog.LevelInfo, LineNodeStarted, []any{"name", "vm", "slots", 4, "node", 7}, "node started"},
			{slog.LevelInfo, "node stopping", []any{"running", 2, "node", 7}, "node stopping running=2"},
			{
				slog.LevelWarn, "the database is away",
				[]any{"away", 2340 * time.Millisecond, "error", "no route", "node", 7},
				`WARN the database is away away=2.3s error="no route"`,
			},
		} {
			var out strings.Builder
			short := New(&out, slog.LevelInfo)
			slog.New(short).Log(t.Context(), test.level, test.msg, test.attrs...) //nolint:sloglint // messages of the engine
			short.End()
			want := ""
			if test.want != "" {
				want = time.Now().Format(time.TimeOnly) + "  " + test.want + "\n"
			}
			if out.String() != want {
				t.Errorf("%s becomes\n%q, not\n%q", test.msg, out.String(), want)
			}
		}
	})
}

// TestShortLogOfLevels: at WARN only failures.
func TestShortLogOfLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 5, slog.LevelInfo: 4, slog.LevelWarn: 2, slog.LevelError: 1} {
		var out strings.Builder
		short := New(&out, level)
		log := slog.New(short).With("about", "x")
		log.Debug(LineStarted)
		log.Debug("leadership changed")
		log.Info("node stopping")
		log.Warn(LineAttempt)
		log.Error(LineFailed)
		short.End()
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%v: %d lines, want %d: %s", level, got, want, out.String())
		}
	}
}

// TestShortLogInAStorm: too many lines are counted, second by second, and shown again when it is
// over.
func TestShortLogInAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		short := New(&out, slog.LevelInfo)
		log := slog.New(short)
		one := func() {
			log.Debug(LineStarted, jobAttrs(1)...)
			log.Debug(LineEnded, jobAttrs(1, "state", "completed", "took", time.Millisecond)...)
		}
		take := func() (lines []string) {
			synctest.Wait()
			lines = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			out.Reset()
			return lines
		}
		const rate = 1240
		for second := range 3 {
			for range rate {
				one()
				time.Sleep(time.Second / rate)
			}
			time.Sleep(time.Second % rate) // the rest of the second
			lines := take()
			want := map[bool]int{true: shortLines + 1, false: 1}[second == 0]
			if last := lines[len(lines)-1]; len(lines) != want || !strings.HasSuffix(last, "  1,240 jobs done in the last second") {
				t.Errorf("second %d: %d lines, the last is %q", second, len(lines), last)
			}
		}
		one()
		time.Sleep(time.Second)
		if lines := take(); len(lines) != 1 || !strings.HasSuffix(lines[0], "  1 job done in the last second") {
			t.Errorf("the second after it: %q", lines)
		}
		one()
		if lines := take(); len(lines) != 2 || !strings.Contains(lines[1], "done in 1ms") {
			t.Errorf("when it is over: %q", lines)
		}
		time.Sleep(2 * time.Second)
		for range 100 {
			log.Debug(LineStarted, jobAttrs(1)...)
		}
		for range 5 {
			log.Debug(LineEnded, jobAttrs(1, "state", "waiting", "took", time.Millisecond)...)
		}
		take()
		short.End() // prints the counts
		want := "  5 jobs parked, snoozed, cancelled or given back, 100 started in the last second"
		if lines := take(); len(lines) != 1 || !strings.HasSuffix(lines[0], want) {
			t.Errorf("at the end: %q", lines)
		}
		one() // of a job that was left behind
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

// frozen is a terminal that is blocked until released.
type frozen struct {
	asked chan struct{}
	let   chan struct{}
	out   strings.Builder
}

func (f *frozen) Write(p []byte) (int, error) {
	select {
	case f.asked <- struct{}{}:
	default:
	}
	<-f.let
	return f.out.Write(p)
}

// TestShortLogDoesNotWait: a blocked terminal does not block the log, which prints the number of
// lost lines.
func TestShortLogDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := &frozen{asked: make(chan struct{}, 1), let: make(chan struct{})}
		short := New(terminal, slog.LevelInfo)
		log := slog.New(short)
		log.Info("first")
		<-terminal.asked
		const lines = 10_000
		for i := range lines {
			log.Info("line", "number", i)
		}
		close(terminal.let)
		synctest.Wait()
		log.Info("last")
		short.End()
		out := terminal.out.String()
		shown := strings.Count(out, "  line ")
		if shown < 100 || shown == lines || len(out) > 2*shortBuffer {
			t.Errorf("%d lines were kept", shown)
		}
		if want := fmt.Sprintf("(%d lines more: nobody took them in time)\n", lines-shown); !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
		if !strings.HasSuffix(out, "last\n") {
			t.Error("the last line is not there")
		}
	})
}

// TestShortLogTakesALongLine: whole, and no line after it without room.
func TestShortLogTakesALongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		short := New(&out, slog.LevelInfo)
		long := strings.Repeat("x", 2*shortBuffer)
		slog.New(short).Error("long", "stack", long)
		short.End()
		if !strings.Contains(out.String(), long) {
			t.Errorf("%d bytes were written", out.Len())
		}
	})
}

// TestShortLogTellsWhatItLost: at the end, even if no line follows.
func TestShortLogTellsWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := &frozen{asked: make(chan struct{}, 1), let: make(chan struct{})}
		short := New(terminal, slog.LevelInfo)
		log := slog.New(short)
		log.Info("first")
		<-terminal.asked
		for range 10_000 {
			log.Info("line")
		}
		time.AfterFunc(shortPatience/2, func() { close(terminal.let) })
		short.End()
		if out := terminal.out.String(); !strings.HasSuffix(out, "lines more: nobody took them in time)\n") {
			t.Errorf("it ends with %q", out[max(0, len(out)-100):])
		}
	})
}

// TestShortLogEnds: even if the terminal is blocked.
func TestShortLogEnds(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		terminal := &frozen{asked: make(chan struct{}, 1), let: make(chan struct{})}
		short := New(terminal, slog.LevelInfo)
		slog.New(short).Info("nobody reads this")
		short.End()
		close(terminal.let)
	})
}

// TestShortLogKnowsItsLines: each reworded line is in docs/logging.md, which is tested against the
// engine.
func TestShortLogKnowsItsLines(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		LineStarted, LineEnded, LineFailed, LineAttempt, linePanicked, linePanickedOut, lineHeld, lineStep, lineLeftOut, lineUnserved,
		LineNodeStarted, lineNodeStopped,
	} {
		if !strings.Contains(string(page), "| `"+line+"` |") {
			t.Errorf("docs/logging.md does not list %q", line)
		}
	}
}

// BenchmarkShortLogInAStorm measures the cost of a job's lines while the terminal cannot follow.
func BenchmarkShortLogInAStorm(b *testing.B) {
	short := New(io.Discard, slog.LevelInfo)
	defer short.End()
	log := slog.New(short)
	started := []slog.Attr{slog.Any("job", someJob), slog.String("kind", "mail"), slog.String("queue", "default"), slog.Int("attempt", 1)}
	ended := slices.Concat(started, []slog.Attr{slog.String("state", "completed"), slog.Duration("took", time.Millisecond)})
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(context.Background(), slog.LevelDebug, LineStarted, started...)
		log.LogAttrs(context.Background(), slog.LevelDebug, LineEnded, ended...)
	}
}
