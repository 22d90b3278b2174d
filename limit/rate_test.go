package limit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/why"
)

// claims notes when nodes ask a store for jobs, and how many they get.
type claims struct {
	mu   sync.Mutex
	at   []time.Time   // of each job
	late time.Duration // the longest that the process was held up
}

// noting is a store that notes claims.
type noting struct {
	store.Store
	to *claims
}

type notingSource struct {
	store.Source
	to *claims
}

func (s notingSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	return noting{st, s.to}, err
}

func (s noting) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	at := time.Now()
	got, err := s.Store.Claim(ctx, params)
	s.to.note(at, got)
	return got, err
}

// Apply may claim the jobs that it enqueues.
func (s noting) Apply(ctx context.Context, batch *store.Batch) error {
	at := time.Now()
	err := s.Store.Apply(ctx, batch)
	if err == nil && batch.Start != nil {
		s.to.note(at, batch.Start.Claimed)
	}
	return err
}

// note notes the jobs that count in the limit.
func (c *claims) note(at time.Time, jobs []store.Claimed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range jobs {
		if jobs[i].Job.Kind == light.Name() {
			c.at = append(c.at, at)
		}
	}
}

// watch sees how late a goroutine of this process is, until the function that it returns is called.
func (c *claims) watch() (enough func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		const often = time.Millisecond
		tick := time.NewTicker(often)
		defer tick.Stop()
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			c.mu.Lock()
			c.late = max(c.late, time.Since(last)-often)
			c.mu.Unlock()
		}
	})
	return func() { close(done); watching.Wait() }
}

// check looks at each window that begins and ends with a claim. What counts is when a node decides
// on it, which a busy machine lets be noted later: hence one period more, and what comes in the
// time for which the process was held up. To the microsecond it is tested in virtual time, where
// the account of a node is.
func (c *claims) check(t *testing.T, rate store.Rate, jobs int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.at) != jobs {
		t.Fatalf("%d claims were noted of %d jobs", len(c.at), jobs)
	}
	slices.SortFunc(c.at, time.Time.Compare)
	for i := range c.at {
		for j := i; j < len(c.at); j++ {
			window := c.at[j].Sub(c.at[i])
			if n, most := j-i+1, rate.Bursts()+int((window+c.late+rate.Period())/rate.Period()); n > most {
				t.Fatalf("%d jobs were claimed in %v, and %d may be; the process was held up for %v", n, window, most, c.late)
			}
		}
	}
}

// TestRateIsNeverMore: three nodes claim a backlog as fast as the rate lets them, and no faster in
// any time; and all jobs run.
func TestRateIsNeverMore(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		rate := store.Rate{Count: 10, Per: time.Second, Burst: 5}
		seen := &claims{}
		defer seen.watch()()
		c := newCluster(t, notingSource{source, seen}, 3)
		set(t)(limit.Set(t.Context(), c.nodes[0], "api", limit.Rate(rate.Count, rate.Per), limit.Burst(rate.Burst), limit.Kinds("light")))
		c.start()
		ids := c.enqueue(light, 16, time.Millisecond)
		c.finish(c.enqueue(heavy, 1, time.Millisecond)) // which does not count
		c.finish(ids)
		seen.check(t, rate, 16)
	})
}

func TestRateWhy(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		c := newCluster(t, source, 2)
		set(t)(limit.Set(ctx, c.nodes[0], "tap", limit.Rate(0, time.Second), limit.Kinds("light")))
		c.start()
		ids := c.enqueue(light, 3, time.Millisecond)
		c.finish(c.enqueue(heavy, 4, time.Millisecond))
		if c.most["light"] != 0 {
			t.Fatal("a job ran although the rate is 0")
		}
		wants := func() {
			t.Helper()
			e, err := c.nodes[1].Why(ctx, ids[0])
			if err != nil || len(e.Causes) == 0 || e.Causes[0].Code != why.Rate || e.Causes[0].Limit != "tap" {
				t.Errorf("a job that waits for its rate is explained as %+v, %v", e, err)
			}
		}
		wants()
		if err := limit.Drain(ctx, c.nodes[1], "tap", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		set(t)(limit.Set(ctx, c.nodes[0], "tap", limit.Rate(1000, time.Second)))
		c.finish(c.enqueue(heavy, 4, time.Millisecond))
		if c.most["light"] != 0 {
			t.Fatal("a job ran although the limit is drained")
		}
		wants()
		if err := limit.Resume(ctx, c.nodes[1], "tap", "they are well again"); err != nil {
			t.Fatal(err)
		}
		c.finish(ids)
	})
}

