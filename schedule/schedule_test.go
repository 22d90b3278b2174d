package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

var report = holdfast.NewKind[string, int]("report")

func onDatabases(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(filepath.Join(t.TempDir(), "jobs.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, postgres.URL(ready.Database(t)))
	})
}

func open(t *testing.T, source store.Source) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hf.Close(context.WithoutCancel(t.Context())) })
	return hf
}

// made is one of the functions that return a schedule, of which the test goes on.
func made(t *testing.T) func(store.Schedule, error) store.Schedule {
	return func(s store.Schedule, err error) store.Schedule {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// fired collects what handlers were told.
type fired struct {
	mu    sync.Mutex
	times []string
}

func (f *fired) handle(t *testing.T, hf *holdfast.Client, takes time.Duration) {
	t.Helper()
	err := report.Handle(hf, func(run *holdfast.Run, _ string) (int, error) {
		name, nominal := run.Schedule()
		f.mu.Lock()
		f.times = append(f.times, name+" "+nominal.Format("02 15:04"))
		f.mu.Unlock()
		return 0, run.Sleep(takes)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fired) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.times)
}

// TestInVirtualTime is a schedule's life in a few virtual days. Time begins at midnight of 1
// January 2000.
func TestInVirtualTime(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t, hf, ctx := env.T, env.Client, env.T.Context()
		var f fired
		f.handle(t, hf, 0)
		env.Start()
		made(t)(schedule.Create(ctx, hf, schedule.New("nightly", schedule.Cron("30 2 * * *", "Europe/Berlin"), report.Item("x"))))
		env.Advance(50 * time.Hour)
		want := []string{"nightly 01 01:30", "nightly 02 01:30", "nightly 03 01:30"}
		if got := f.all(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		s := made(t)(schedule.Pause(ctx, hf, "nightly", "vacation"))
		if s.Note != "vacation" || s.PausedBy == "" {
			t.Errorf("%+v", s)
		}
		env.Advance(48 * time.Hour)
		made(t)(schedule.Resume(ctx, hf, "nightly"))
		env.Advance(time.Second)
		if got := f.all(); !slices.Equal(got[3:], []string{"nightly 05 01:30"}) {
			t.Errorf("after the pause %q", got[3:])
		}
		made(t)(schedule.Update(ctx, hf, "nightly", schedule.When(schedule.Every(time.Hour))))
		env.Advance(90 * time.Minute)
		if got := f.all(); !slices.Equal(got[4:], []string{"nightly 05 03:00"}) {
			t.Errorf("after the update %q", got[4:])
		}
		if err := schedule.Delete(ctx, hf, "nightly"); err != nil {
			t.Fatal(err)
		}
		env.Advance(48 * time.Hour)
		if got := f.all(); len(got) != 5 {
			t.Errorf("after it was deleted: %q", got[5:])
		}
	})
}

// TestOverlaps: jobs that take two and a half hours, each hour, by policy.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	for policy, want := range map[store.Overlap][]string{
		schedule.Skip:           {"s 01 01:00", "s 01 04:00", "s 01 07:00"},
		schedule.Allow:          {"s 01 01:00", "s 01 02:00", "s 01 03:00", "s 01 04:00", "s 01 05:00", "s 01 06:00", "s 01 07:00"},
		schedule.BufferOne:      {"s 01 01:00", "s 01 02:00", "s 01 04:00"},
		schedule.BufferAll:      {"s 01 01:00", "s 01 02:00", "s 01 03:00"},
		schedule.CancelOther:    {"s 01 01:00", "s 01 02:00", "s 01 03:00", "s 01 04:00", "s 01 05:00", "s 01 06:00", "s 01 07:00"},
		schedule.TerminateOther: {"s 01 01:00", "s 01 02:00", "s 01 03:00", "s 01 04:00", "s 01 05:00", "s 01 06:00", "s 01 07:00"},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, func(env *holdfasttest.Env) {
				t, hf := env.T, env.Client
				var f fired
				err := report.Handle(hf, func(run *holdfast.Run, _ string) (int, error) {
					name, nominal := run.Schedule()
					if err := holdfast.Do(run, "note", func(context.Context) error {
						f.mu.Lock()
						defer f.mu.Unlock()
						f.times = append(f.times, name+" "+nominal.Format("02 15:04"))
						return nil
					}); err != nil {
						return 0, err
					}
					return 0, run.Sleep(150 * time.Minute)
				})
				if err != nil {
					t.Fatal(err)
				}
				env.Start()
				made(t)(schedule.Create(t.Context(), hf, schedule.New("s", schedule.Cron("@hourly", ""), report.Item("x"), schedule.Overlap(policy))))
				env.Advance(7*time.Hour + time.Minute)
				if got := f.all(); !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

// TestOnDatabases: a schedule fires on a node of another process, and its verbs do what they say.
func TestOnDatabases(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		people, node := open(t, source), open(t, source)
		var f fired
		f.handle(t, node, 0)
		if err := node.Start(ctx); err != nil {
			t.Fatal(err)
		}
		each := schedule.New("each second", schedule.Every(time.Second), report.Item("x"), schedule.Overlap(schedule.Allow))
		s := made(t)(schedule.Create(ctx, people, each))
		if _, err := schedule.Create(ctx, people, each); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("again: %v", err)
		}
		eventually(t, "it has fired", func() bool { return len(f.all()) >= 2 })
		s = made(t)(schedule.Pause(ctx, people, s.Name, "enough"))
		runs, err := schedule.Runs(ctx, people, s.Name, store.ScheduleRun{}, 100)
		if err != nil || int64(len(runs)) != s.Fired || !s.Cursor.Equal(runs[0].Nominal) {
			t.Errorf("%d runs, %+v, %v", len(runs), s, err)
		}
		triggered, err := schedule.Trigger(ctx, people, s.Name)
		if err != nil || triggered.State != store.RunFired || triggered.Manual == 0 {
			t.Fatalf("%+v, %v", triggered, err)
		}
		if err := people.Wait(ctx, triggered.Job); err != nil {
			t.Error(err)
		}
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		r := schedule.Range{From: from, To: from.Add(20 * time.Minute)}
		count, first, more, err := schedule.Preview(ctx, people, s.Name, r, 2)
		if err != nil || count != 1200 || more || !slices.EqualFunc(first, []time.Time{from, from.Add(time.Second)}, time.Time.Equal) {
			t.Errorf("%d, %v, %v, %v", count, first, more, err)
		}
		before := len(f.all())
		done, err := schedule.Backfill(ctx, people, s.Name, r)
		if err != nil || done.Times != 1200 || done.Enqueued != 1200 || done.Number == 0 {
			t.Errorf("%+v, %v", done, err)
		}
		eventually(t, "all are done", func() bool { return len(f.all()) == before+1200 })
		r.Number, r.To = done.Number, r.To.Add(time.Second)
		if again, err := schedule.Backfill(ctx, people, s.Name, r); err != nil || again.Times != 1201 || again.Enqueued != 1 {
			t.Errorf("again, and one more: %+v, %v", again, err)
		}
		if after := made(t)(schedule.Get(ctx, people, s.Name)); !after.Cursor.Equal(s.Cursor) || !after.NextAt.Equal(s.NextAt) {
			t.Errorf("a backfill has moved it: %+v, before %+v", after, s)
		}
	})
}

