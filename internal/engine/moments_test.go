package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// brokenError is an error whose Error method panics, like that of a nil pointer.
type brokenError struct{ text *string }

func (e *brokenError) Error() string { return *e.text }

// firstRuns are ways in which the first run of a job can end; later runs complete.
var firstRuns = map[string]func(ctx context.Context, r Attempt) ([]byte, error){
	"completes":       func(context.Context, Attempt) ([]byte, error) { return []byte(`1`), nil },
	"fails":           func(context.Context, Attempt) ([]byte, error) { return nil, errBoom },
	"fails for good":  func(context.Context, Attempt) ([]byte, error) { return nil, &usercode.FailError{Err: errBoom} },
	"cancels":         func(context.Context, Attempt) ([]byte, error) { return nil, &usercode.CancelError{Reason: "no"} },
	"snoozes":         func(context.Context, Attempt) ([]byte, error) { return nil, &usercode.SnoozeError{Delay: time.Minute} },
	"asks for more":   func(context.Context, Attempt) ([]byte, error) { return nil, &usercode.RetryError{Delay: time.Minute} },
	"panics":          func(context.Context, Attempt) ([]byte, error) { panic("at the disco") },
	"exits":           func(context.Context, Attempt) ([]byte, error) { runtime.Goexit(); return nil, nil },
	"a broken error":  func(context.Context, Attempt) ([]byte, error) { return nil, &brokenError{} },
	"a foreign lease": func(context.Context, Attempt) ([]byte, error) { return nil, fmt.Errorf("mine: %w", store.ErrLeaseLost) },
	"waits to be told": func(ctx context.Context, _ Attempt) ([]byte, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Hour):
			return nil, nil
		}
	},
}

// firstFlows are the same for durable functions. All of them record a step first.
var firstFlows = map[string]func(s *replay.Strand) ([]byte, error){
	"sleeps": func(s *replay.Strand) ([]byte, error) {
		return nil, s.Sleep(await.Limit{Within: time.Hour, Set: true})
	},
	"sleeps a moment": func(s *replay.Strand) ([]byte, error) {
		return nil, s.Sleep(await.Limit{Within: 10 * time.Millisecond, Set: true})
	},
	"waits": func(s *replay.Strand) ([]byte, error) {
		_, err := s.Receive(&await.Signal{Name: "go"}, await.Limit{})
		return nil, err
	},
	"begins anew": beginOnceMore("k"),
	"contradicts": func(s *replay.Strand) ([]byte, error) { return nil, s.Contradict("a test") },
	"is undone": func(s *replay.Strand) ([]byte, error) {
		return nil, errors.Join(s.OnFailure("undo", func(*replay.Strand) error { return nil }), &usercode.FailError{Err: errBoom})
	},
	"an undo sleeps": func(s *replay.Strand) ([]byte, error) {
		return nil, errors.Join(s.OnFailure("undo", napping), &usercode.FailError{Err: errBoom})
	},
	"a strand waits":   waitInStrand,
	"a step that ends": func(s *replay.Strand) ([]byte, error) { return s.Step("second", replay.StepPolicy{}, slowStep) },
}

func beginOnceMore(kind string) func(s *replay.Strand) ([]byte, error) {
	return func(s *replay.Strand) ([]byte, error) {
		if again, err := isAgain(s); err != nil || again {
			return nil, err
		}
		return nil, &usercode.ContinueError{Kind: kind, Args: []byte(`{}`)}
	}
}

func napping(s *replay.Strand) error { return s.Sleep(await.Limit{Within: time.Minute, Set: true}) }

func waitInStrand(s *replay.Strand) ([]byte, error) {
	f, err := s.Go("strand", func(s *replay.Strand) (any, error) { return s.Receive(&await.Signal{Name: "go"}, await.Limit{}) })
	if err != nil {
		return nil, err
	}
	_, err = s.Await(f)
	return nil, err
}

func slowStep(ctx context.Context, _ int) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(time.Minute):
		return nil, nil
	}
}

// isAgain reports whether the run has continued as new.
func isAgain(s *replay.Strand) (bool, error) {
	key, err := s.IdempotencyKey("")
	return strings.Contains(key, "."), err
}

