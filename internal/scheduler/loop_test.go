package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/scheduler"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// leader is a loop on a model, and what it has asked for.
type leader struct {
	st    store.Store
	loop  *scheduler.Loop
	leads atomic.Bool
	idle  time.Duration

	mu       sync.Mutex
	stopped  []store.CancelParams
	refuse   func(*store.Unit) error // instead of the store, if it returns an error
	unheard  func(store.ID) error    // why a job cannot be asked to stop
	held     map[string]chan struct{}
	lines    int
	inFlight sync.WaitGroup
}

type counting struct{ l *leader }

func (counting) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (c counting) Handle(context.Context, slog.Record) error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.lines++
	return nil
}
func (c counting) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c counting) WithGroup(string) slog.Handler      { return c }

func newLeader(st store.Store) *leader {
	l := &leader{st: st, idle: time.Hour, held: map[string]chan struct{}{}}
	l.leads.Store(true)
	log := slog.New(counting{l})
	l.loop = scheduler.New(scheduler.Parts{
		Store: st, Leads: l.leads.Load, Idle: func() time.Duration { return l.idle }, Turn: func() {},
		Lines: logs.NewLimiter(log), Outage: logs.NewOutage(slog.New(slog.DiscardHandler)),
		Fire: l.fire,
		Cancel: func(_ context.Context, p store.CancelParams) ([]store.Result, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.stopped = append(l.stopped, p)
			results := make([]store.Result, len(p.Jobs))
			for i, id := range p.Jobs {
				if results[i].Job = id; l.unheard != nil {
					results[i].Err = l.unheard(id)
				}
			}
			return results, nil
		},
	})
	return l
}

func (l *leader) fire(ctx context.Context, u *store.Unit, done func(error)) {
	l.inFlight.Go(func() {
		l.mu.Lock()
		held, refuse := l.held[u.Fire.Name], l.refuse
		l.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-ctx.Done():
				done(ctx.Err())
				return
			}
		}
		if refuse != nil {
			if err := refuse(u); err != nil {
				done(err)
				return
			}
		}
		var b store.Batch
		b.Add(u)
		err := l.st.Apply(ctx, &b)
		if errors.Is(err, store.ErrRefused) {
			err = u.Err()
		}
		done(err)
	})
}

// told is how many warnings it has logged.
func (l *leader) told() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

func (l *leader) refuses(which func(*store.Unit) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = which
}

// save makes a schedule, and returns it.
func save(t *testing.T, st store.Store, name, times string, change func(*store.Schedule)) store.Schedule {
	t.Helper()
	s := store.Schedule{Namespace: "n", Name: name, Left: -1}
	s.Times, s.Overlap = times, store.OverlapAllow
	s.Job = store.ScheduledJob{Kind: "k", Queue: "q", Priority: 2, Args: []byte(`1`)}
	if change != nil {
		change(&s)
	}
	if err := firing.Begin(&s, nil, st.Now()); err != nil {
		t.Fatal(err)
	}
	s, err := st.SaveSchedule(t.Context(), s, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runsOf lists what became of the nominal times of a schedule, the last ones first.
func runsOf(t *testing.T, st store.Store, name string) (all []string) {
	t.Helper()
	runs, err := st.ScheduleRuns(t.Context(), store.ScheduleRunParams{Namespace: "n", Name: name, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s %s", r.Nominal.Format("15:04:05"), r.State))
	}
	return all
}

// inBubble runs a test in virtual time, with a model and a number of loops that run until it ends.
func inBubble(t *testing.T, loops int, test func(t *testing.T, st store.Store, leaders []*leader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := model.New(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var leaders []*leader
		for range loops {
			l := newLeader(st)
			leaders = append(leaders, l)
			running.Go(func() { l.loop.Run(ctx) })
		}
		test(t, st, leaders)
		stop()
		running.Wait()
		for _, l := range leaders {
			l.inFlight.Wait()
		}
	})
}

// TestFiresInTime: at its time, and not by a poll, whether the schedule was there before or is
// announced.
func TestFiresInTime(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, st store.Store, leaders []*leader) {
		synctest.Wait()
		save(t, st, "s", "every 10m0s zone=UTC", nil)
		leaders[0].loop.Nudge()
		time.Sleep(25 * time.Minute)
		synctest.Wait()
		if got := runsOf(t, st, "s"); !slices.Equal(got, []string{"00:20:00 fired", "00:10:00 fired"}) {
			t.Errorf("%q", got)
		}
		jobs, err := st.List(t.Context(), store.ListParams{Limit: 10})
		if err != nil || len(jobs.Jobs) != 2 || jobs.Jobs[0].CreatedAt.Sub(jobs.Jobs[0].Options.Nominal) != 0 {
			t.Errorf("%d jobs, %v", len(jobs.Jobs), err)
		}
	})
}

// TestManyLeaders: five that all take themselves for the leader fire each time once.
func TestManyLeaders(t *testing.T) {
	t.Parallel()
	inBubble(t, 5, func(t *testing.T, st store.Store, leaders []*leader) {
		for i := range 20 {
			save(t, st, strconv.Itoa(i), "every 1s zone=UTC", nil)
		}
		for _, l := range leaders {
			l.loop.Nudge()
		}
		time.Sleep(30*time.Second + time.Millisecond)
		synctest.Wait()
		for i := range 20 {
			if got := runsOf(t, st, strconv.Itoa(i)); len(got) != 30 {
				t.Errorf("schedule %d has %d runs: %q", i, len(got), got)
			}
		}
		jobs, err := st.List(t.Context(), store.ListParams{Limit: 1000})
		if err != nil || len(jobs.Jobs) != 600 {
			t.Errorf("%d jobs, %v", len(jobs.Jobs), err)
		}
	})
}

// TestAnotherLeads: a node that leads no more does not fire, and the next one makes up for it.
func TestAnotherLeads(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, st store.Store, leaders []*leader) {
		leaders[1].leads.Store(false)
		save(t, st, "s", "every 10s zone=UTC", nil)
		leaders[0].loop.Nudge()
		time.Sleep(15 * time.Second)
		leaders[0].leads.Store(false) // it has died
		time.Sleep(30 * time.Second)
		if got := runsOf(t, st, "s"); len(got) != 1 {
			t.Fatalf("%q", got)
		}
		leaders[1].leads.Store(true)
		leaders[1].loop.Nudge()
		synctest.Wait()
		if got := runsOf(t, st, "s"); len(got) != 4 || slices.ContainsFunc(got, func(r string) bool { return r[9:] != "fired" }) {
			t.Errorf("%q", got)
		}
	})
}