// startedWith starts a client, and enqueues a job.
func startedWith(t *testing.T, hf *holdfast.Client, call holdfast.Task[int]) *holdfast.Job[struct{}] {
	t.Helper()
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	job, err := call.Enqueue(t.Context(), hf, 1)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// TestResumeVoidsPermits: a run that waits in Acquire for a permit from before a drain was taken
// back takes another one when it wakes, and has it at once. One that it books then is good.
func TestResumeVoidsPermits(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		call := holdfast.NewTask[string]("call")
		if err := call.Handle(hf, func(run *holdfast.Run, name string) error {
			return errors.Join(limit.Acquire(run, name), limit.Acquire(run, name))
		}); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// On a busy machine a drain may end before the run is parked, and the run may wake so late
		// that its permit is over: there is more time for it the next time.
		for lasts := 2 * time.Second; ; lasts *= 2 {
			wrong := resumed(t, hf, call, lasts)
			if wrong == "" {
				return
			}
			if lasts > 10*time.Second {
				t.Fatal(wrong)
			}
		}
	})
}

// resumed takes a drain that lasts so long back while a run waits for its end, and returns what is
// wrong with the permits of the run.
func resumed(t *testing.T, hf *holdfast.Client, call holdfast.Task[string], lasts time.Duration) (wrong string) {
	t.Helper()
	ctx, name := t.Context(), "api of "+lasts.String()
	set(t)(limit.Set(ctx, hf, name, limit.Rate(1, time.Second), limit.NoJobs()))
	if err := limit.Drain(ctx, hf, name, time.Now().Add(lasts)); err != nil {
		t.Fatal(err)
	}
	job, err := call.Enqueue(ctx, hf, name)
	if err != nil {
		t.Fatal(err)
	}
	parked := false
	eventually(t, "a run that is parked", func() bool {
		j, err := hf.Get(ctx, job.ID)
		parked = err == nil && j.State == store.Waiting
		return parked || err == nil && j.State.Finished()
	})
	if !parked {
		return "the run was not parked"
	}
	if err := limit.Resume(ctx, hf, name, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := limit.Get(ctx, hf, name)
	now := time.Now()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := hf.JournalEntries(ctx, job.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range entries {
		if e.Name == "acquire "+name {
			said = append(said, string(e.Data))
		}
	}
	switch {
	case len(said) != 4 || said[1] != `{"resumed":1}` || said[3] != said[1]:
		return fmt.Sprintf("the journal says of the permits of the run: %q", said)
	case l.NextAt.Before(now):
		return fmt.Sprintf("the next permit comes at %v, and it is %v, as if the run had used that of before", l.NextAt, now)
	}
	return ""
}

// TestAcquire: a run takes a permit of a limit, waits for a second one, and remembers both. The
// second one has come when it goes on, by the clock of the store.
func TestAcquire(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := open(t, source)
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1, time.Second), limit.NoJobs()))
		attempts, gone := 0, time.Time{} // of the run, and when it had both permits
		e, _ := access.Engine(hf)
		call := holdfast.NewTask[int]("call")
		err := call.Handle(hf, func(run *holdfast.Run, _ int) error {
			attempts++
			for range 2 {
				if err := limit.Acquire(run, "api"); err != nil {
					return err
				}
			}
			if gone.IsZero() {
				gone = e.Store.Now()
			}
			if run.Attempt() == 1 && attempts < 3 {
				return errors.New("again")
			}
			return nil
		}, holdfast.Backoff(time.Millisecond, time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		job := startedWith(t, hf, call)
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		l, err := limit.Get(ctx, hf, "api")
		if err != nil {
			t.Fatal(err)
		}
		// Two permits are gone, 1.02 s apart.
		j, err := hf.Get(ctx, job.ID)
		if err != nil {
			t.Fatal(err)
		}
		// A client knows the clock of the database by half of a round trip.
		if early := l.NextAt.Add(-1020 * time.Millisecond).Sub(gone); early > 500*time.Millisecond {
			t.Errorf("the run has gone on %v before its second permit came", early)
		}
		if ahead := l.NextAt.Sub(j.CreatedAt); ahead < 2040*time.Millisecond {
			t.Errorf("the next permit comes %v after the job, which has taken two", ahead)
		}
	})
}

