package facts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/gauges"
	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// world is a store with a clock.
type world struct {
	*model.Store

	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}
	w.Store = model.New(func() time.Time { return w.now })
	return w
}

// all are the facts of a span, and the sum of their counts by namespace.
func (w *world) all(span store.FactSpan) (facts []store.Fact, sums map[string]*tally.Set) {
	w.t.Helper()
	sums = map[string]*tally.Set{}
	params := store.FactParams{Span: span, All: true, To: w.now.Add(time.Hour), Limit: store.FactsLimit}
	for {
		page, err := w.Facts(w.t.Context(), params)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range page {
			f := &page[i]
			if f.Jobs == nil {
				continue
			}
			set, err := tally.Decode(f.Jobs)
			if err != nil {
				w.t.Fatal(err)
			}
			if sums[f.Namespace] == nil {
				sums[f.Namespace] = &tally.Set{}
			}
			sums[f.Namespace].Merge(set)
		}
		facts = append(facts, page...)
		if len(page) < params.Limit {
			return facts, sums
		}
		params.After = page[len(page)-1].FactKey
	}
}

// fill writes what nodes count in some hours, and advances the clock by as much.
func (w *world) fill(r *rand.Rand, hours int) {
	w.t.Helper()
	keepers := make([]*Keeper, 3)
	for i := range keepers {
		keepers[i] = New(Parts{Store: w, Namespace: []string{"a", "b", "b"}[i], Name: fmt.Sprint("node ", i)})
		keepers[i].Joined(int64(i + 1))
	}
	for range hours * 60 {
		for i, k := range keepers {
			for range r.IntN(3) {
				job := &store.Job{Namespace: k.Namespace, Queue: "q", Kind: string(rune('k' + r.IntN(3)))}
				took := time.Duration(r.ExpFloat64() * 1e9)
				k.Started(job, w.now, took)
				o := &store.Outcome{State: store.Completed, Final: store.Completed, Namespace: k.Namespace, Queue: "q", StartedAt: w.now}
				k.Ended(w.now, o, job.Kind, took)
			}
			if err := k.Write(w.t.Context(), i == 0); err != nil {
				w.t.Fatal(err)
			}
		}
		w.now = w.now.Add(time.Minute)
	}
}

func same(a, b map[string]*tally.Set) bool {
	if len(a) != len(b) {
		return false
	}
	for space, set := range a {
		if b[space] == nil || string(set.Encode()) != string(b[space].Encode()) {
			return false
		}
	}
	return true
}

// TestMergeKeepsTheSums: minutes that are old become hours, a row for each namespace, with the same
// counts and durations; those that are not stay.
func TestMergeKeepsTheSums(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(rand.New(rand.NewPCG(1, 2)), 7)
	minutes, before := w.all(store.FactMinute)
	w.now = w.now.Add(store.FactMinutesKept - 2*time.Hour)
	if lost, err := Merge(t.Context(), w); lost != 0 || err != nil {
		t.Fatal(lost, err)
	}
	hours, old := w.all(store.FactHour)
	left, young := w.all(store.FactMinute)
	if want := 5 * 3; len(hours) != want || len(left) >= len(minutes) || len(left) == 0 {
		t.Errorf("%d hours, want %d, and %d minutes of %d", len(hours), want, len(left), len(minutes))
	}
	for space, set := range young {
		old[space].Merge(set)
	}
	if !same(before, old) {
		t.Error("the sums have changed")
	}
	last := ""
	for _, f := range minutes {
		if f.Namespace == "" && f.At.Before(hours[0].At.Add(time.Hour)) {
			last = string(f.Gauges)
		}
	}
	if h := hours[0]; h.Namespace != "" || string(h.Gauges) != last || h.Jobs != nil {
		t.Errorf("of the database is kept %+v, want %s", h, last)
	}
	if hours[1].Gauges != nil {
		t.Errorf("of nodes is kept %s", hours[1].Gauges)
	}
	// Hours go when they are old.
	w.now = w.now.Add(store.FactHoursKept)
	if _, err := Merge(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if hours, _ := w.all(store.FactHour); len(hours) != 0 && hours[0].At.Before(w.now.Add(-store.FactHoursKept)) {
		t.Errorf("%d hours are kept, from %v", len(hours), hours[0].At)
	}
}

// rival merges at the same time, and answers may be lost.
type rival struct {
	*world

	r *rand.Rand
}

func (s *rival) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	switch s.r.IntN(3) {
	case 0:
		if _, err := Merge(ctx, s.world); err != nil {
			return err
		}
	case 1:
		if err := s.world.MergeFacts(ctx, gone, merged); err != nil {
			return err
		}
		return store.ErrUnavailable
	}
	return s.world.MergeFacts(ctx, gone, merged)
}