// TestOneIsHeld: a schedule whose fire a caller's transaction blocks delays no other for longer
// than the loop's patience, and fires when it may.
func TestOneIsHeld(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, st store.Store, leaders []*leader) {
		l := leaders[0]
		hold := make(chan struct{})
		l.held["held"] = hold
		save(t, st, "held", "every 1h0m0s zone=UTC", nil)
		save(t, st, "other", "every 10s zone=UTC", nil)
		l.loop.Nudge()
		time.Sleep(time.Hour + 5*time.Second)
		if n := len(runsOf(t, st, "other")); n != 360 {
			t.Errorf("another one has fired %d times", n)
		}
		if got := runsOf(t, st, "held"); len(got) != 0 {
			t.Errorf("%q", got)
		}
		l.mu.Lock()
		delete(l.held, "held")
		l.mu.Unlock()
		close(hold)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := runsOf(t, st, "held"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

// TestRefused: what can never be written is told, and tried again now and then, without harm to the
// others.
func TestRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, st store.Store, leaders []*leader) {
		l := leaders[0]
		tries := 0
		l.refuses(func(u *store.Unit) error {
			if u.Fire.Name != "wrong" {
				return nil
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			tries++
			return fmt.Errorf("%w: its job is wrong", store.ErrInvalid)
		})
		save(t, st, "wrong", "every 1h0m0s zone=UTC", nil)
		save(t, st, "right", "every 1h0m0s zone=UTC", nil)
		l.loop.Nudge()
		time.Sleep(time.Hour + 14*time.Minute)
		synctest.Wait()
		if got := runsOf(t, st, "right"); len(got) != 1 || l.told() == 0 || tries != 3 {
			t.Errorf("the right one: %q; %d tries, %d lines", got, tries, l.told())
		}
	})
}

// TestUnreadable: a schedule of a newer version is left as it is.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, st store.Store, leaders []*leader) {
		s := save(t, st, "s", "every 1h0m0s zone=UTC", nil)
		s.Times, s.NextAt = "moon full", st.Now().Add(time.Minute)
		if _, err := st.SaveSchedule(t.Context(), s, s.Version, ""); err != nil {
			t.Fatal(err)
		}
		leaders[0].loop.Nudge()
		time.Sleep(20 * time.Minute)
		got, err := st.Schedules(t.Context(), store.ScheduleFilter{Limit: 1})
		if err != nil || len(got) != 1 || !got[0].Cursor.Equal(s.Cursor) || got[0].Version > s.Version+6 || leaders[0].told() == 0 {
			t.Errorf("%+v, %v, %d lines", got, err, leaders[0].told())
		}
	})
}

