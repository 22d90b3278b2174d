package holdfast_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// sink is what a logger writes to.
type sink struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *sink) logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// TestWithLogger: without a logger, or with nil, it is slog.Default at Open. The test is not
// parallel, because it changes that.
func TestWithLogger(t *testing.T) {
	failing := holdfast.NewKind[int, int]("failing")
	before := slog.Default()
	for name, test := range map[string]struct {
		opts    func(given *sink) []holdfast.Option
		toGiven bool
		toOwn   bool
	}{
		"none": {func(*sink) []holdfast.Option { return nil }, false, true},
		"nil":  {func(*sink) []holdfast.Option { return []holdfast.Option{holdfast.WithLogger(nil)} }, false, true},
		"one":  {func(s *sink) []holdfast.Option { return []holdfast.Option{holdfast.WithLogger(s.logger())} }, true, false},
		"silent": {func(*sink) []holdfast.Option {
			return []holdfast.Option{holdfast.WithLogger(slog.New(slog.DiscardHandler))}
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			own, given := &sink{}, &sink{}
			slog.SetDefault(own.logger())
			hf := open(t, test.opts(given)...)
			slog.SetDefault(before)
			err := failing.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
				run.Logger(nil).Warn("said by the handler")
				return 0, holdfast.Fail(errors.New("boom"))
			})
			if err != nil {
				t.Fatal(err)
			}
			run(t, hf)
			job, err := failing.Enqueue(t.Context(), hf, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
				t.Fatalf("the job: %v", err)
			}
			if err := hf.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`level=ERROR msg="job failed"`, "error=boom", "said by the handler", "job=" + job.ID.String(), "node=1"} {
				if strings.Contains(own.String(), want) != test.toOwn || strings.Contains(given.String(), want) != test.toGiven {
					t.Errorf("%s: slog.Default() has %q, the given one %q", want, own, given)
				}
			}
		})
	}
}

// TestLinesOfSeveralNamespaces: where a client serves several, the lines of nodes and of jobs tell
// them apart; where it serves one, they do not name it.
func TestLinesOfSeveralNamespaces(t *testing.T) {
	t.Parallel()
	for _, spaces := range [][]string{{"default"}, {"default", "other"}} {
		var log sink
		hf := open(t, holdfast.WithLogger(log.logger()))
		failing := holdfast.NewKind[int, int]("failing")
		clients := map[string]*holdfast.Client{}
		for _, space := range spaces {
			in, err := hf.In(space)
			if err == nil {
				err = failing.Handle(in, func(run *holdfast.Run, _ int) (int, error) {
					run.Logger(nil).Warn("said by the handler")
					return 0, holdfast.Fail(errors.New("boom"))
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			clients[space] = in
		}
		for _, in := range clients {
			run(t, in)
			job, err := failing.Enqueue(t.Context(), in, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
				t.Fatal(err)
			}
		}
		for _, in := range clients {
			if err := in.Stop(t.Context()); err != nil { // which flushes the lines
				t.Fatal(err)
			}
		}
		for _, msg := range []string{"node started", "job failed", "said by the handler"} {
			for _, space := range spaces {
				found := 0
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, `msg="`+msg+`"`) && strings.Count(line, "namespace=") == 1 && strings.Contains(line, "namespace="+space) {
						found++
					}
				}
				if want := len(spaces) - 1; found != want {
					t.Errorf("%d lines %q of %s, want %d; the log is\n%s", found, msg, space, want, log.String())
				}
			}
		}
	}
}
