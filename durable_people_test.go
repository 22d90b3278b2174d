package holdfast_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

func TestFailedRunResumesFromItsLastStep(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var a, b atomic.Int64
		var broken atomic.Bool
		broken.Store(true)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int64, error) {
			if _, err := holdfast.Step(run, "a", count(&a)); err != nil {
				return 0, err
			}
			return holdfast.Step(run, "b", func(context.Context) (int64, error) {
				if broken.Load() {
					return 0, errors.New("the printer is out of paper")
				}
				return b.Add(1), nil
			})
		}, holdfast.MaxAttempts(2))
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Fatal(err)
		}
		if got := f.kinds(job.ID); got != "step 1, step failed 2" {
			t.Error(got)
		}
		broken.Store(false)
		if _, err := resume(t.Context(), f.hf, "paper is in", job.ID); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != 1 || a.Load() != 1 {
			t.Errorf("%d, step a ran %d times", got, a.Load())
		}
		for what, again := range map[string]func(context.Context, string, ...holdfast.ID) ([]store.Result, error){
			"resume": f.hf.Resume, "retry": f.hf.Retry,
		} {
			results, err := again(t.Context(), "", job.ID)
			if err != nil || results[0].State != store.Completed || !errors.Is(results[0].Err, holdfast.ErrConflict) {
				t.Errorf("%s of a completed job: %+v, %v", what, results, err)
			}
		}
		fork, err := f.hf.Fork(t.Context(), "again", job.ID, holdfast.Fork{From: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if got := result(f, holdfast.NewKind[int, int64]("flow").Job(f.hf, fork)); got != 2 || a.Load() != 1 {
			t.Errorf("the fork: %d, step a ran %d times", got, a.Load())
		}
	})
}

// TestForkIsRepeated: a fork whose answer was lost can be retried, whatever has happened to the old
// job and the new one meanwhile.
func TestForkIsRepeated(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var a, b atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int64, error) {
			if _, err := holdfast.Step(run, "a", count(&a)); err != nil {
				return 0, err
			}
			return holdfast.Step(run, "b", count(&b))
		})
		result(f, job)
		id := holdfast.NewID()
		again := func(from string) error {
			fork, err := f.hf.Fork(t.Context(), "again", job.ID, holdfast.Fork{From: from, ID: id})
			if err == nil && fork != id {
				t.Errorf("the fork is %s, want %s", fork, id)
			}
			return err
		}
		for range 3 {
			if err := again("b"); err != nil {
				t.Fatal(err)
			}
			if got := result(f, holdfast.NewKind[int, int64]("flow").Job(f.hf, id)); got != 2 || a.Load() != 1 {
				t.Errorf("the fork: %d, step a ran %d times", got, a.Load())
			}
		}
		record, err := f.hf.Get(t.Context(), id)
		if err != nil || record.Options.Source != "fork of "+job.ID.String()+" from b" {
			t.Errorf("its source is %q, %v", record.Options.Source, err)
		}
		for what, err := range map[string]error{
			"from another step": again("a"),
			"from the start":    again(""),
			"of another job":    func() error { _, err := f.hf.Fork(t.Context(), "", id, holdfast.Fork{ID: job.ID}); return err }(),
		} {
			if !errors.Is(err, holdfast.ErrConflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := f.hf.Fork(t.Context(), "", job.ID, holdfast.Fork{ID: holdfast.ID{1}}); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("an id that is none: %v", err)
		}
	})
}

// TestCompensationsAreRemembered: they run on a cancel even if the run has parked and recorded
// nothing else.
func TestCompensationsAreRemembered(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.OnFailure("nothing", func(*holdfast.Run) error { return nil }); err != nil {
				return 0, err
			}
			_, err := holdfast.NewSignal[int]("go").Wait(run)
			return 0, err
		})
		synctest.Wait()
		entries, err := f.hf.JournalEntries(t.Context(), job.ID, 0, 10)
		if err != nil || len(entries) != 1 || entries[0].Kind != "registered" {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}

