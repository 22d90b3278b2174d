package postgres_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// watched collects the wake-ups of a store.
type watched struct {
	mu    sync.Mutex
	wakes []store.Wake
}

func watch(t *testing.T, s store.Store) *watched {
	t.Helper()
	w := &watched{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, func(wake store.Wake) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.wakes = append(w.wakes, wake)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return w
}

func (w *watched) count(match func(store.Wake) bool) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range w.wakes {
		if match(wake) {
			n++
		}
	}
	return n
}

func isAll(w store.Wake) bool { return w.Kind == store.WakeAll }

func ofQueue(name string) func(store.Wake) bool {
	return func(w store.Wake) bool { return w.Queue == name }
}

// TestWishesAreMergedAndBounded: more jobs than are worth naming become any job.
func TestWishesAreMergedAndBounded(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	atB := watch(t, b)
	eventually(t, "b hears itself", func() bool { return b.Traits().Wakeups })
	jobs := func(n int) []store.ID {
		ids := make([]store.ID, n)
		for i := range ids {
			ids[i] = newJob().Job.ID
		}
		return ids
	}
	named := func(kind store.WakeKind) (n int) {
		atB.count(func(w store.Wake) bool {
			if w.Kind == kind {
				n += len(w.Jobs)
			}
			return false
		})
		return n
	}
	since := time.Now().Truncate(time.Microsecond)
	a.Notify(
		store.Wake{Kind: store.WakeWanted, Jobs: jobs(250)}, store.Wake{Kind: store.WakeStillWanted, Jobs: jobs(3), Due: since, Maker: 7},
		store.Wake{Kind: store.WakeNews, Jobs: jobs(1000)}, store.Wake{Kind: store.WakeNews, Jobs: jobs(1000)},
	)
	eventually(t, "b hears of all that is wanted and new", func() bool {
		return named(store.WakeWanted) == 250 && named(store.WakeStillWanted) == 3 && named(store.WakeNews) == 2000
	})
	if n := atB.count(func(w store.Wake) bool { return w.Kind == store.WakeStillWanted && w.Due.Equal(since) && w.Maker == 7 }); n != 1 {
		t.Errorf("since when jobs are wanted was told %d times", n)
	}
	isAny := func(w store.Wake) bool {
		return w.Kind == store.WakeNews && len(w.Jobs) == 0 || w.Kind == store.WakeWanted && len(w.Jobs) == 0 && w.Due.Unix() == 0
	}
	if n := atB.count(isAny); n != 0 {
		t.Errorf("%d wake-ups are for any job", n)
	}
	var many []store.Wake
	for range 2 {
		many = append(many, store.Wake{Kind: store.WakeNews, Jobs: jobs(3000)}, store.Wake{Kind: store.WakeWanted, Jobs: jobs(15_000)})
	}
	a.Notify(many...)
	eventually(t, "b hears of any job", func() bool { return atB.count(isAny) >= 2 })
}

