package storetest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// The failures below are wanted: they need not be kept, nor made small.
func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.checks": "200"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestTheMachineNotices breaks the model in many places, one at a time. A machine that lets one pass would let the same
// mistake pass in a database.
func TestTheMachineNotices(t *testing.T) {
	t.Parallel()
	keyed, lossy := mode{keyed: true}, mode{lossy: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"an enqueue that is lost":              {onApply(func(b *store.Batch) { b.Enqueues = b.Enqueues[:len(b.Enqueues)/2] }, nil), mode{}},
		"an outcome that is lost":              {onApply(func(b *store.Batch) { b.Outcomes = b.Outcomes[:len(b.Outcomes)/2] }, nil), mode{}},
		"a checkpoint that is lost":            {onApply(func(b *store.Batch) { b.Checkpoints = nil }, nil), mode{}},
		"a unique key that is not looked at":   {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.UniqueKey = nil }), nil), mode{}},
		"a conflict that is answered wrongly":  {onApply(eachEnqueue(mildly), nil), mode{}},
		"an ordering key that is not kept":     {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.OrderingKey = "" }), nil), keyed},
		"a delay that is too long":             {onApply(eachEnqueue(func(q *store.Enqueue) { q.Delay += q.Delay / 20 }), nil), mode{}},
		"a priority that is not kept":          {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.Priority = 1 }), nil), mode{}},
		"a snooze that counts":                 {onApply(eachOutcome(countSnooze), nil), mode{}},
		"a deadline that is not looked at":     {onApply(eachEnqueue(noDeadline), nil), mode{}},
		"a stale outcome that is accepted":     {onApply(nil, eachOutcome(func(o *store.Outcome) { o.Err = nil })), mode{}},
		"a repeated outcome that is refused":   {onApply(eachOutcome(func(o *store.Outcome) { o.Repeat = false }), nil), lossy},
		"a repeated enqueue that is a new one": {onApply(nil, eachEnqueue(func(q *store.Enqueue) { q.Result.Existing = false })), mode{}},
		"a claim in the wrong order":           {func(s store.Store) store.Store { return &claimsBackwards{s} }, mode{}},
		"a repeated claim that is a new one":   {func(s store.Store) store.Store { return &claimsAnew{Store: s} }, lossy},
		"a claim of more than was asked":       {func(s store.Store) store.Store { return &claimsMore{s} }, mode{}},
		"a pause that does nothing":            {func(s store.Store) store.Store { return &neverPauses{s} }, mode{}},
		"a cancel that does not arrive":        {func(s store.Store) store.Store { return &deaf{s} }, mode{}},
		"a leader beside the leader":           {func(s store.Store) store.Store { return &allLead{s} }, mode{}},
		"a rescue that gives up at once":       {func(s store.Store) store.Store { return &givesUp{s} }, mode{}},
		"a node that comes back from the dead": {func(s store.Store) store.Store { return &undead{s} }, mode{}},
		"a promotion that forgets some":        {func(s store.Store) store.Store { return &promotesOne{s} }, keyed},
		"a retention that is too eager":        {func(s store.Store) store.Store { return &eager{s} }, mode{}},
		"a list without the finished":          {func(s store.Store) store.Store { return &hides{s} }, mode{}},
		"an end that is not told":              {func(s store.Store) store.Store { return &silent{s} }, mode{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(_ *testing.T, clock *Clock) store.Store { return c.breaks(model.New(clock.Now)) }
			said := failure(func(tb rapid.TB) {
				stores := &pool{t: t, open: open}
				rapid.Check(tb, func(t *rapid.T) { stores.check(t, c.mode) })
			})
			if said == "" {
				t.Fatal("nobody noticed")
			}
			t.Log(said)
		})
	}
}

// failure runs a check that is to fail, and returns what it says; "" if it passes.
func failure(check func(rapid.TB)) string {
	probe := &probe{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(probe)
	}()
	<-done
	return probe.said
}

// probe is a test that nobody sees. It remembers the first thing that is said when it fails.
type probe struct{ said string }

func (*probe) Helper()             {}
func (*probe) Name() string        { return "probe" }
func (*probe) Logf(string, ...any) {}
func (*probe) Log(...any)          {}

func (p *probe) Errorf(format string, args ...any) {
	if p.said == "" {
		p.said = fmt.Sprintf(format, args...)
	}
}

func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

func (p *probe) Skipf(string, ...any) { runtime.Goexit() }
func (p *probe) Skip(...any)          { runtime.Goexit() }
func (p *probe) SkipNow()             { runtime.Goexit() }
func (p *probe) Error(args ...any)    { p.Errorf("%v", args) }
func (p *probe) Fatal(args ...any)    { p.Fatalf("%v", args) }
func (p *probe) FailNow()             { p.Fatalf("failed") }
func (p *probe) Fail()                { p.Errorf("failed") }
func (p *probe) Failed() bool         { return p.said != "" }