// requests are what people can request for the job.
var requests = map[string]func(b *bed, id store.ID){
	"nothing":          func(*bed, store.ID) {},
	"pause":            func(b *bed, id store.ID) { b.pause(id) },
	"cancel":           func(b *bed, id store.ID) { b.cancel(id, false) },
	"terminate":        func(b *bed, id store.ID) { b.cancel(id, true) },
	"pause and resume": func(b *bed, id store.ID) { b.pause(id); b.resume(id) },
	"pause and, when the node knows, resume": func(b *bed, id store.ID) {
		b.pause(id)
		time.Sleep(6 * time.Second)
		b.resume(id)
	},
	"pause and cancel": func(b *bed, id store.ID) { b.pause(id); b.cancel(id, false) },
	"cancel and pause": func(b *bed, id store.ID) { b.cancel(id, false); b.pause(id) },
}

func (b *bed) pause(id store.ID) {
	b.t.Helper()
	if _, err := b.e.PauseJobs(b.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}}); err != nil {
		b.t.Fatal(err)
	}
	b.resumed.Store(false)
}

func (b *bed) cancel(id store.ID, terminate bool) {
	b.t.Helper()
	if _, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}, Terminate: terminate}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) resume(id store.ID) {
	b.t.Helper()
	_, err := b.e.Resume(b.t.Context(), store.ResumeParams{Job: id, Keep: -1, Expect: -1})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		b.t.Fatal(err)
	}
	b.resumed.Store(err == nil)
}

// TestEveryEndMeetsEveryRequest makes each request at each moment of a run: while it works, while
// its outcome is being stored, and right after that. Whatever the result, no job is stuck, and no
// panic happens.
func TestEveryEndMeetsEveryRequest(t *testing.T) {
	t.Parallel()
	for name, first := range firstRuns {
		eachMoment(t, name, func(ctx context.Context, r Attempt) ([]byte, error) { return first(ctx, r) })
	}
	for name, first := range firstFlows {
		eachMoment(t, name, func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			if _, err := s.Step("before", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil }); err != nil {
				return nil, err
			}
			return first(s)
		})
	}
}

func eachMoment(t *testing.T, name string, first func(context.Context, Attempt) ([]byte, error)) {
	t.Helper()
	for _, moment := range []string{"works", "ends", "has ended"} {
		for request, ask := range requests {
			for _, attempts := range []int{1, 5} {
				t.Run(fmt.Sprintf("%s/%s/%s/%d", name, moment, request, attempts), func(t *testing.T) {
					t.Parallel()
					meet(t, first, moment, ask, attempts)
				})
			}
		}
	}
}

func meet(t *testing.T, first func(context.Context, Attempt) ([]byte, error), moment string, ask func(*bed, store.ID), attempts int) {
	inBed(t, Config{}, func(b *bed) {
		var begun, told atomic.Bool
		var runs atomic.Int64
		var id store.ID
		tell := func(at string) {
			if at == moment && told.CompareAndSwap(false, true) {
				ask(b, id)
			}
		}
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			if runs.Add(1); begun.Swap(true) && !onNode(r).claimed.Durable {
				return []byte(`2`), nil
			}
			tell("works")
			return first(ctx, r)
		}).MaxAttempts = attempts
		b.run()
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if slices.ContainsFunc(batch.Outcomes, func(o *store.Outcome) bool { return o.Lease.Job == id }) {
					time.Sleep(5 * time.Millisecond) // commits take time
					tell("ends")
				}
				return nil
			}
		})
		q := b.job("k")
		id = q.Job.ID
		b.enqueue(q)
		time.Sleep(time.Second)
		synctest.Wait()
		tell("has ended")
		b.comesToRest(id)
		if n := runs.Load(); n > 100 {
			t.Errorf("the job ran %d times", n)
		}
		if h := b.runner().Health(); len(h.Troubles) > 0 && h.Troubles[0].Part != "the end of a run" {
			t.Errorf("panics: %+v", h.Troubles)
		}
	})
}

// comesToRest does for a job what people would have to do, and expects that it ends within a day.
func (b *bed) comesToRest(id store.ID) {
	b.t.Helper()
	for range 100 {
		rec := b.get(id)
		switch {
		case rec.State.Finished():
			return
		case rec.State == store.Waiting && rec.Wait.Held && rec.Wait.Reason == store.ReasonNondeterminism:
			b.cancel(id, true)
		case rec.State == store.Waiting && rec.Wait.Held:
			if b.resumed.Load() {
				b.t.Error("the job is held after it was resumed")
			}
			b.resume(id)
		case rec.State == store.Waiting && rec.Wait.Until.IsZero():
			if err := b.e.Send(b.t.Context(), []*store.Send{{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}}); err != nil {
				b.t.Fatal(err)
			}
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
	}
	rec := b.get(id)
	b.t.Errorf("the job is stuck: it is %v, lease %+v, wait %+v, cancel requested %v", rec.State, rec.Lease, rec.Wait, rec.CancelRequested)
}
