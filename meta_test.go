package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

type phase struct {
	Phase string `json:"phase"`
}

// says checks the metadata and the tags of a job.
func says(t *testing.T, hf *holdfast.Client, id holdfast.ID, metadata string, tags ...string) {
	t.Helper()
	r, err := hf.Get(context.WithoutCancel(t.Context()), id)
	if err != nil || string(r.Metadata) != metadata || !slices.Equal(r.Tags, tags) {
		t.Errorf("the job, %s, says %s and %q, want %s and %q (%v)", r.State, r.Metadata, r.Tags, metadata, tags, err)
	}
}

// TestSayWithTheOutcome: what a plain job says is there with its end, whatever that is, or with a
// checkpoint.
func TestSayWithTheOutcome(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[string, int]("plain", holdfast.MaxAttempts(1), holdfast.Tags("old"))
		err := kind.Handle(hf, func(run *holdfast.Run, how string) (int, error) {
			if err := errors.Join(run.SetMetadata(phase{"first"}), run.SetTags("a", "b"), run.SetMetadata(phase{how})); err != nil {
				return 0, err
			}
			switch how {
			case "checkpoint":
				if err := run.SaveCheckpoint(1); err != nil {
					return 0, err
				}
				says(t, hf, run.ID(), `{"phase":"checkpoint"}`, "a", "b")
				return 1, run.SetTags()
			case "fails":
				return 0, errors.New("broken")
			}
			says(t, hf, run.ID(), "", "old")
			return 1, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		for how, tags := range map[string][]string{"completes": {"a", "b"}, "fails": {"a", "b"}, "checkpoint": nil} {
			job, err := kind.Enqueue(ctx, hf, how)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Wait(ctx); (err != nil) != (how == "fails") {
				t.Fatal(err)
			}
			says(t, hf, job.ID, fmt.Sprintf(`{"phase":%q}`, how), tags...)
		}
	})
}

// TestSayIsRefused: what no enqueue would take.
func TestSayIsRefused(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var kept *holdfast.Run
		job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
			kept = run
			for what, err := range map[string]error{
				"no object": run.SetMetadata([]int{1}), "no JSON": run.SetMetadata(make(chan int)), "an empty tag": run.SetTags(""),
			} {
				if !errors.Is(err, holdfast.ErrInvalid) {
					t.Errorf("%s: %v", what, err)
				}
			}
			strand, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) { return 0, run.SetTags("x") })
			if err != nil {
				return 0, err
			}
			if _, err := strand.Wait(run); !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("in a strand: %v", err)
			}
			return 1, nil
		})
		result(f, job)
		says(t, f.hf, job.ID, "")
		if err := kept.SetTags("late"); err != nil && !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("after the end: %v", err)
		}
		says(t, f.hf, job.ID, "")
	})
}

// TestReplaySaysNothingAgain: what was said before an operation that the journal holds is not
// written a second time, over what people have changed since; what comes after it is.
func TestReplaySaysNothingAgain(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var runs atomic.Int64
		job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
			runs.Add(1)
			if err := run.SetMetadata(phase{"one"}); err != nil {
				return 0, err
			}
			if _, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return 0, err
			}
			if err := run.Sleep(time.Hour); err != nil {
				return 0, err
			}
			if err := run.SetTags("slept"); err != nil {
				return 0, err
			}
			return 1, run.Sleep(time.Hour)
		})
		time.Sleep(time.Minute)
		says(t, f.hf, job.ID, `{"phase":"one"}`)
		if err := f.hf.Edit(t.Context(), "", job.ID, holdfast.Metadata(phase{"people"}), holdfast.Tags("people")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		says(t, f.hf, job.ID, `{"phase":"people"}`, "slept")
		if err := f.hf.EditTags(t.Context(), "", job.ID, nil, []string{"slept"}); err != nil {
			t.Fatal(err)
		}
		result(f, job)
		says(t, f.hf, job.ID, `{"phase":"people"}`)
		if n := runs.Load(); n != 3 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestAWaitThatEndsSaysItAgain: nothing of a wait for a signal is in the journal before it has
// come, so that what was said before it is said with it.
func TestAWaitThatEndsSaysItAgain(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.SetMetadata(phase{"waits"}); err != nil {
				return 0, err
			}
			if _, err := flowSignal.Wait(run); err != nil {
				return 0, err
			}
			return 1, run.Sleep(time.Hour)
		})
		time.Sleep(time.Minute)
		says(t, f.hf, job.ID, `{"phase":"waits"}`)
		people := func() {
			if err := f.hf.Edit(t.Context(), "", job.ID, holdfast.Metadata(phase{"people"})); err != nil {
				t.Fatal(err)
			}
		}
		people()
		if _, err := flowSignal.Send(t.Context(), f.hf, job.ID, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		says(t, f.hf, job.ID, `{"phase":"waits"}`)
		people()
		result(f, job)
		says(t, f.hf, job.ID, `{"phase":"people"}`)
	})
}