func TestWakeupsReachOtherStoresOnly(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	if a.Traits().Wakeups {
		t.Fatal("wake-ups are promised before they are proven")
	}
	atA, atB := watch(t, a), watch(t, b)
	eventually(t, "both stores hear themselves", func() bool { return a.Traits().Wakeups && b.Traits().Wakeups })
	due := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	jobs := []store.ID{newJob().Job.ID, newJob().Job.ID}
	a.Notify(
		store.Wake{Kind: store.WakeReady, Namespace: "n", Queue: "ready"},
		store.Wake{Kind: store.WakeDeferred, Namespace: "n", Queue: "deferred", Due: due},
		store.Wake{Kind: store.WakeCancel, Namespace: "n", Queue: "cancel", Jobs: jobs},
		store.Wake{Kind: store.WakeSlotsFree, Namespace: "n", Queue: "limit"},
		store.Wake{Kind: store.WakeSlotsFree, Namespace: "n", Queue: "limit"},
		store.Wake{Kind: store.WakeSlotsWanted, Namespace: "n", Queue: "limit"},
		store.Wake{Kind: store.WakeLimit, Namespace: "m", Queue: "limit"},
		store.Wake{Kind: store.WakeLimit, Namespace: "n", Queue: "limit"},
	)
	eventually(t, "b hears of seven things", func() bool { return atB.count(func(w store.Wake) bool { return !isAll(w) }) == 7 })
	if n := atA.count(func(w store.Wake) bool { return !isAll(w) }); n != 0 {
		t.Fatalf("a store hears of %d things that it wrote itself", n)
	}
	if atB.count(func(w store.Wake) bool { return w.Kind == store.WakeDeferred && w.Due.Equal(due) }) != 1 ||
		atB.count(func(w store.Wake) bool { return w.Kind == store.WakeCancel && slices.Equal(w.Jobs, jobs) }) != 1 {
		t.Fatalf("wake-ups: %+v", atB.wakes)
	}
	for _, want := range []store.Wake{
		{Kind: store.WakeSlotsFree, Namespace: "n"},
		{Kind: store.WakeSlotsWanted, Namespace: "n"},
		{Kind: store.WakeLimit, Namespace: "m"},
		{Kind: store.WakeLimit, Namespace: "n"},
	} {
		told := func(w store.Wake) bool {
			return w.Kind == want.Kind && w.Namespace == want.Namespace && w.Queue == "limit"
		}
		if n := atB.count(told); n != 1 {
			t.Errorf("%+v was told %d times", want, n)
		}
	}
	// One that no notification can hold is told as "look at everything".
	before := atB.count(isAll)
	a.Notify(store.Wake{Kind: store.WakeReady, Queue: fmt.Sprintf("%010000d", 0)})
	eventually(t, "b is told to look", func() bool { return atB.count(isAll) > before })
}

// TestPoolerThatRefusesSettings: a URL that turns out to be a pooler's is used without session
// features.
func TestPoolerThatRefusesSettings(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	p := newProxy(t, config.URL)
	p.refuseParameters.Store(true)
	config.URL = p.url
	s := open(t, config)
	q := newJob()
	enqueue(t, s, q)
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 10))
	if err != nil || len(runs) != 1 || runs[0].Job.ID != q.Job.ID {
		t.Fatalf("claimed %+v, %v", runs, err)
	}
}

// TestNotifyIsDebounced: the first wake-up goes out at once, those that follow become few, and the
// last is never lost.
func TestNotifyIsDebounced(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	w := watch(t, b)
	eventually(t, "wake-ups", func() bool { return b.Traits().Wakeups })
	start := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range 2000 {
		a.Notify(store.Wake{Kind: store.WakeReady, Namespace: "n", Queue: "busy", Due: time.UnixMicro(int64(2000 - i))})
		if i == 0 {
			eventually(t, "the first wake-up", func() bool { return w.count(ofQueue("busy")) == 1 })
		}
		if i%100 == 0 {
			<-tick.C
		}
	}
	took := time.Since(start)
	a.Notify(store.Wake{Kind: store.WakeReady, Namespace: "n", Queue: "last"})
	eventually(t, "the last wake-up", func() bool { return w.count(ofQueue("last")) == 1 })
	// The time of the last one is the earliest of all, so that it shows.
	eventually(t, "the trailing wake-up", func() bool {
		return w.count(func(w store.Wake) bool { return w.Queue == "busy" && w.Due.Equal(time.UnixMicro(1)) }) == 1
	})
	if n := w.count(ofQueue("busy")); n < 2 || n > int(took/(5*time.Millisecond))+3 {
		t.Fatalf("2000 wake-ups within %v became %d", took, n)
	}
}

// TestCloseSendsWhatIsPending: the wake-up of a program that ends at once reaches the others.
func TestCloseSendsWhatIsPending(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	b := open(t, config)
	w := watch(t, b)
	eventually(t, "wake-ups", func() bool { return b.Traits().Wakeups })
	for i := range 20 {
		opened, err := config.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		queue := fmt.Sprint("brief", i)
		opened.Notify(store.Wake{Kind: store.WakeReady, Namespace: "n", Queue: queue})
		if i%2 == 0 {
			runtime.Gosched() // it may be pending, or on its way
		}
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the wake-up of "+queue, func() bool { return w.count(ofQueue(queue)) == 1 })
	}
}