// TestMoreTimes: one that was over, and is to fire again, fires nothing that has passed.
func TestMoreTimes(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][2]schedule.Option{
		"end": {
			schedule.End(time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC)), schedule.End(time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC)),
		},
		"fires": {schedule.Fires(1), schedule.Fires(50)},
	} {
		holdfasttest.Run(t, func(env *holdfasttest.Env) {
			t, hf, ctx := env.T, env.Client, env.T.Context()
			var f fired
			f.handle(t, hf, 0)
			env.Start()
			made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Cron("@hourly", ""), report.Item("x"), schedule.Overlap(schedule.Allow),
				schedule.CatchUp(24*time.Hour), o[0])))
			env.Advance(100*time.Hour + 30*time.Minute)
			made(t)(schedule.Update(ctx, hf, "s", o[1]))
			env.Advance(time.Hour)
			if got, want := f.all(), []string{"s 01 01:00", "s 05 05:00"}; !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		})
	}
}

// TestSync: what code declares is added, follows the code, and never overwrites what a person has
// set.
func TestSync(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), open(t, source)
		declare := func(args string, opts ...schedule.Option) schedule.Schedule {
			return schedule.New("s", schedule.Cron("H 3 * * *", "Europe/Berlin"), report.Item(args), opts...)
		}
		wantDid := func(want schedule.Did, s schedule.Schedule) store.Schedule {
			t.Helper()
			did, err := schedule.Sync(ctx, hf, s)
			if err != nil || !slices.Equal(did, []schedule.Did{want}) {
				t.Fatalf("%q, want %q; %v", did, want, err)
			}
			return made(t)(schedule.Get(ctx, hf, "s"))
		}
		first := wantDid(schedule.Added, declare("1"))
		if again := wantDid(schedule.Unchanged, declare("1")); again.Version != first.Version {
			t.Errorf("nothing has changed, but for its version: %+v", again)
		}
		if s := wantDid(schedule.Updated, declare("2")); string(s.Job.Args) != `"2"` || schedule.Drifts(&s) || !s.NextAt.Equal(first.NextAt) {
			t.Errorf("updated: %+v", s)
		}
		s := made(t)(schedule.Update(ctx, hf, "s", schedule.Jitter(time.Minute)))
		if !schedule.Drifts(&s) {
			t.Errorf("a person has changed it, and it does not drift: %+v", s)
		}
		s = wantDid(schedule.Kept, declare("3"))
		if declared, ok := schedule.Declared(&s); !schedule.Drifts(&s) || s.Jitter != time.Minute || !ok || string(declared.Job.Args) != `"3"` {
			t.Errorf("kept: %+v", s)
		}
		if s := made(t)(schedule.Reset(ctx, hf, "s")); schedule.Drifts(&s) || s.Jitter != 0 || string(s.Job.Args) != `"3"` {
			t.Errorf("reset: %+v", s)
		}
		wantDid(schedule.Updated, declare("4"))
		made(t)(schedule.Pause(ctx, hf, "s", ""))
		if s := wantDid(schedule.Updated, declare("5")); s.PausedAt.IsZero() || string(s.Job.Args) != `"5"` {
			t.Errorf("a paused one: %+v", s)
		}

		if _, err := schedule.Sync(ctx, hf, declare("6"), declare("7")); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("one that is declared twice: %v", err)
		}
		made(t)(schedule.Create(ctx, hf, schedule.New("by hand", schedule.Every(time.Hour), report.Item("a"))))
		did, err := schedule.Sync(ctx, hf, schedule.New("by hand", schedule.Every(time.Hour), report.Item("b")))
		if err != nil || did[0] != schedule.Kept {
			t.Errorf("%q, %v", did, err)
		}
		if _, err := schedule.Reset(ctx, hf, "nothing"); !errors.Is(err, holdfast.ErrNotFound) {
			t.Error(err)
		}
	})
}