// TestARunThatIsBehindSaysNothing: an attempt that ends before it has come to where the journal
// ends does not write what it said on the way, which it has said otherwise since.
func TestARunThatIsBehindSaysNothing(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var runs atomic.Int64
		job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
			n := runs.Add(1)
			for i, said := range []string{"one", "two"} {
				if err := run.SetMetadata(phase{said}); err != nil {
					return 0, err
				}
				if n == 2 && i == 0 {
					return 0, errors.New("too early")
				}
				if _, err := holdfast.Step(run, said, func(context.Context) (int, error) { return 1, nil }); err != nil {
					return 0, err
				}
			}
			if n == 1 {
				return 0, errors.New("later")
			}
			return 1, run.Sleep(time.Hour)
		})
		eventually(t, "three attempts", func() bool { return runs.Load() == 3 })
		says(t, f.hf, job.ID, `{"phase":"two"}`)
		result(f, job)
		says(t, f.hf, job.ID, `{"phase":"two"}`)
	})
}

// TestARunThatIsBehindInPartsSaysNothing: the same where the journal has nothing at the place that
// the attempt has come to, but of what began there: a strand, children, a request.
func TestARunThatIsBehindInPartsSaysNothing(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]func(run *holdfast.Run, say func() error) error{
		"a strand": func(run *holdfast.Run, say func() error) error {
			if err := say(); err != nil {
				return err
			}
			strand, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) {
				return holdfast.Step(run, "step", func(context.Context) (int, error) { return 1, nil })
			})
			if err == nil {
				_, err = strand.Wait(run)
			}
			return err
		},
		"children": func(run *holdfast.Run, say func() error) error {
			err := say()
			if err == nil {
				_, err = quick.CallAll(run, []int{1, 2}, holdfast.FanOut{})
			}
			return err
		},
		"a request": func(run *holdfast.Run, say func() error) error {
			err := addUp.Handle(run, nil, func(*holdfast.Run, int) (string, error) { return "", nil })
			if err != nil {
				return err
			}
			child, err := quick.Start(run, 1, holdfast.Delay(10*time.Second))
			if err == nil {
				err = say()
			}
			if err == nil {
				_, err = child.Wait(run)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				if err := quick.Handle(f.hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
					t.Fatal(err)
				}
				job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
					err := part(run, func() error {
						if err := run.SetMetadata(phase{"one"}); err != nil || run.Attempt() != 2 {
							return err
						}
						return errors.New("too early")
					})
					if err == nil {
						err = run.SetMetadata(phase{"two"})
					}
					switch {
					case err != nil:
						return 0, err
					case run.Attempt() == 1:
						return 0, errors.New("later")
					}
					return 1, run.Sleep(time.Hour)
				})
				if name == "a request" {
					if _, err := addUp.Call(t.Context(), f.hf, job.ID, 1); err != nil {
						t.Error(err)
					}
				}
				eventually(t, "two attempts", func() bool {
					r, err := job.Get(t.Context())
					return err == nil && len(r.Attempts) == 2 && r.State == store.Retryable
				})
				says(t, f.hf, job.ID, `{"phase":"two"}`)
				result(f, job)
				says(t, f.hf, job.ID, `{"phase":"two"}`)
			})
		})
	}
}

var quick = holdfast.NewKind[int, int]("quick")

// TestCompensationsSay: what a compensation says is written over what the handler had said, and a
// replay of the handler does not undo that.
func TestCompensationsSay(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var undone atomic.Int64
		job := begin(f, 1, func(run *holdfast.Run, _ int) (int, error) {
			err := run.OnFailure("sleep", func(run *holdfast.Run) error {
				return run.Sleep(time.Hour) // the next run replays the handler
			})
			if err != nil {
				return 0, err
			}
			err = run.OnFailure("undo", func(run *holdfast.Run) error {
				if err := run.SetMetadata(phase{"undone"}); err != nil {
					return err
				}
				_, err := holdfast.Step(run, "undo step", count(&undone))
				return err
			})
			if err != nil {
				return 0, err
			}
			if _, err := holdfast.Step(run, "do", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return 0, err
			}
			if err := run.SetMetadata(phase{"failing"}); err != nil {
				return 0, err
			}
			return 0, holdfast.Fail(errors.New("no"))
		})
		_, err := job.Wait(t.Context())
		if r, _ := job.Get(t.Context()); err == nil || r.State != store.Failed || undone.Load() != 1 {
			t.Errorf("%v, %s, undone %d times", err, r.State, undone.Load())
		}
		says(t, f.hf, job.ID, `{"phase":"undone"}`)
	})
}

// TestSayInAStep: what is said before a step, or in its function, is there with its result.
func TestSayInAStep(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[int, int]("said")
		err := kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			if err := errors.Join(run.SetTags("before"), run.SetMetadata(phase{"before"})); err != nil {
				return 0, err
			}
			_, err := holdfast.Step(run, "plain", func(context.Context) (int, error) { return 1, run.SetMetadata(phase{"inside"}) })
			if err != nil {
				return 0, err
			}
			says(t, hf, run.ID(), `{"phase":"inside"}`, "before")
			return 1, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(ctx, hf, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		says(t, hf, job.ID, `{"phase":"inside"}`, "before")
	})
}
