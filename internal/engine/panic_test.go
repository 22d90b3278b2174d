package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// unsteady is a store of which one call panics: the one with the given number, once it is armed.
type unsteady struct {
	*probe
	armed atomic.Bool
	calls atomic.Int64
	at    int64
}

func (u *unsteady) step(what string) {
	if u.armed.Load() && u.calls.Add(1) == u.at {
		panic("a bug in " + what)
	}
}

func (u *unsteady) Now() time.Time {
	u.step("Now")
	return u.probe.Now()
}

func (u *unsteady) Traits() store.Traits {
	u.step("Traits")
	return u.probe.Traits()
}

func (u *unsteady) Notify(wakes ...store.Wake) {
	u.step("Notify")
	u.probe.Notify(wakes...)
}

func (u *unsteady) Apply(ctx context.Context, b *store.Batch) error {
	u.step("Apply")
	return store.ApplyEach(ctx, u.probe, b)
}

func (u *unsteady) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	u.step("Claim")
	return u.probe.Claim(ctx, params)
}

func (u *unsteady) Journals(ctx context.Context, namespace string, jobs []store.ID) ([]store.Journal, error) {
	u.step("Journals")
	return u.probe.Journals(ctx, namespace, jobs)
}

func (u *unsteady) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	u.step("Promote")
	return u.probe.Promote(ctx, limit)
}

func (u *unsteady) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	u.step("Beat")
	return u.probe.Beat(ctx, params)
}

func (u *unsteady) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	u.step("Limits")
	return u.probe.Limits(ctx, namespace, name)
}

func (u *unsteady) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	u.step("Grant")
	return u.probe.Grant(ctx, params)
}

func (u *unsteady) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	u.step("TakePermits")
	return u.probe.TakePermits(ctx, asks)
}

// TestEachCallOfTheStoreMayPanic: a panic in any call costs no process, slot or job, no slot of a
// limit over all nodes, and no rate, and the node leaves cleanly.
func TestEachCallOfTheStoreMayPanic(t *testing.T) {
	t.Parallel()
	limited := func(of store.LimitSettings) func(b *bed) []*store.Enqueue {
		return func(b *bed) []*store.Enqueue {
			l := store.Limit{Namespace: b.job("plain").Job.Namespace, Name: "all", LimitSettings: of}
			if _, err := b.st.SaveLimit(b.t.Context(), l, 0, ""); err != nil {
				b.t.Fatal(err)
			}
			return []*store.Enqueue{b.job("plain"), b.job("durable"), b.job("plain")}
		}
	}
	scenes := map[string]func(*bed) []*store.Enqueue{
		"has a limit": limited(store.LimitSettings{Capacity: 1}),
		"has a rate":  limited(store.LimitSettings{Uncapped: true, Rate: &store.Rate{Count: 10, Per: time.Second}}),
		"ends":        func(b *bed) []*store.Enqueue { return []*store.Enqueue{b.job("plain"), b.job("plain")} },
		"remembers":   func(b *bed) []*store.Enqueue { return []*store.Enqueue{b.job("durable")} },
		"is late": func(b *bed) []*store.Enqueue {
			return []*store.Enqueue{b.job("slow", func(e *store.Enqueue) { e.Job.MaxAttempts = 2 })}
		},
		"is stuck": func(b *bed) []*store.Enqueue {
			return []*store.Enqueue{b.job("deaf", func(e *store.Enqueue) { e.Job.MaxAttempts = 2 })}
		},
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls int64
			for at := int64(0); at <= calls && !t.Failed(); at++ { // no call panics the first time
				inBed(t, Config{Node: NodeConfig{Slots: 1, StuckAfter: time.Second}}, func(b *bed) {
					if n := b.survives(at, scene); at == 0 {
						calls = n
					}
				})
			}
			if calls < 10 || calls > 300 {
				t.Errorf("there were %d calls", calls)
			}
		})
	}
}

// survives runs the jobs of a scene while one call of the store panics, and returns the number of
// calls until they had ended.
func (b *bed) survives(at int64, scene func(*bed) []*store.Enqueue) (calls int64) {
	b.t.Helper()
	if err := b.e.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	b.st = &probe{Store: model.New(time.Now)}
	u := &unsteady{probe: b.st, at: at}
	b.e = New(u, b.cfg)
	b.handle("plain", ok)
	b.handle("durable", func(_ context.Context, r Attempt) ([]byte, error) {
		s := r.Main()
		if err := s.Sleep(await.Limit{Within: 10 * time.Millisecond, Set: true}); err != nil {
			return nil, err
		}
		return s.Step("step", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return []byte(`1`), nil })
	})
	b.handle("slow", until).Timeout = 100 * time.Millisecond
	b.handle("deaf", func(context.Context, Attempt) ([]byte, error) { time.Sleep(time.Minute); return nil, nil }).Timeout = time.Second
	jobs := scene(b)
	b.run()
	u.armed.Store(true)
	if err := b.e.Enqueue(b.t.Context(), jobs); err != nil {
		for _, q := range jobs { // the call that panicked was theirs, and returned an error
			q.Err = nil
		}
		b.enqueue(jobs...)
	}
	ended := func(q *store.Enqueue) bool { return b.get(q.Job.ID).State.Finished() }
	for wait := time.Duration(0); wait < 3*time.Minute && !slices.ContainsFunc(jobs, ended); wait += 50 * time.Millisecond {
		time.Sleep(50 * time.Millisecond)
	}
	calls = u.calls.Load()
	time.Sleep(time.Minute)
	synctest.Wait()
	u.armed.Store(false)
	for _, q := range jobs {
		if rec := b.get(q.Job.ID); !rec.State.Finished() || rec.Attempt > 3 {
			b.t.Errorf("call %d: the job is %v, attempt %d: %+v", at, rec.State, rec.Attempt, rec.Attempts)
		}
	}
	if h := b.runner().Health(); h.Running != 0 || h.Pending != 0 {
		b.t.Errorf("call %d: %+v", at, h)
	}
	b.expect(b.wait(b.enqueue(b.job("plain"))), store.Completed, "")
	b.halt()
	if b.t.Failed() {
		b.t.Logf("the troubles after call %d: %+v", at, b.runner().Health().Troubles)
	}
	return calls
}