// TestManySync: many processes that start at once agree.
func TestManySync(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		var all []schedule.Schedule
		for i := range 20 {
			all = append(all, schedule.New(strconv.Itoa(i), schedule.Every(time.Hour), report.Item("x")))
		}
		var syncing sync.WaitGroup
		var mu sync.Mutex
		added := 0
		for range 8 {
			syncing.Go(func() {
				did, err := schedule.Sync(t.Context(), hf, all...)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, d := range did {
					if d == schedule.Added {
						added++
					}
				}
			})
		}
		syncing.Wait()
		if list, err := schedule.List(t.Context(), hf, "", 100); err != nil || len(list) != 20 || added != 20 {
			t.Errorf("%d schedules, %d added, %v", len(list), added, err)
		}
	})
}

// TestPausedWhileItReplaces: the job that a fire has replaced is asked to stop also if the schedule
// is paused, triggered or deleted before a leader has done that.
func TestPausedWhileItReplaces(t *testing.T) {
	t.Parallel()
	for name, verb := range map[string]func(context.Context, *holdfast.Client, string) error{
		"paused": func(ctx context.Context, hf *holdfast.Client, s string) error {
			return second(schedule.Pause(ctx, hf, s, ""))
		},
		"triggered": func(ctx context.Context, hf *holdfast.Client, s string) error {
			return second(schedule.Trigger(ctx, hf, s))
		},
		"deleted": schedule.Delete,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, hf := t.Context(), open(t, sqlite.File(sqlite.Memory))
			made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Every(time.Hour), report.Item("x"), schedule.Overlap(schedule.CancelOther))))
			first, err := schedule.Trigger(ctx, hf, "s")
			if err != nil {
				t.Fatal(err)
			}
			s := made(t)(schedule.Get(ctx, hf, "s"))
			e, _ := access.Engine(hf)
			u := firing.Manual(&s, []time.Time{time.Now().UTC().Truncate(time.Second)}, 7, s.Overlap)
			if err := e.Fire(ctx, &u); err != nil {
				t.Fatal(err)
			}
			if s := made(t)(schedule.Get(ctx, hf, "s")); s.Cancels != first.Job {
				t.Fatalf("it replaces %s, want %s", s.Cancels, first.Job)
			}
			if err := verb(ctx, hf, "s"); err != nil {
				t.Fatal(err)
			}
			if r, err := hf.Get(ctx, first.Job); err != nil || r.State != store.Cancelled {
				t.Errorf("the job is %s, %v", r.State, err)
			}
		})
	}
}