// TestTwoLeadersMergeOnce: nothing counts twice, and nothing is lost, if two processes merge at
// once or the answers of the store are.
func TestTwoLeadersMergeOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		w := newWorld(t)
		w.fill(r, 2)
		_, before := w.all(store.FactMinute)
		w.now = w.now.Add(store.FactMinutesKept + time.Hour)
		for range 20 {
			if _, err := Merge(t.Context(), &rival{w, r}); err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		if _, err := Merge(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		minutes, _ := w.all(store.FactMinute)
		if _, after := w.all(store.FactHour); !same(before, after) || len(minutes) != 0 {
			t.Fatalf("the sums have changed, or %d minutes are left", len(minutes))
		}
	}
}

// TestMergeOfWhatCannotBeRead: it is removed and told, and holds up nothing.
func TestMergeOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(rand.New(rand.NewPCG(5, 6)), 1)
	_, before := w.all(store.FactMinute)
	strange := store.Fact{
		FactKey: store.FactKey{At: w.now.Truncate(time.Minute), Namespace: "a", Node: 9, Span: store.FactMinute}, Jobs: []byte{99},
	}
	if err := w.KeepFacts(t.Context(), []store.Fact{strange}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(store.FactMinutesKept + 2*time.Hour)
	if lost, err := Merge(t.Context(), w); lost != 1 || err != nil {
		t.Errorf("%d are lost, %v", lost, err)
	}
	if _, after := w.all(store.FactHour); !same(before, after) {
		t.Error("the sums have changed")
	}
}

// TestMergeOfManyRows: an hour with more rows than are merged at once is merged in several steps,
// and what cannot be read of the hour that is there is told.
func TestMergeOfManyRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keepers := make([]*Keeper, 20)
	for i := range keepers {
		keepers[i] = New(Parts{Store: w, Namespace: "a"})
		keepers[i].Joined(int64(i + 1))
	}
	for range 60 {
		for _, k := range keepers {
			k.Started(&store.Job{Namespace: "a", Queue: "q", Kind: "k"}, w.now, time.Second)
			if err := k.Write(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.Add(time.Minute)
	}
	minutes, before := w.all(store.FactMinute)
	if len(minutes) <= 2*page {
		t.Fatalf("there are only %d minutes", len(minutes))
	}
	w.now = w.now.Add(store.FactMinutesKept + time.Hour)
	if lost, err := Merge(t.Context(), w); lost != 0 || err != nil {
		t.Fatal(lost, err)
	}
	hours, after := w.all(store.FactHour)
	if minutes, _ := w.all(store.FactMinute); len(hours) != 1 || len(minutes) != 0 || !same(before, after) {
		t.Errorf("%d hours, and %d minutes are left", len(hours), len(minutes))
	}
	strange := hours[0]
	strange.Jobs = []byte{99}
	late := store.Fact{FactKey: store.FactKey{At: strange.At, Namespace: "a", Node: 1, Span: store.FactMinute}}
	if err := w.MergeFacts(t.Context(), keysOf(hours), []store.Fact{strange, late}); err != nil {
		t.Fatal(err)
	}
	if lost, err := Merge(t.Context(), w); lost != 1 || err != nil {
		t.Errorf("%d are lost, %v", lost, err)
	}
}

// TestThingOf: what outcomes came to.
func TestThingOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    store.Outcome
		want int
	}{
		{store.Outcome{State: store.Completed, Final: store.Completed}, tally.Completed},
		{store.Outcome{State: store.Completed}, tally.Completed},
		{store.Outcome{State: store.Failed}, tally.Failed},
		{store.Outcome{State: store.Cancelled}, tally.Cancelled},
		{store.Outcome{State: store.Retryable, Final: store.Retryable}, tally.Retried},
		{store.Outcome{State: store.Retryable, Final: store.Waiting}, tally.Retried}, // paused meanwhile
		{store.Outcome{State: store.Retryable, Final: store.Cancelled}, tally.Cancelled},
		{store.Outcome{State: store.Retryable, Final: store.Failed}, tally.Failed}, // past its deadline
		{store.Outcome{State: store.Scheduled, Final: store.Scheduled}, tally.Parked},
		{store.Outcome{State: store.Waiting, Final: store.Available}, tally.Parked},
		{store.Outcome{State: store.Available, Final: store.Available}, tally.Released},
		{store.Outcome{State: store.Available, Final: store.Available, Continue: &store.Continue{}}, tally.Parked},
	} {
		if got := thingOf(&c.o); got != c.want {
			t.Errorf("%v, then %v: %d, want %d", c.o.State, c.o.Final, got, c.want)
		}
	}
}

