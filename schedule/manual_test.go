package schedule_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// until handles jobs that take a time, or until they are asked to stop.
func until(t *testing.T, hf *holdfast.Client, takes time.Duration) {
	t.Helper()
	err := report.Handle(hf, func(run *holdfast.Run, _ string) (int, error) {
		select {
		case <-run.Done():
		case <-time.After(takes):
		}
		return 0, run.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// states are those of jobs.
func states(t *testing.T, hf *holdfast.Client, jobs ...store.ID) (all []store.State) {
	t.Helper()
	for _, id := range jobs {
		job, err := hf.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, job.State)
	}
	return all
}

// TestBackfillIsNotReplaced: the next job of the clock replaces the one of the clock, whatever was
// backfilled meanwhile.
func TestBackfillIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, policy := range []store.Overlap{schedule.CancelOther, schedule.TerminateOther} {
		for _, atOnce := range []bool{false, true} {
			holdfasttest.Run(t, func(env *holdfasttest.Env) {
				t, hf, ctx := env.T, env.Client, env.T.Context()
				until(t, hf, 150*time.Minute)
				env.Start()
				made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Cron("@hourly", ""), report.Item("x"),
					schedule.Overlap(policy))))
				env.Advance(61 * time.Minute)
				s := made(t)(schedule.Get(ctx, hf, "s"))
				clock := s.Last
				if b, err := schedule.Backfill(ctx, hf, "s", schedule.Range{
					From: s.Cursor.Add(-24 * time.Hour), To: s.Cursor.Add(-22 * time.Hour), AtOnce: atOnce,
				}); err != nil || b.Enqueued != 2 {
					t.Fatalf("%+v, %v", b, err)
				}
				runs, err := schedule.Runs(ctx, hf, "s", store.ScheduleRun{}, 3)
				if err != nil || len(runs) != 3 {
					t.Fatalf("%+v, %v", runs, err)
				}
				env.Advance(61 * time.Minute)
				for i, is := range states(t, hf, clock, runs[1].Job, runs[2].Job) {
					if (is == store.Cancelled) != (i == 0) {
						t.Errorf("%s, at once %v: job %d is %s", policy, atOnce, i, is)
					}
				}
			})
		}
	}
}

// TestTriggerDies: the leader asks the job to stop that a trigger has replaced whose process died
// before it asked, also if the schedule is paused or over, and does nothing else about that one.
func TestTriggerDies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts   []schedule.Option
		paused bool
	}{
		"it goes on":   {nil, false},
		"it is over":   {[]schedule.Option{schedule.Fires(1)}, false},
		"it is ended":  {[]schedule.Option{schedule.End(time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC))}, false},
		"it is paused": {nil, true},
	} {
		holdfasttest.Run(t, func(env *holdfasttest.Env) {
			t, hf, ctx := env.T, env.Client, env.T.Context()
			until(t, hf, 99*time.Hour)
			env.Start()
			opts := append([]schedule.Option{schedule.Overlap(schedule.CancelOther)}, c.opts...)
			made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Cron("0 1 * * *", ""), report.Item("x"), opts...)))
			env.Advance(90 * time.Minute)
			if c.paused {
				made(t)(schedule.Pause(ctx, hf, "s", ""))
			}
			env.Advance(100 * time.Minute)
			s := made(t)(schedule.Get(ctx, hf, "s"))
			e, _ := access.Engine(hf)
			u := firing.Manual(&s, []time.Time{e.Store.Now().UTC()}, 7, s.Overlap)
			u.Fire.Version = s.Version
			if err := e.Fire(ctx, &u); err != nil {
				t.Fatal(err)
			}
			env.Advance(time.Hour)
			for i, is := range states(t, hf, s.Last, u.Enqueues[0].Job.ID) {
				if want := []store.State{store.Cancelled, store.Running}[i]; is != want {
					t.Errorf("%s: job %d is %s, want %s", name, i, is, want)
				}
			}
			now := made(t)(schedule.Get(ctx, hf, "s"))
			if now.Cancels != (store.ID{}) || !now.NextAt.Equal(s.NextAt) || !now.Cursor.Equal(s.Cursor) || now.Left != s.Left {
				t.Errorf("%s: it is %+v, and was %+v", name, now, s)
			}
			if runs, err := schedule.Runs(ctx, hf, "s", store.ScheduleRun{}, 10); err != nil || len(runs) != 2 {
				t.Errorf("%s: %+v, %v", name, runs, err)
			}
		})
	}
}

// TestTriggerIsDone: a trigger has nothing more to do with the job that it has replaced. If that is
// retried, changes of the schedule leave it alone.
func TestTriggerIsDone(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t, hf, ctx := env.T, env.Client, env.T.Context()
		until(t, hf, 10*time.Minute)
		env.Start()
		before := made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Cron("@yearly", ""), report.Item("x"),
			schedule.Overlap(schedule.CancelOther))))
		first, err := schedule.Trigger(ctx, hf, "s")
		if err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Minute)
		if _, err := schedule.Trigger(ctx, hf, "s"); err != nil {
			t.Fatal(err)
		}
		s := made(t)(schedule.Get(ctx, hf, "s"))
		if s.Cancels != (store.ID{}) || !s.NextAt.Equal(before.NextAt) {
			t.Errorf("it is to ask %v, and the next look is at %v", s.Cancels, s.NextAt)
		}
		env.Advance(time.Hour)
		if _, err := hf.Retry(ctx, "wanted after all", first.Job); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Minute)
		made(t)(schedule.Pause(ctx, hf, "s", ""))
		env.Advance(time.Minute)
		if is := states(t, hf, first.Job)[0]; is != store.Running {
			t.Errorf("the job that was retried is %s", is)
		}
	})
}
