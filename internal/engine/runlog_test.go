package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// logged returns the messages that are kept of a job, as "attempt: message".
func (b *bed) logged(id store.ID) (lines []string) {
	b.t.Helper()
	chunks, err := b.st.Logs(b.t.Context(), store.LogParams{Job: id, Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range chunks {
		for line := range strings.Lines(string(c.Lines)) {
			var r runlog.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				b.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%d: %s", c.Attempt, r.Message))
		}
	}
	return lines
}

func (b *bed) wantLogged(id store.ID, want ...string) {
	b.t.Helper()
	if got := b.logged(id); strings.Join(got, "|") != strings.Join(want, "|") {
		b.t.Fatalf("logged: %q, want %q", got, want)
	}
}

// TestLogsAreThereWhenTheJobHasEnded: of each attempt, and with other lines the outcome writes
// nothing more than one transaction.
func TestLogsAreThereWhenTheJobHasEnded(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelWarn)}, func(b *bed) {
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			l := r.Logger(r.Main(), nil)
			l.Debug("not kept")
			l.Info(fmt.Sprint("try ", r.Job().Attempt)) //nolint:sloglint // any message
			if r.Job().Attempt == 1 {
				return nil, &usercode.RetryError{Delay: time.Second, Err: errBoom}
			}
			return nil, nil
		})
		b.handle("silent", func(context.Context, Attempt) ([]byte, error) { return nil, nil })
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		b.wantLogged(id, "1: try 1", "2: try 2")
		kept := b.st.kept
		silent := b.enqueue(b.job("silent"))
		b.expect(b.wait(silent), store.Completed, "")
		if b.st.kept != kept || kept != 2 {
			b.t.Errorf("lines were written %d times, and then %d times for a job that logs nothing", kept, b.st.kept-kept)
		}
	})
}

// TestLogsOfARunThatGoesOn are written every second, of all runs together.
func TestLogsOfARunThatGoesOn(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		open := make(chan struct{})
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			r.Logger(r.Main(), nil).Info("one")
			<-open
			return nil, nil
		})
		b.run()
		ids := []store.ID{b.enqueue(b.job("k")), b.enqueue(b.job("k")), b.enqueue(b.job("k"))}
		time.Sleep(runlog.Every / 2)
		b.wantLogged(ids[0])
		time.Sleep(runlog.Every)
		for _, id := range ids {
			b.wantLogged(id, "1: one")
		}
		if b.st.kept != 1 {
			b.t.Errorf("the lines of three runs were written %d times", b.st.kept)
		}
		close(open)
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
		if b.st.kept != 1 {
			b.t.Errorf("runs without further lines have written some")
		}
	})
}

// TestLogsHoldUpNothing: neither a database that hangs while it is given lines nor one that fails
// lets a handler wait, or a run fail.
func TestLogsHoldUpNothing(t *testing.T) {
	for name, fail := range map[string]error{
		"hangs": nil, "is away": store.ErrUnavailable, "refuses": store.ErrInvalid,
	} {
		t.Run(name, func(t *testing.T) {
			var log logstest.Book
			beats := NodeConfig{Beat: 200 * time.Millisecond} // so that a lease without work is seen at once
			inBed(t, Config{Logger: log.Logger(t, slog.LevelWarn), Node: beats}, func(b *bed) {
				var broken atomic.Bool
				broken.Store(true)
				b.st.hook(func(p *probe) {
					p.onLogs = func(ctx context.Context, _ []store.LogChunk) error {
						if !broken.Load() {
							return nil
						}
						if fail == nil {
							<-ctx.Done()
							return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
						}
						return fail
					}
				})
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					began := time.Now()
					for range 10 {
						r.Logger(r.Main(), nil).Info("line")
					}
					if time.Since(began) > 0 {
						t.Error("the handler has waited")
					}
					return nil, nil
				})
				b.run()
				began := time.Now()
				id := b.enqueue(b.job("k"))
				b.expect(b.wait(id), store.Completed, "")
				if took := time.Since(began); took > runlog.EndPatience+100*time.Millisecond {
					b.t.Errorf("the job took %v", took)
				}
				if given := log.Lines(t, "a job had a lease of this node"); len(given) > 0 {
					b.t.Errorf("the lease was given up: %v", given)
				}
				broken.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := len(b.logged(id)); fail == store.ErrInvalid { //nolint:errorlint // the very one
					log.Only(t, "WARN", "lines that runs have logged could not be stored", map[string]string{"lines": "10"})
				} else if n != 10 {
					b.t.Errorf("%d lines are there in the end", n)
				}
			})
		})
	}
}

