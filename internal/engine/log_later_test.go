package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestLinesGoByWhatIsStored: if a job is cancelled, paused or terminated just before its attempt
// ends, the log reports the stored state.
func TestLinesGoByWhatIsStored(t *testing.T) {
	people := map[string]func(b *bed, id store.ID) error{
		"cancelled": func(b *bed, id store.ID) error {
			_, _, err := b.st.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}})
			return err
		},
		"paused": func(b *bed, id store.ID) error {
			_, _, err := b.st.PauseJobs(b.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}})
			return err
		},
		"terminated": func(b *bed, id store.ID) error {
			_, _, err := b.st.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}, Terminate: true})
			return err
		},
	}
	for what, do := range people {
		for _, how := range []string{"fails", "panics", "gives up"} {
			t.Run(what+" "+how, func(t *testing.T) {
				var log logstest.Book
				inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
					open := make(chan struct{})
					b.handle("k", func(context.Context, Attempt) ([]byte, error) {
						<-open
						switch how {
						case "panics":
							panic("a hiccup")
						case "gives up":
							return nil, &usercode.FailError{Err: errBoom}
						}
						return nil, errBoom
					})
					b.run()
					id := b.enqueue(b.job("k"))
					time.Sleep(time.Millisecond)
					if err := do(b, id); err != nil {
						b.t.Fatal(err)
					}
					close(open)
					time.Sleep(time.Millisecond)
					synctest.Wait()
					lines := log.OfKind(t, "k")
					want := ""
					switch {
					case what == "terminated":
						want = "a job's lease was lost before its outcome was stored; the outcome is dropped"
					case how == "panics":
						want = "attempt panicked; the job was cancelled or paused meanwhile"
					case how == "gives up":
						want = "job failed"
					}
					state := b.get(id).State
					if (state == store.Failed) != (want == "job failed") {
						t.Errorf("the job is %v", state)
					}
					switch {
					case want == "" && len(lines) > 0, want != "" && (len(lines) != 1 || lines[0].Text("msg") != want):
						t.Errorf("want %q, have %v", want, lines)
					case want != "":
						lines[0].Whose(t, id, "k", 1)
						if (lines[0].Text("stack") != "") != (how == "panics") || lines[0].Text("error") == "" {
							t.Errorf("%v", lines[0])
						}
					}
				})
			})
		}
	}
}

// stuckLog is a log that blocks on failures until it is released.
type stuckLog struct {
	slog.Handler

	open *chan struct{}
}

func (s stuckLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (s stuckLog) Handle(context.Context, slog.Record) error {
	<-*s.open
	return nil
}

func (s stuckLog) WithAttrs([]slog.Attr) slog.Handler { return s }

// TestStuckLogHoldsUpNothing: a blocked log blocks only its own lines: no commit, no other slot,
// and no other part of the run.
func TestStuckLogHoldsUpNothing(t *testing.T) {
	var open chan struct{}
	inBed(t, Config{Logger: slog.New(stuckLog{slog.DiscardHandler, &open})}, func(b *bed) {
		open = make(chan struct{}) // of the bubble: time advances while a goroutine waits for it
		b.handle("fails", func(context.Context, Attempt) ([]byte, error) { return nil, errBoom }).MaxAttempts = 1
		b.handle("fine", ok)
		first := make(chan struct{})
		b.handle("steps", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			other, err := s.Go("other", func(s *replay.Strand) (any, error) {
				<-first
				return s.Step("second", replay.StepPolicy{}, nothingStep)
			})
			if err != nil {
				return nil, err
			}
			twice := replay.StepPolicy{Attempts: 2, Backoff: store.Backoff{Base: time.Second}}
			_, err = s.Step("first", twice, func(_ context.Context, try int) ([]byte, error) {
				if try == 1 {
					close(first)
					return nil, errBoom
				}
				return nil, nil
			})
			if err != nil {
				return nil, err
			}
			if _, err := s.Await(other); err != nil {
				return nil, err
			}
			if err := s.OnFailure("undo", func(*replay.Strand) error { return errBoom }); err != nil {
				return nil, err
			}
			return nil, &usercode.FailError{Err: errBoom}
		})
		b.run()
		for range 20 {
			b.expect(b.wait(b.enqueue(b.job("fails"))), store.Failed, store.ReasonAttemptsExhausted)
			b.expect(b.wait(b.enqueue(b.job("fine"))), store.Completed, "")
		}
		b.expect(b.wait(b.enqueue(b.job("steps"))), store.Failed, store.ReasonTerminal)
		close(open)
	})
}