func TestAcquireContext(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := open(t, source)
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1, time.Hour), limit.NoJobs()))
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil {
			t.Fatal(err)
		}
		before, err := limit.Get(ctx, hf, "api")
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := limit.AcquireContext(short, hf, "api"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a permit that comes too late: %v", err)
		}
		gone, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := limit.AcquireContext(gone, hf, "api"); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that is given up: %v", err)
		}
		after, err := limit.Get(ctx, hf, "api")
		if err != nil || !after.NextAt.Equal(before.NextAt) {
			t.Errorf("the next permit comes at %v, and came at %v before two that went back; %v", after.NextAt, before.NextAt, err)
		}
		set(t)(limit.Set(ctx, hf, "quick", limit.Rate(1, time.Second), limit.NoJobs()))
		e, _ := access.Engine(hf)
		began := e.Store.Now()
		for range 2 {
			if err := limit.AcquireContext(ctx, hf, "quick"); err != nil {
				t.Fatal(err)
			}
		}
		if took := e.Store.Now().Sub(began); took < 500*time.Millisecond {
			t.Errorf("two permits of one a second have come within %v", took)
		}
		if err := limit.AcquireContext(ctx, hf, "other"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a limit that is not there: %v", err)
		}
		set(t)(limit.Set(ctx, hf, "slots", limit.Capacity(1)))
		for what, err := range map[string]error{
			"AcquireContext": limit.AcquireContext(ctx, hf, "slots"), "Drain": limit.Drain(ctx, hf, "slots", time.Now()),
		} {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s of a limit without a rate: %v", what, err)
			}
		}
		if err := limit.Drain(ctx, hf, "other", time.Now()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Drain of a limit that is not there: %v", err)
		}
		if err := limit.Resume(ctx, hf, "slots", ""); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Resume of a limit without a rate: %v", err)
		}
	})
}

func TestRateSettings(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, sqlite.File(sqlite.Memory))
	for what, l := range map[string]limit.Limit{
		"nothing":                        limit.New("bad"),
		"a negative rate":                limit.New("bad", limit.Rate(-1, time.Second)),
		"a time of nothing":              limit.New("bad", limit.Rate(1, 0)),
		"a negative time":                limit.New("bad", limit.Rate(1, -time.Second)),
		"a time of a nanosecond":         limit.New("bad", limit.Rate(1, time.Nanosecond)),
		"too many jobs":                  limit.New("bad", limit.Rate(100_001, time.Second)),
		"a negative burst":               limit.New("bad", limit.Rate(1, time.Second), limit.Burst(-1)),
		"a burst below that of 20 ms":    limit.New("bad", limit.Rate(1000, time.Second), limit.Burst(20)),
		"a burst of one of many":         limit.New("bad", limit.Rate(2, time.Second), limit.Burst(1)),
		"a burst of years":               limit.New("bad", limit.Rate(1, 300*24*time.Hour), limit.Burst(20)),
		"years":                          limit.New("bad", limit.Rate(1, 400*24*time.Hour)),
		"no jobs, and a capacity":        limit.New("bad", limit.Rate(1, time.Second), limit.NoJobs(), limit.Capacity(1)),
		"no rate, and no capacity":       limit.New("bad", limit.Capacity(1), limit.NoCapacity()),
		"a rate that was taken away":     limit.New("bad", limit.Rate(1, time.Second), limit.NoRate()),
		"a burst without a rate, and so": limit.New("bad", limit.Burst(-1)),
	} {
		if _, err := limit.Sync(ctx, hf, l); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, l := range []limit.Limit{
		limit.New("a", limit.Rate(50, time.Second), limit.Burst(10)),
		limit.New("b", limit.Burst(21), limit.Rate(1000, time.Second)),
		limit.New("c", limit.Rate(1, time.Second), limit.Burst(1), limit.Capacity(3)),
		limit.New("d", limit.Rate(0, time.Minute)),
		limit.OfQueue("e", limit.Rate(100_000, time.Second)),
		limit.New("f", limit.Rate(1, 366*24*time.Hour), limit.NoJobs()),
	} {
		for _, want := range []limit.Did{limit.Added, limit.Unchanged} {
			if did, err := limit.Sync(ctx, hf, l); err != nil || did[0] != want {
				t.Errorf("limit %s: %v, %v", l.Name(), did, err)
			}
		}
	}
	l := set(t)(limit.Set(ctx, hf, "c", limit.NoCapacity()))
	if !l.Uncapped || l.Rate == nil || !limit.Drifts(&l) {
		t.Errorf("it is %+v", l)
	}
	l = set(t)(limit.Reset(ctx, hf, "c"))
	if l.Capacity != 3 || l.Uncapped || l.Rate.Burst != 1 {
		t.Errorf("after Reset it is %+v", l)
	}
	for rate, want := range map[store.Rate]int{
		{Count: 50, Per: time.Second}: 5, {Count: 1, Per: time.Second}: 1, {Count: 2, Per: time.Second}: 2,
		{Count: 1000, Per: time.Second}: 100, {Count: 100_000, Per: time.Second}: 10_000, {Count: 50, Per: time.Second, Burst: 7}: 7,
	} {
		if got := rate.Bursts(); got != want {
			t.Errorf("the burst of %v is %d, want %d", &rate, got, want)
		}
	}
}