// TestLogsAreBounded: in memory while the database is away, and in the database.
func TestLogsAreBounded(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var away atomic.Bool
		b.st.hook(func(p *probe) {
			p.onLogs = func(context.Context, []store.LogChunk) error {
				if away.Load() {
					return store.ErrUnavailable
				}
				return nil
			}
		})
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			l := r.Logger(r.Main(), nil)
			for i := range 3 * store.LogRunLines {
				if i%700 == 0 {
					time.Sleep(2 * runlog.Every)
				}
				l.Info(strconv.Itoa(i + 1)) //nolint:sloglint // any message
			}
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		b.wantLast(id, 3*store.LogRunLines)
		away.Store(true)
		id = b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		away.Store(false)
		time.Sleep(time.Minute)
		b.wantLast(id, 3*store.LogRunLines)
	})
}

// wantLast checks that the last lines are kept, up to one, and that all numbers fit.
func (b *bed) wantLast(id store.ID, last int) {
	b.t.Helper()
	chunks, err := b.st.Logs(b.t.Context(), store.LogParams{Job: id, Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	n := 0
	for _, c := range chunks {
		number := c.First
		for line := range strings.Lines(string(c.Lines)) {
			if want := fmt.Sprintf(`"msg":"%d"`, number); !strings.Contains(line, want) {
				b.t.Fatalf("line %d is %s", number, line)
			}
			number, n = number+1, n+1
		}
		if number != c.First+int64(c.Count) {
			b.t.Fatalf("the chunk %d has %d lines, not %d", c.First, number-c.First, c.Count)
		}
	}
	if n > store.LogRunLines || n < store.LogRunLines-200 {
		b.t.Fatalf("%d lines are kept", n)
	}
	if end := chunks[len(chunks)-1]; end.First+int64(end.Count)-1 != int64(last) {
		b.t.Fatalf("the last line is not kept: %d.%d", end.First, end.Count)
	}
}

// TestLogsOfReplaysAreNotRepeated: what a durable function has logged is there once, however often
// it is replayed, also what it logs before it waits, in strands, and in steps that are tried again.
func TestLogsOfReplaysAreNotRepeated(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			say := func(what string) { r.Logger(s, nil).Info(what) } //nolint:sloglint // any message
			say("begin")
			_, err := s.Step("a", replay.StepPolicy{}, func(_ context.Context, try int) ([]byte, error) {
				say(fmt.Sprint("in a ", try))
				return []byte("1"), nil
			})
			if err != nil {
				return nil, err
			}
			say("after a")
			for i := range 3 {
				if err := s.Sleep(await.Limit{Within: 5 * time.Second, Set: true}); err != nil {
					return nil, err
				}
				say(fmt.Sprint("woken ", i))
			}
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		b.wantLogged(id, "1: begin", "1: in a 1", "1: after a", "1: woken 0", "1: woken 1", "1: woken 2")
	})
}

// TestLogsCanBeTurnedOff, and have a level.
func TestLogsCanBeTurnedOff(t *testing.T) {
	for name, c := range map[string]struct {
		config runlog.Config
		want   []string
	}{
		"off":   {runlog.Config{Off: true}, nil},
		"warn":  {runlog.Config{Level: slog.LevelWarn}, []string{"1: warn"}},
		"debug": {runlog.Config{Level: slog.LevelDebug}, []string{"1: debug", "1: info", "1: warn"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log logstest.Book
			inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo), Logs: c.config}, func(b *bed) {
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					l := r.Logger(r.Main(), nil)
					l.Debug("debug")
					l.Info("info")
					l.Warn("warn")
					return nil, nil
				})
				b.run()
				id := b.enqueue(b.job("k"))
				b.expect(b.wait(id), store.Completed, "")
				b.wantLogged(id, c.want...)
				if len(log.OfKind(t, "k")) != 2 {
					t.Errorf("the node's logger has %v", log.OfKind(t, "k"))
				}
			})
		})
	}
}