// TestWhatHasNotStarted: a job that was claimed and given back is no run; one that ended as it was
// claimed has ended.
func TestWhatHasNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := New(Parts{Store: w, Namespace: "a"})
	for _, o := range []store.Outcome{
		{State: store.Available, Final: store.Available},
		{State: store.Cancelled, Final: store.Cancelled},
		{State: store.Failed, Final: store.Failed},
	} {
		o.Namespace, o.Queue = "a", "q"
		k.Ended(w.now, &o, "k", 0)
	}
	k.Lost(w.now, []store.RescuedJob{
		{Namespace: "a", Queue: "q", Kind: "k", State: store.Retryable},
		{Namespace: "a", Queue: "q", Kind: "k", State: store.Failed},
		{Namespace: "a", Queue: "q", Kind: "k", State: store.Cancelled},
	})
	if err := k.Write(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	_, sums := w.all(store.FactMinute)
	e := sums["a"].Of(tally.Name{Queue: "q", Kind: "k"})
	if want := (tally.Counts{tally.Cancelled: 2, tally.Failed: 2, tally.Lost: 3}); e.Counts != want || e.Run.N != 0 {
		t.Errorf("%v, want %v; %d durations", e.Counts, want, e.Run.N)
	}
	var none *Keeper
	none.Joined(1)
	none.Started(&store.Job{}, w.now, 0)
	none.Ended(w.now, &store.Outcome{}, "k", 0)
	none.Lost(w.now, make([]store.RescuedJob, 1))
	if err := none.Write(t.Context(), true); err != nil {
		t.Error(err)
	}
}

// hangs is a store that does not answer, and does not measure.
type hangs struct {
	*world

	asked, answer chan struct{}
}

func (s *hangs) Measure(context.Context) (store.Measured, error) {
	return store.Measured{}, store.ErrUnavailable
}

func (s *hangs) KeepFacts(ctx context.Context, facts []store.Fact) error {
	if s.asked != nil {
		close(s.asked)
		<-s.answer
		s.asked = nil
	}
	return s.world.KeepFacts(ctx, facts)
}

// TestAWriteThatHangsHoldsUpNothing: neither runs nor a node that joins again; and what cannot be
// measured does not keep counts from being written.
func TestAWriteThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &hangs{w, make(chan struct{}), make(chan struct{})}
	k := New(Parts{Store: s, Namespace: "a"})
	k.Joined(1)
	job := &store.Job{Namespace: "a", Queue: "q", Kind: "k"}
	k.Started(job, w.now, 0)
	wrote := make(chan error, 1)
	asked := s.asked
	go func() { wrote <- k.Write(context.Background(), true) }()
	<-asked
	k.Started(job, w.now, 0)
	k.Joined(2)
	close(s.answer)
	if err := <-wrote; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the database is not measured, and the error is %v", err)
	}
	if err := k.Write(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	facts, sums := w.all(store.FactMinute)
	if n := sums["a"].Of(tally.Name{Queue: "q", Kind: "k"}).Counts[tally.Started]; n != 2 || len(facts) != 1 || facts[0].Node != 1 {
		t.Errorf("%d starts, in %+v", n, facts)
	}
}

// TestDatabaseIsMeasuredOnceAMinute: by the leader, also when the first write fails.
func TestDatabaseIsMeasuredOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := New(Parts{Store: w, Namespace: "a"})
	for range 30 { // five minutes
		if err := k.Write(t.Context(), w.now.Minute() != 2); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(10 * time.Second)
	}
	minutes, _ := w.all(store.FactMinute)
	n := 0
	for _, f := range minutes {
		if f.Namespace == "" {
			n++
			if _, err := gauges.Decode(f.Gauges); err != nil {
				t.Error(err)
			}
		}
	}
	if n != 4 || len(minutes) != 9 {
		t.Errorf("%d measurements of the database, in %d rows", n, len(minutes))
	}
}