// TestAskedNodesAreTold: wake-ups of several nodes are not merged into one, and it is recorded who
// has asked.
func TestAskedNodesAreTold(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	atB := watch(t, b)
	eventually(t, "b hears itself", func() bool { return b.Traits().Wakeups })
	node, err := a.Join(t.Context(), store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	a.Notify(store.Wake{Kind: store.WakeNode, Node: node}, store.Wake{Kind: store.WakeNode, Node: node + 1})
	for _, n := range []int64{node, node + 1} {
		eventually(t, "b hears of both nodes", func() bool {
			return atB.count(func(w store.Wake) bool { return w.Kind == store.WakeNode && w.Node == n }) > 0
		})
	}
	for _, mode := range []store.NodeMode{store.NodeQuiet, store.NodeQuiet, store.NodeRuns, store.NodeDrains} {
		if err := a.AskNode(t.Context(), store.AskNodeParams{Node: node, Mode: mode, Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	var recorded string
	err = connect(t, config.URL).QueryRow(t.Context(),
		"SELECT string_agg(action || ' of ' || node || ' by ' || actor, ',' ORDER BY seq) FROM "+config.SchemaName+".audit").Scan(&recorded)
	want := fmt.Sprintf("quiet of %[1]d by ada,resume of %[1]d by ada,drain of %[1]d by ada", node)
	if err != nil || recorded != want {
		t.Errorf("recorded is %q, %v; want %q", recorded, err, want)
	}
}

// TestSlotsThatAreGivenBackAreTold: in the commit that gives them back, if the call asks for that.
func TestSlotsThatAreGivenBackAreTold(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	atA, atB := watch(t, a), watch(t, b)
	eventually(t, "both hear themselves", func() bool { return a.Traits().Wakeups && b.Traits().Wakeups })
	name := strings.Repeat(`"`, 100) + "ü"
	l, err := a.SaveLimit(t.Context(), store.Limit{Namespace: "n'", Name: name, LimitSettings: store.LimitSettings{Capacity: 3}}, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	node, call := join(t, a), int64(0)
	isTold := func(keep, want int, tell bool) bool {
		t.Helper()
		call++
		params := store.GrantParams{
			Node: node, Call: call, Asks: []store.LimitAsk{{Limit: l.ID, Version: l.Version, Keep: keep, Want: want}}, Tell: tell,
		}
		answer, err := a.Grant(t.Context(), params)
		if err != nil || len(answer) != 1 || answer[0].Slots != want {
			t.Fatalf("%+v, %v", answer, err)
		}
		if again, err := a.Grant(t.Context(), params); err != nil || len(again) != 1 || again[0].Told || again[0].Slots != want {
			t.Errorf("the same call again: %+v, %v", again, err)
		}
		return answer[0].Told
	}
	isFree := func(w store.Wake) bool {
		return w.Kind == store.WakeSlotsFree && w.Namespace == "n'" && w.Queue == name
	}
	for i, step := range []struct {
		keep, want  int
		tell, heard bool
	}{{0, 3, true, false}, {1, 3, true, false}, {1, 2, false, false}, {1, 1, true, true}, {0, 0, true, true}} {
		if told := isTold(step.keep, step.want, step.tell); told != step.heard {
			t.Errorf("step %d: told is %t", i, told)
		}
	}
	other, err := a.SaveLimit(t.Context(), store.Limit{Namespace: "n'", Name: "other", LimitSettings: store.LimitSettings{Capacity: 3}}, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	for want := range 2 { // of both limits, and back
		call++
		asks := []store.LimitAsk{{Limit: other.ID, Version: other.Version, Want: 1 - want}, {Limit: l.ID, Version: l.Version, Want: 1 - want}}
		answer, err := a.Grant(t.Context(), store.GrantParams{Node: node, Call: call, Asks: asks, Tell: true})
		if err != nil || len(answer) != 2 || answer[0].Told != (want == 1) || answer[1].Told != (want == 1) {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	a.Notify(store.Wake{Kind: store.WakeLimit, Namespace: "n'", Queue: "last"})
	eventually(t, "b hears all", func() bool { return atB.count(ofQueue("last")) == 1 })
	if heard := atB.count(isFree); heard != 3 {
		t.Errorf("another store has heard of %d", heard)
	}
	if heard := atB.count(ofQueue("other")); heard != 1 {
		t.Errorf("another store has heard of the other limit %d times", heard)
	}
	if heard := atA.count(isFree); heard != 0 {
		t.Errorf("the store itself has heard of %d", heard)
	}
}