// TestPanicsOfStrands: each ends the run with its own text and stack, whichever strand awaits it;
// none is lost.
func TestPanicsOfStrands(t *testing.T) {
	for name, test := range map[string]struct {
		run  func(s *replay.Strand, start func(*replay.Strand) *await.Future) error
		said string
	}{
		"awaited": {func(s *replay.Strand, start func(*replay.Strand) *await.Future) error {
			_, err := s.Await(start(s))
			return err
		}, "attempt panicked"},
		"awaited by another": {func(s *replay.Strand, start func(*replay.Strand) *await.Future) error {
			other, err := s.Go("other", func(s *replay.Strand) (any, error) { return s.Await(start(s)) })
			if err != nil {
				return err
			}
			_, err = s.Await(other)
			return err
		}, "attempt panicked"},
		"left alone": {func(s *replay.Strand, start func(*replay.Strand) *await.Future) error {
			start(s)
			return s.Sleep(await.Limit{Within: time.Millisecond, Set: true})
		}, "attempt panicked"},
		"left alone by a failure": {func(s *replay.Strand, start func(*replay.Strand) *await.Future) error {
			start(s)
			time.Sleep(time.Millisecond)
			return errBoom
		}, "a function started with holdfast.Go panicked"},
		"of a parked run": {func(s *replay.Strand, start func(*replay.Strand) *await.Future) error {
			start(s)
			return s.Sleep(await.Limit{Within: time.Hour, Set: true})
		}, "a function started with holdfast.Go panicked"},
		"after the end": {func(s *replay.Strand, _ func(*replay.Strand) *await.Future) error {
			_, err := s.Go("late", func(*replay.Strand) (any, error) { time.Sleep(time.Second); return spill() })
			return err
		}, "a function started with holdfast.Go panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logstest.Book
			inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					s := r.Main()
					if r.Job().Attempt > 1 {
						return nil, nil
					}
					return nil, test.run(s, func(s *replay.Strand) *await.Future {
						f, err := s.Go("spills", func(*replay.Strand) (any, error) { return spill() })
						if err != nil {
							t.Error(err)
						}
						return f
					})
				})
				b.run()
				id := b.enqueue(b.job("k"))
				time.Sleep(30 * time.Minute)
				lines := slices.DeleteFunc(log.OfKind(t, "k"), func(e logstest.Entry) bool { return e.Text("stack") == "" })
				if len(lines) != 1 || !strings.HasPrefix(lines[0].Text("msg"), test.said) || lines[0].Text("level") != "ERROR" {
					t.Fatalf("%v", lines)
				}
				e := lines[0]
				e.Whose(t, id, "k", 1)
				if e.Text("error") != "panic: milk" || !strings.Contains(e.Text("stack"), "engine.spill") {
					t.Errorf("%v", e)
				}
				if test.said == "attempt panicked" {
					if a := b.get(id).Attempts; len(a) != 1 || a[0].Error != "panic: milk" || a[0].Trace != e.Text("stack") {
						t.Errorf("%+v", a)
					}
				}
			})
		})
	}
}

func spill() (any, error) { panic("milk") }

// TestStrandsThatWaitForEachOther: a deadlock is reported at once.
func TestStrandsThatWaitForEachOther(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("itself", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			var f *await.Future
			ready := make(chan struct{})
			f, err := s.Go("self", func(s *replay.Strand) (any, error) { <-ready; return s.Await(f) })
			if err != nil {
				return nil, err
			}
			close(ready)
			_, err = s.Await(f)
			return nil, err
		}).MaxAttempts = 1
		b.handle("each other", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			var f, g *await.Future
			ready := make(chan struct{})
			f, err := s.Go("one", func(s *replay.Strand) (any, error) { <-ready; return s.Select([]await.Thing{g}) })
			if err != nil {
				return nil, err
			}
			g, err = s.Go("two", func(s *replay.Strand) (any, error) { <-ready; return s.Await(f) })
			if err != nil {
				return nil, err
			}
			close(ready)
			// A strand that also waits for something else goes on.
			timer, err := s.Timer(await.Limit{Within: 10 * time.Second, Set: true})
			if err != nil {
				return nil, err
			}
			if i, err := s.Select([]await.Thing{f, timer}); i != 1 || err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
			_, err = s.Await(g)
			return nil, err
		}).MaxAttempts = 1
		b.run()
		for kind, want := range map[string]string{
			"itself": "they wait for strand self; strand self", "each other": "they wait for strand two; strand one; the first of: strand two",
		} {
			began := time.Now()
			ended := b.wait(b.enqueue(b.job(kind)))
			b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
			for part := range strings.SplitSeq(want[len("they wait for "):], "; ") {
				if !strings.Contains(ended.Error, part) {
					t.Errorf("%s: %s", kind, ended.Error)
				}
			}
			if !strings.HasPrefix(ended.Error, store.ErrInvalid.Error()) || !strings.Contains(ended.Error, "wait for each other") {
				t.Errorf("%s: %s", kind, ended.Error)
			}
			if took := time.Since(began); took > 11*time.Second {
				t.Errorf("%s took %v", kind, took)
			}
		}
	})
}