// applies changes what arrives of a batch, or what is answered.
type applies struct {
	store.Store
	before, after func(*store.Batch)
}

func onApply(before, after func(*store.Batch)) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &applies{s, before, after} }
}

func (s *applies) Apply(ctx context.Context, batch *store.Batch) error {
	sent := *batch
	if s.before != nil {
		s.before(&sent)
	}
	// What was left out is answered as if it had been done.
	for _, q := range batch.Enqueues {
		q.Result = store.EnqueueResult{ID: q.Job.ID, State: store.Available, RunAt: s.Now()}
	}
	for _, o := range batch.Outcomes {
		o.Final = o.State
	}
	err := s.Store.Apply(ctx, &sent)
	if s.after != nil {
		s.after(batch)
	}
	return err
}

func eachEnqueue(f func(*store.Enqueue)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, q := range b.Enqueues {
			f(q)
		}
	}
}

func eachOutcome(f func(*store.Outcome)) func(*store.Batch) {
	return func(b *store.Batch) {
		for _, o := range b.Outcomes {
			f(o)
		}
	}
}

func mildly(q *store.Enqueue) { q.OnConflict = store.ReturnExisting }

func noDeadline(q *store.Enqueue) { q.Job.Options.Deadline = time.Time{} }

func countSnooze(o *store.Outcome) {
	if o.State == store.Scheduled {
		o.State = store.Retryable
	}
}

type claimsBackwards struct{ store.Store }

func (s *claimsBackwards) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, p)
	slices.Reverse(claimed)
	return claimed, err
}

type claimsAnew struct {
	store.Store
	shift int64
}

func (s *claimsAnew) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	if p.Repeat {
		s.shift += 1_000_000
		p.Seq, p.Repeat = p.Seq+s.shift, false
	}
	return s.Store.Claim(ctx, p)
}

type claimsMore struct{ store.Store }

func (s *claimsMore) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	p.Queues = nil
	return s.Store.Claim(ctx, p)
}

type neverPauses struct{ store.Store }

func (s *neverPauses) Pause(ctx context.Context, p store.PauseParams) error {
	p.Paused = false
	return s.Store.Pause(ctx, p)
}

type deaf struct{ store.Store }

func (s *deaf) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Cancels = nil
	return beat, err
}

type allLead struct{ store.Store }

func (s *allLead) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	beat, err := s.Store.Beat(ctx, p)
	beat.Leader = p.LeaderTTL > 0
	return beat, err
}

type givesUp struct{ store.Store }

func (s *givesUp) Rescue(ctx context.Context, p store.RescueParams) ([]store.Rescued, error) {
	decide := p.Decide
	p.Decide = func(j store.Job) (time.Duration, bool) {
		delay, _ := decide(j)
		return delay, false
	}
	return s.Store.Rescue(ctx, p)
}

type undead struct{ store.Store }

func (s *undead) Rescue(context.Context, store.RescueParams) ([]store.Rescued, error) {
	return nil, nil
}

type promotesOne struct{ store.Store }

func (s *promotesOne) Promote(ctx context.Context, _ int) (store.Promoted, error) {
	promoted, err := s.Store.Promote(ctx, 1)
	promoted.More = false
	return promoted, err
}

type eager struct{ store.Store }

func (s *eager) Retain(ctx context.Context, p store.RetainParams) (store.Retained, error) {
	p.Completed /= 2
	p.Cancelled = p.Failed
	return s.Store.Retain(ctx, p)
}

type hides struct{ store.Store }

func (s *hides) List(ctx context.Context, p store.ListParams) (store.Page, error) {
	p.Filter.States = slices.DeleteFunc(slices.Clone(store.States), func(s store.State) bool { return s == store.Completed })
	return s.Store.List(ctx, p)
}

type silent struct{ store.Store }

func (s *silent) Ended(ctx context.Context, ids []store.ID) ([]store.Ended, error) {
	ended, err := s.Store.Ended(ctx, ids)
	return slices.DeleteFunc(ended, func(e store.Ended) bool { return e.State == store.Completed }), err
}

func TestClockMovesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	c := NewClock()
	if !c.Now().Equal(Start) || !c.Now().Equal(c.Now()) {
		t.Fatalf("it is %v", c.Now())
	}
	if got := c.Advance(1500 * time.Nanosecond); !got.Equal(Start.Add(time.Microsecond)) || !c.Now().Equal(got) {
		t.Fatalf("it is %v", c.Now())
	}
	c.Set(Start.Add(999).In(time.FixedZone("", 3600)))
	if !c.Now().Equal(Start) || c.Now().Location() != time.UTC {
		t.Fatalf("it is %v", c.Now())
	}
	if got := c.Advance(-time.Hour); !got.Equal(Start.Add(-time.Hour)) {
		t.Fatalf("it is %v", got)
	}
}