func TestJournalIsReadInPages(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		proceed := holdfast.NewSignal[int]("go")
		sent := make(chan struct{}) // a finished job takes no messages
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			<-sent
			var n atomic.Int64
			for range 3 {
				if _, err := holdfast.Step(run, "s", count(&n)); err != nil {
					return 0, err
				}
			}
			return proceed.Wait(run)
		})
		for n := range 3 {
			if _, err := proceed.Send(t.Context(), f.hf, job.ID, n); err != nil {
				t.Fatal(err)
			}
		}
		close(sent)
		result(f, job)
		whole, err := f.hf.Journal(t.Context(), job.ID)
		if err != nil || len(whole.Entries) < 3 || len(whole.Messages) != 3 {
			t.Fatalf("%+v, %v", whole, err)
		}
		entries, err := f.hf.JournalEntries(t.Context(), job.ID, 1, 2)
		if diff := cmp.Diff(whole.Entries[1:3], entries); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		for i := range whole.Messages {
			whole.Messages[i].Unread = false
		}
		messages, err := f.hf.JournalMessages(t.Context(), job.ID, 1, 1000)
		if diff := cmp.Diff(whole.Messages[1:], messages); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		_, err = f.hf.JournalEntries(t.Context(), job.ID, 0, 0)
		_, other := f.hf.JournalMessages(t.Context(), job.ID, 0, 1001)
		if !errors.Is(err, holdfast.ErrInvalid) || !errors.Is(other, holdfast.ErrInvalid) {
			t.Errorf("pages without a limit: %v, %v", err, other)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var steps atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int64, error) {
			for range 10 {
				if _, err := holdfast.Step(run, "s", count(&steps)); err != nil {
					return 0, err
				}
				if err := run.Sleep(time.Minute); err != nil {
					return 0, err
				}
			}
			return steps.Load(), nil
		})
		time.Sleep(150 * time.Second)
		results, err := f.hf.Pause(t.Context(), "lunch", job.ID)
		if err != nil || results[0].Err != nil || results[0].State != store.Waiting {
			t.Fatalf("%+v, %v", results, err)
		}
		time.Sleep(time.Hour)
		if n := steps.Load(); n != 3 {
			t.Errorf("%d steps while it is paused", n)
		}
		if _, err := resume(t.Context(), f.hf, "back", job.ID); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != 10 {
			t.Error(got)
		}
	})
}

func TestTerminateCompensatesNothing(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var undone, cause atomic.Value
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			err := run.OnFailure("undo", func(*holdfast.Run) error { undone.Store(true); return nil })
			if err != nil {
				return 0, err
			}
			if err := run.Sleep(time.Hour); err != nil {
				return 0, err
			}
			return holdfast.Step(run, "long", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				cause.Store(context.Cause(ctx))
				return 0, ctx.Err()
			})
		})
		time.Sleep(2 * time.Hour) // it is in its step
		results, err := f.hf.Terminate(t.Context(), "now", job.ID)
		if err != nil || results[0].Err != nil || results[0].State != store.Cancelled {
			t.Fatalf("%+v, %v", results, err)
		}
		time.Sleep(time.Minute)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Cancelled || record.Reason != "terminated" || record.Error != "now" {
			t.Errorf("%v (%s: %s), %v", record.State, record.Reason, record.Error, err)
		}
		if undone.Load() != nil {
			t.Error("it was compensated")
		}
		if got, _ := cause.Load().(error); got == nil {
			t.Error("the handler of a job that was terminated goes on")
		}
	})
}

func TestChildrenOfACancelledParent(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		long := holdfast.NewKind[int, int]("long")
		if err := long.Handle(f.hf, func(run *holdfast.Run, _ int) (int, error) { return 0, run.Sleep(100 * time.Hour) }); err != nil {
			t.Fatal(err)
		}
		var children [3]atomic.Value
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			for i, policy := range []store.ClosePolicy{store.CancelChild, store.AbandonChild, store.TerminateChild} {
				c, err := long.Start(run, i, holdfast.OnParentClose(policy))
				if err != nil {
					return 0, err
				}
				children[i].Store(c.ID)
			}
			return 0, run.Sleep(100 * time.Hour)
		})
		time.Sleep(time.Hour)
		if err := job.Cancel(t.Context(), "no more"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for i, want := range []struct {
			state  store.State
			reason store.Reason
		}{{store.Cancelled, "cancelled"}, {store.Waiting, ""}, {store.Cancelled, "terminated"}} {
			id, _ := children[i].Load().(holdfast.ID)
			record, err := f.hf.Get(t.Context(), id)
			if err != nil || record.State != want.state || record.Reason != want.reason || record.Parent != job.ID {
				t.Errorf("child %d: %v (%s), %v", i, record.State, record.Reason, err)
			}
		}
	})
}

// TestForkOfACallbackThatHasBeaten: a fork after a heartbeat without an answer is refused, because
// the answer would go to the old job.
func TestForkOfACallbackThatHasBeaten(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tokens := make(chan string, 10)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			callback, err := run.Callback("bank")
			if err != nil {
				return 0, err
			}
			tokens <- callback.Token
			if _, err := holdfast.Step(run, "tell", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return 0, err
			}
			var answer int
			return answer, callback.Wait(run, &answer)
		})
		time.Sleep(time.Minute)
		token := <-tokens
		if err := f.hf.HeartbeatCallback(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if _, err := f.hf.Fork(t.Context(), "", job.ID, holdfast.Fork{From: "tell"}); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a fork whose callback has no answer: %v", err)
		}
		if err := f.hf.CompleteCallback(t.Context(), token, 3); err != nil {
			t.Fatal(err)
		}
		_ = result(f, job)
	})
}