// TestTheReplacedAreStopped: the job before is asked to stop, also by a leader that finds it after
// the death of the one that has replaced it.
func TestTheReplacedAreStopped(t *testing.T) {
	t.Parallel()
	for _, o := range []store.Overlap{store.OverlapCancel, store.OverlapTerminate} {
		inBubble(t, 2, func(t *testing.T, st store.Store, leaders []*leader) {
			leaders[1].leads.Store(false)
			s := save(t, st, "s", "every 1h0m0s zone=UTC", func(s *store.Schedule) { s.Overlap = o })
			leaders[0].loop.Nudge()
			time.Sleep(90 * time.Minute)
			first := stored(t, st, s).Last
			leaders[0].refuses(func(u *store.Unit) error {
				if len(u.Fire.Runs) == 0 {
					return context.Canceled // it dies between the stop and the write
				}
				return nil
			})
			time.Sleep(30*time.Minute + 10*time.Millisecond)
			leaders[0].leads.Store(false)
			leaders[1].leads.Store(true)
			leaders[1].loop.Nudge()
			synctest.Wait()
			for i, l := range leaders {
				l.mu.Lock()
				if len(l.stopped) != 1 || !slices.Equal(l.stopped[0].Jobs, []store.ID{first}) ||
					l.stopped[0].Terminate != (o == store.OverlapTerminate) {
					t.Errorf("%s: leader %d has stopped %+v, want %s", o, i, l.stopped, first)
				}
				l.mu.Unlock()
			}
			if s := stored(t, st, s); s.Cancels != (store.ID{}) || s.Last == first || s.Fired != 2 {
				t.Errorf("%s: %+v", o, s)
			}
		})
	}
}

// TestStopUnheard: a job that a caller's transaction holds cannot be asked to stop. Its schedule
// waits, and does not forget about it; the others go on, in time.
func TestStopUnheard(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, st store.Store, leaders []*leader) {
		l := leaders[0]
		cancels := func(s *store.Schedule) { s.Overlap = store.OverlapCancel }
		held := save(t, st, "held", "every 1m0s zone=UTC", cancels)
		save(t, st, "other", "every 1m0s zone=UTC", cancels)
		save(t, st, "plain", "every 1m0s zone=UTC", nil)
		l.loop.Nudge()
		time.Sleep(70 * time.Second)
		first := stored(t, st, held).Last
		l.mu.Lock()
		l.unheard = func(id store.ID) error {
			if id == first {
				return store.ErrBusy
			}
			return nil
		}
		l.mu.Unlock()
		time.Sleep(3 * time.Minute)
		if s := stored(t, st, held); s.Cancels != first || s.Fired != 2 {
			t.Errorf("while its job is held: %+v", s)
		}
		for _, name := range []string{"other", "plain"} {
			want := []string{"00:04:00 fired", "00:03:00 fired", "00:02:00 fired", "00:01:00 fired"}
			if got := runsOf(t, st, name); !slices.Equal(got, want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		l.mu.Lock()
		l.unheard = nil
		l.stopped = nil
		l.mu.Unlock()
		time.Sleep(2 * time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.stopped) == 0 || !slices.Contains(l.stopped[0].Jobs, first) {
			t.Errorf("when it is free again: %+v", l.stopped)
		}
		if s := stored(t, st, held); s.Cancels == first {
			t.Errorf("when it is free again: %+v", s)
		}
	})
}

func stored(t *testing.T, st store.Store, s store.Schedule) store.Schedule {
	t.Helper()
	all, err := st.Schedules(t.Context(), store.ScheduleFilter{Namespace: s.Namespace, Name: s.Name, Limit: 1})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// TestTheClockWasAhead: a clock that was an hour ahead has fired; a person who sets the schedule
// back loses no time, and none fires twice.
func TestTheClockWasAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		st := model.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		l := newLeader(st)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.loop.Run(ctx) })
		save(t, st, "s", "every 10m0s zone=UTC", func(s *store.Schedule) {
			s.Missed, s.Window = store.MissedCatchUp, 24*time.Hour
		})
		ahead.Store(int64(time.Hour + time.Minute))
		l.loop.Nudge()
		synctest.Wait()
		ahead.Store(0)
		if got := runsOf(t, st, "s"); len(got) != 6 {
			t.Fatalf("%q", got)
		}
		s := stored(t, st, store.Schedule{Namespace: "n", Name: "s"})
		if err := firing.Begin(&s, &s, st.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := st.SaveSchedule(t.Context(), s, s.Version, ""); err != nil {
			t.Fatal(err)
		}
		l.loop.Nudge()
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if got := runsOf(t, st, "s"); len(got) != 12 || slices.ContainsFunc(got, func(r string) bool { return r[9:] != "fired" }) {
			t.Errorf("%d: %q", len(got), got)
		}
		stop()
		running.Wait()
		l.inFlight.Wait()
	})
}