// TestRefused: what can never be right is refused before anything is stored.
func TestRefused(t *testing.T) {
	t.Parallel()
	hf := open(t, sqlite.File(sqlite.Memory))
	ok, item := schedule.Every(time.Hour), report.Item("x")
	now := time.Now()
	for want, s := range map[string]schedule.Schedule{
		"zone":           schedule.New("s", schedule.Cron("* * * * *", "Europe/Nowhere"), item),
		"never":          schedule.New("s", schedule.Cron("0 0 30 2 *", ""), item),
		"minute":         schedule.New("s", schedule.Cron("99 * * * *", ""), item),
		"end":            schedule.New("s", ok, item, schedule.Start(now), schedule.End(now)),
		"jitter":         schedule.New("s", ok, item, schedule.Jitter(time.Hour)),
		"no time after":  schedule.New("s", schedule.At(now.Add(-time.Hour)), item),
		"window":         schedule.New("s", ok, item, schedule.CatchUp(0)),
		"overlap":        schedule.New("s", ok, item, schedule.Overlap(99)),
		"empty":          schedule.New("", ok, item),
		"Unique":         schedule.New("s", ok, report.Item("x", holdfast.Unique{})),
		"option Key":     schedule.New("s", ok, report.Item("x", holdfast.Key("k"))),
		"JobID":          schedule.New("s", ok, report.Item("x", holdfast.JobID(holdfast.NewID()))),
		"Delay":          schedule.New("s", ok, report.Item("x", holdfast.Delay(time.Hour))),
		"Deadline":       schedule.New("s", ok, report.Item("x", holdfast.Deadline(now.Add(time.Hour)))),
		"ordering key":   schedule.New("s", ok, report.Item("x", holdfast.OrderingKey("k")), schedule.Overlap(schedule.BufferAll)),
		"Kind.Item":      schedule.New("s", ok, holdfast.BatchItem{}),
		"use Cron":       schedule.New("s", schedule.Times{}, item),
		"nil":            schedule.New("s", ok, item, nil),
		"0 times":        schedule.New("s", ok, item, schedule.Fires(0)),
		"interval":       schedule.New("s", schedule.Every(time.Nanosecond), item),
		"must not be em": schedule.New("s", ok, holdfast.NewKind[int, int]("").Item(0)),
	} {
		if _, err := schedule.Create(t.Context(), hf, s); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if all, err := schedule.List(t.Context(), hf, "", 10); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	made(t)(schedule.Create(t.Context(), hf, schedule.New("s", schedule.Every(time.Second), item)))
	for want, r := range map[string]schedule.Range{
		"not after its start": {From: now, To: now},
		"have passed":         {From: now, To: now.Add(time.Hour)},
		"in parts":            {From: now.AddDate(-1, 0, 0), To: now.Add(-time.Hour)},
		"negative":            {From: now.Add(-time.Hour), To: now.Add(-time.Minute), Number: -1},
	} {
		if _, err := schedule.Backfill(t.Context(), hf, "s", r); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for verb, err := range map[string]error{
		"Get":      second(schedule.Get(t.Context(), hf, "none")),
		"Pause":    second(schedule.Pause(t.Context(), hf, "none", "")),
		"Resume":   second(schedule.Resume(t.Context(), hf, "none")),
		"Update":   second(schedule.Update(t.Context(), hf, "none")),
		"Trigger":  second(schedule.Trigger(t.Context(), hf, "none")),
		"Backfill": second(schedule.Backfill(t.Context(), hf, "none", schedule.Range{})),
		"Delete":   schedule.Delete(t.Context(), hf, "none"),
	} {
		if !errors.Is(err, holdfast.ErrNotFound) || !strings.Contains(err.Error(), "none") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("not after a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // it polls
	}
}

// TestEditJob: what is not said of the job stays as it is, and so does all of it if something is
// wrong.
func TestEditJob(t *testing.T) {
	t.Parallel()
	ctx, hf := t.Context(), open(t, sqlite.File(sqlite.Memory))
	item := report.Item("a", holdfast.Queue("slow"), holdfast.Priority(1), holdfast.Tags("x"), holdfast.Timeout(time.Minute))
	made(t)(schedule.Create(ctx, hf, schedule.New("s", schedule.Every(time.Hour), item)))
	s := made(t)(schedule.Update(ctx, hf, "s", schedule.EditJob(nil, holdfast.Priority(3), holdfast.MaxAttempts(2))))
	if j := s.Job; string(j.Args) != `"a"` || j.Queue != "slow" || j.Priority != 3 || j.MaxAttempts != 2 || j.Options.Timeout != time.Minute ||
		!slices.Equal(j.Tags, []string{"x"}) {
		t.Errorf("%+v", j)
	}
	s = made(t)(schedule.Update(ctx, hf, "s", schedule.EditJob(json.RawMessage(`"b"`))))
	if j := s.Job; string(j.Args) != `"b"` || j.Queue != "slow" || j.Priority != 3 {
		t.Errorf("%+v", j)
	}
	for want, opt := range map[string]schedule.Option{
		"Unique":   schedule.EditJob(nil, holdfast.Unique{}),
		"JobID":    schedule.EditJob(nil, holdfast.JobID(holdfast.NewID())),
		"Delay":    schedule.EditJob(nil, holdfast.Delay(time.Hour)),
		"Deadline": schedule.EditJob(nil, holdfast.Deadline(time.Now().Add(time.Hour))),
		"priority": schedule.EditJob(nil, holdfast.Queue("other"), holdfast.Priority(9)),
		"args":     schedule.EditJob(json.RawMessage("{bad"), holdfast.Queue("other")),
	} {
		if _, err := schedule.Update(ctx, hf, "s", opt); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if after := made(t)(schedule.Get(ctx, hf, "s")); after.Version != s.Version {
		t.Errorf("%+v", after)
	}
}

// TestPaused: what is new begins paused, and what is there stays as a person wants it.
func TestPaused(t *testing.T) {
	t.Parallel()
	ctx, hf := t.Context(), open(t, sqlite.File(sqlite.Memory))
	declared := schedule.New("s", schedule.Every(time.Hour), report.Item("a"), schedule.Paused("not yet"))
	sync := func() store.Schedule {
		t.Helper()
		if _, err := schedule.Sync(ctx, hf, declared); err != nil {
			t.Fatal(err)
		}
		return made(t)(schedule.Get(ctx, hf, "s"))
	}
	if s := sync(); s.PausedAt.IsZero() || s.Note != "not yet" || s.PausedBy == "" {
		t.Errorf("%+v", s)
	}
	made(t)(schedule.Resume(ctx, hf, "s"))
	if s := sync(); !s.PausedAt.IsZero() || schedule.Drifts(&s) {
		t.Errorf("%+v", s)
	}
}

// TestCronOf: the parts of a schedule by an expression can be read, and others have none.
func TestCronOf(t *testing.T) {
	t.Parallel()
	ctx, hf := t.Context(), open(t, sqlite.File(sqlite.Memory))
	for name, c := range map[string]struct {
		times                     schedule.Times
		expression, zone          string
		skipsGaps, isOfExpression bool
	}{
		"plain":  {schedule.Cron("30 2 * * MON", ""), "30 2 * * 1", "UTC", false, true},
		"spread": {schedule.Cron("H 2 * * *", "Europe/Berlin").SkipGaps(), "H 2 * * *", "Europe/Berlin", true, true},
		"every":  {schedule.Every(time.Hour), "", "", false, false},
		"@every": {schedule.Cron("@every 1h", "Europe/Berlin"), "", "", false, false},
	} {
		s := made(t)(schedule.Create(ctx, hf, schedule.New(name, c.times, report.Item("a"))))
		expression, zone, skips, ok := schedule.CronOf(&s)
		if expression != c.expression || zone != c.zone || skips != c.skipsGaps || ok != c.isOfExpression {
			t.Errorf("%s: %q, %q, %t, %t", name, expression, zone, skips, ok)
		}
	}
}
