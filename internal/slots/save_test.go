package slots

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// TestHeavyJobsGetTheirTurn: of a limit whose slots other jobs take as they become free, a job that
// takes several of them gets these by the time that the jobs have ended which ran when its turn
// came; and so do all others. Of jobs that count in several limits that is not promised.
func TestHeavyJobsGetTheirTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"a", "b", "c"}
		b := newKindsBed(t, rapid.IntRange(1, 12).Draw(t, "size"), kinds...)
		weights := rapid.MapOfN(rapid.SampledFrom(kinds), rapid.IntRange(1, 5), 1, 3)
		var limits []store.Limit
		counted := map[string]bool{} // in one limit each
		for i := range rapid.IntRange(1, 3).Draw(t, "limits") {
			of := weights.Draw(t, "weights")
			for kind := range of {
				if counted[kind] {
					delete(of, kind)
				}
				counted[kind] = true
			}
			if len(of) == 0 {
				continue // nil would be all kinds
			}
			limits = append(limits, store.Limit{ID: int64(i + 1), Version: 1, Name: strconv.Itoa(i + 1), LimitSettings: store.LimitSettings{
				Capacity: rapid.IntRange(1, 8).Draw(t, "capacity"), Kinds: of,
				Fair: rapid.Bool().Draw(t, "fair"),
			}})
		}
		b.SetLimits(limits)
		b.hold()
		waited := map[string]int{}
		for range 400 {
			for _, kind := range b.claimAll(kinds...) {
				waited[kind] = 0
				if b.classOf(lane{"q", kind}).lane.kind == "" { // of others of the same class
					for _, other := range kinds {
						if b.classOf(lane{"q", other}).lane.kind == "" {
							waited[other] = 0
						}
					}
				}
			}
			b.endFirst()
			b.now = b.now.Add(inquireEvery)
			for _, kind := range kinds {
				waited[kind]++
				fits := !slices.ContainsFunc(limits, func(l store.Limit) bool { return l.Kinds[kind] > l.Capacity })
				if fits && waited[kind] > 50 {
					t.Fatalf("%q has waited for %d jobs to end, of up to %d that ran at once", kind, waited[kind], b.size)
				}
			}
		}
	})
}

// TestNothingIsSavedInVain: slots are saved up only where it is known that a job waits for them.
func TestNothingIsSavedInVain(t *testing.T) {
	b := newKindsBed(t, 10, "heavy", "light")
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 4, Kinds: map[string]int{"heavy": 3, "light": 1},
	}}})
	b.hold()
	for range 4 {
		b.claimAll("light") // one after the other, as they are divided
	}
	room := func() (n int) {
		for _, q := range b.Demand(b.now).Queues {
			if q.Kind == "light" {
				n += q.Limit
			}
		}
		return n
	}
	b.Heard("", b.now) // for all that is known, of a heavy one
	b.endFirst()
	if got := room(); got != 1 {
		t.Errorf("as it is not known that a heavy job waits there is room for %d light ones, want 1", got)
	}
	b.now = b.now.Add(inquireEvery)
	b.find("light")
	if got := room(); got != 1 {
		t.Errorf("as none waits there is room for %d light ones, want 1", got)
	}
	b.Heard("", b.now)
	b.now = b.now.Add(inquireEvery)
	b.find("heavy", "light")
	if got := room(); got != 0 {
		t.Errorf("as one waits there is room for %d light ones, want 0", got)
	}
	light := b.classOf(lane{"q", "light"})
	light.emptied = light.news // or none would start by its enqueue
	if n := b.Reserve([]*store.Enqueue{{Job: store.Job{Kind: "light"}}}, b.now); n != 0 {
		t.Error("a slot that is saved up goes to a light job that its enqueue starts")
	}
	light.emptied = never
	b.Wanted("l", b.now)
	if asks := b.Asks(1, b.now); len(asks) != 0 {
		t.Errorf("a slot that is saved up is given back: %+v", asks)
	}
	b.now = b.now.Add(confirmEvery)
	b.find("light")
	if got := room(); got != 1 {
		t.Errorf("as the heavy one is gone there is room for %d light ones, want 1", got)
	}
}

// TestNothingIsSavedForWhatCannotBe: a node that may not have as many slots as a job takes leaves
// them to the others.
func TestNothingIsSavedForWhatCannotBe(t *testing.T) {
	b := newKindsBed(t, 10, "heavy", "light")
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 4, Kinds: map[string]int{"heavy": 3, "light": 1},
	}}})
	asks := b.Asks(1, b.now)
	b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: 2, Capacity: 4, Held: 4}})
	b.claimAll("light")
	b.claimAll("light")
	b.endFirst()
	b.now = b.now.Add(inquireEvery)
	if d := b.Demand(b.now); d.Look || !d.Likely {
		t.Errorf("it would look for jobs that the node cannot run: %+v", d)
	}

	saves := weighed(t, map[string]int{"heavy": 3, "light": 1}, "heavy", "light")
	saves.use(2)
	saves.find("heavy", "light")
	if got := saves.roomFor("light"); got != 0 {
		t.Errorf("as slots are saved up there is room for %d light jobs, want 0", got)
	}
	saves.limits[0].held, saves.limits[0].used = 2, 0 // others have the rest
	if got := saves.roomFor("light"); got != 2 {
		t.Errorf("as the heavy one cannot run there is room for %d light jobs, want 2", got)
	}
}

// TestNothingStandsIdleForAnotherLimit: a job that takes several slots of one limit keeps none of
// them back while it waits for another limit, whose jobs may run for hours.
func TestNothingStandsIdleForAnotherLimit(t *testing.T) {
	b := newKindsBed(t, 20, "heavy", "light", "long")
	b.SetLimits([]store.Limit{
		{ID: 1, Version: 1, Name: "many", LimitSettings: store.LimitSettings{Capacity: 4, Kinds: map[string]int{"heavy": 4, "light": 1}}},
		{ID: 2, Version: 1, Name: "one", LimitSettings: store.LimitSettings{Capacity: 1, Kinds: map[string]int{"heavy": 1, "long": 1}}},
	})
	b.hold()
	for tries := 0; len(b.claimAll("long")) == 0; tries++ { // others may come first, of which there are none
		if tries == 3 {
			t.Fatal("the long job is not claimed")
		}
	}
	long := b.running[0]
	b.running = nil // it does not end
	b.Heard("", b.now)
	lights := 0
	for range 100 {
		lights += len(b.claimAll("heavy", "light"))
		b.endFirst()
		b.now = b.now.Add(inquireEvery)
	}
	if lights < 100 {
		t.Errorf("%d light jobs were claimed while 100 ended", lights)
	}
	b.running = append(b.running, long)
	slices.Reverse(b.running)
	b.endFirst()
	for range 20 {
		if slices.Contains(b.claimAll("heavy", "light"), "heavy") {
			return
		}
		b.endFirst()
		b.now = b.now.Add(inquireEvery)
	}
	t.Error("the heavy job does not begin when nothing but light ones is in its way")
}

// TestHeavyJobsWithARateGetTheirTurn: slots are saved up also for jobs that need a permit of
// another limit, of which none is taken before.
func TestHeavyJobsWithARateGetTheirTurn(t *testing.T) {
	b := newKindsBed(t, 20, "heavy", "light")
	rate := &store.Rate{Count: 100, Per: time.Second}
	b.SetLimits([]store.Limit{
		{ID: 1, Version: 1, Name: "slots", LimitSettings: store.LimitSettings{Capacity: 4, Kinds: map[string]int{"heavy": 3, "light": 1}}},
		{ID: 2, Version: 1, Name: "rate", LimitSettings: store.LimitSettings{Uncapped: true, Rate: rate, Kinds: map[string]int{"heavy": 1}}},
	})
	b.hold()
	heavy, state := 0, gcra.State{}
	state.Period, state.Burst = gcra.Spacing(rate)
	for range 2000 {
		for _, kind := range b.claimAll("heavy", "light") {
			if kind == "heavy" {
				heavy++
			}
		}
		b.endFirst()
		b.now = b.now.Add(inquireEvery / 10)
		b.permit(&state) // when the slots are there, and not before
	}
	if heavy < 20 {
		t.Errorf("%d heavy jobs were claimed while 2,000 jobs ended", heavy)
	}
}

// TestSavedSlotsAreKeptInWindows: what is saved up in one window of very many queues is not taken
// in the next one; and no queue is kept from its turn.
func TestSavedSlotsAreKeptInWindows(t *testing.T) {
	b := newKindsBed(t, 20, "heavy", "light")
	b.queues = queuesOf("t-", 40)
	b.Slots = New(Config{
		Size: 20, Queues: []store.QueueDemand{queue("t-*", 0)}, MaxAside: 10, Kinds: b.kinds, Elapsed: b.elapsed,
	})
	b.mostNamed = 20
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 8, Kinds: map[string]int{"heavy": 6, "light": 1},
	}}})
	for _, q := range b.queues {
		b.Heard(q, b.now)
	}
	b.hold()
	b.only = map[string]string{"heavy": "t-7"} // the others have none
	heavy, lights := 0, map[string]int{}
	for range 2000 { // of 8 jobs that take a second each
		b.claimAll("heavy", "light")
		for _, c := range b.claimedNow {
			if c.Job.Kind == "heavy" {
				heavy++
			} else {
				lights[c.Job.Queue]++
			}
		}
		b.endFirst()
		b.now = b.now.Add(time.Second / 8)
	}
	for _, q := range b.queues {
		if lights[q] < 20 {
			t.Errorf("%d light jobs of %s were claimed while 2,000 jobs ended", lights[q], q)
		}
	}
	if heavy < 20 {
		t.Errorf("%d heavy jobs were claimed while 2,000 jobs ended", heavy)
	}
}

// TestNewQueuesComeAfterThoseThatWait: a queue that is heard of comes after those that have waited
// for slots before.
func TestNewQueuesComeAfterThoseThatWait(t *testing.T) {
	b := newKindsBed(t, 20, "light")
	b.Slots = New(Config{
		Size: 20, Queues: []store.QueueDemand{queue("t-*", 0)}, MaxAside: 10, Kinds: b.kinds, Elapsed: b.elapsed,
	})
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 1, Kinds: map[string]int{"light": 1},
	}}})
	b.queues = []string{"t-old"}
	b.Heard("t-old", b.now)
	b.hold()
	old := 0
	for i := range 40 { // a new queue for each slot that becomes free
		b.queues = append(b.queues, fmt.Sprint("t-", i))
		b.Heard(b.queues[len(b.queues)-1], b.now)
		b.claimAll("light")
		if len(b.claimedNow) == 1 && b.claimedNow[0].Job.Queue == "t-old" {
			old++
		}
		b.endFirst()
		b.now = b.now.Add(inquireEvery)
	}
	if old < 2 {
		t.Errorf("the queue that has waited from the first got %d slots of 40", old)
	}
}

// weighed is a bed that holds all four slots of a limit of kinds with weights, which have jobs.
// Those come first that are named first.
func weighed(t *testing.T, weights map[string]int, order ...string) *kindsBed {
	t.Helper()
	b := newKindsBed(t, 20, order...)
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 4, Kinds: weights}}})
	b.hold()
	for i, kind := range order {
		b.classOf(lane{"q", kind}).turn = i + 1
	}
	b.classOf(lane{"q", ""}).emptied = 0 // of other kinds there are none
	b.now = b.now.Add(confirmEvery)
	return b
}

// rooms are for how many jobs of each kind there is room.
func (b *kindsBed) roomFor(kind string) (n int) {
	for _, p := range b.Demand(b.now).parts {
		if p.class.lane.kind == kind {
			n += p.room
		}
	}
	return n
}

// use has jobs that are not here take slots of the limit.
func (b *kindsBed) use(slots int) { b.limits[0].used += slots }

// TestWhatSomeCannotUseGoesToTheOthers: slots that are too few for a heavy job are for light ones.
func TestWhatSomeCannotUseGoesToTheOthers(t *testing.T) {
	b := weighed(t, map[string]int{"heavy": 4, "light": 1}, "light", "heavy")
	if got := b.roomFor("light"); got != 4 {
		t.Errorf("there is room for %d light jobs, want 4", got)
	}
	if b.limits[0].usable != 4 {
		t.Errorf("%d slots can be used, want 4", b.limits[0].usable)
	}
}

// TestSlotsOfUseToHeavyJobsAreKept: a node does not give slots back, though others want some, that
// a heavy job of its own can use as soon as others end, before it is known whether there is one.
func TestSlotsOfUseToHeavyJobsAreKept(t *testing.T) {
	b := weighed(t, map[string]int{"heavy": 3, "light": 1}, "heavy", "light")
	light := b.classOf(lane{"q", "light"})
	light.emptied = light.news
	b.use(2)
	b.Wanted("l", b.now)
	if asks := b.Asks(1, b.now); len(asks) != 0 {
		t.Errorf("slots are given back that a heavy job waits for: %+v", asks)
	}
}

// TestSaversDoNotWaitForEachOther: of two classes for which slots of a limit are saved up the first
// one gets those that it needs, though the other one needs more.
func TestSaversDoNotWaitForEachOther(t *testing.T) {
	b := weighed(t, map[string]int{"heavy": 3, "heavier": 4, "light": 1}, "heavy", "heavier", "light")
	b.use(3)
	b.find("heavy", "heavier", "light")
	if len(b.savers) != 1 {
		t.Fatalf("slots are saved up for %d classes, want the first one", len(b.savers))
	}
	b.savers = append(b.savers, b.classOf(lane{"q", "heavier"}))
	b.savers[1].saves = true
	b.use(-2)
	if heavy, light := b.roomFor("heavy"), b.roomFor("light"); heavy != 1 || light != 0 {
		t.Errorf("there is room for %d heavy jobs and %d light ones, want 1 and 0", heavy, light)
	}
}

// TestWhenSlotsAreKept: a class that is to get slots keeps those that are free back only while that
// is of use to it.
func TestWhenSlotsAreKept(t *testing.T) {
	rate := store.LimitSettings{Uncapped: true, Rate: &store.Rate{Count: 10, Per: time.Second}, Kinds: map[string]int{"heavy": 1}}
	for _, c := range []struct {
		name   string
		other  store.LimitSettings // which the heavy jobs count in, too
		used   [2]int              // of the two
		set    func(other *limit, at time.Duration)
		lights int // for how many there is room
	}{
		{"nothing else", store.LimitSettings{Capacity: 9}, [2]int{2, 0}, nil, 0},
		{"another limit of jobs like others", store.LimitSettings{Capacity: 1, Kinds: map[string]int{"heavy": 1}}, [2]int{2, 1}, nil, 2},
		{"two limits that it lacks slots of", store.LimitSettings{Capacity: 4, Kinds: map[string]int{"heavy": 3}}, [2]int{2, 2}, nil, 2},
		{"a permit that comes soon", rate, [2]int{0, 0}, nil, 1},
		{"a permit that comes later", rate, [2]int{2, 0}, func(other *limit, at time.Duration) { other.meter.notBefore = at + time.Hour }, 2},
	} {
		b := newKindsBed(t, 20, "heavy", "light")
		b.SetLimits([]store.Limit{
			{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 4, Kinds: map[string]int{"heavy": 3, "light": 1}}},
			{ID: 2, Version: 1, Name: "other", LimitSettings: c.other},
		})
		b.hold()
		for i, n := range c.used {
			b.limits[i].used += n
		}
		if c.set != nil {
			c.set(b.limits[1], b.elapsed())
		}
		heavy := b.classOf(lane{"q", "heavy"})
		heavy.saves, b.savers = true, []*class{heavy}
		b.classOf(lane{"q", ""}).emptied = 0
		if got := b.roomFor("light"); got != c.lights {
			t.Errorf("%s: there is room for %d light jobs, want %d", c.name, got, c.lights)
		}
	}
}

// TestNamedQueuesAreClaimedOnce: in each window of many queues those that are there all the time
// are named once, also where slots are saved up for one of them.
func TestNamedQueuesAreClaimedOnce(t *testing.T) {
	b := newKindsBed(t, 20, "heavy", "light")
	b.Slots = New(Config{
		Size: 20, Queues: []store.QueueDemand{queue("named", 0), queue("t-*", 0)}, MaxAside: 10, Kinds: b.kinds, Elapsed: b.elapsed,
	})
	b.mostNamed = 20
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 8, Kinds: map[string]int{"heavy": 6, "light": 1},
	}}})
	for _, q := range queuesOf("t-", 40) {
		b.Heard(q, b.now)
	}
	b.hold()
	heavy := b.classOf(lane{"named", "heavy"})
	heavy.saves, b.savers = true, []*class{heavy}
	b.now = b.now.Add(windowEvery)
	named := map[store.QueueDemand]bool{}
	for _, q := range b.Demand(b.now).Queues {
		q.Limit = 0
		if named[q] {
			t.Fatalf("%+v is named twice", q)
		}
		named[q] = true
	}
}

// TestOtherKindsAreNoNews: that a queue has jobs of a kind which the node does not claim tells it
// of nothing.
func TestOtherKindsAreNoNews(t *testing.T) {
	b := newKindsBed(t, 20, "light")
	b.SetLimits(limitsOf(200, 1)) // so that queues are looked for
	b.hold()
	if !b.Demand(b.now).Look || !b.TakeLook() {
		t.Fatal("it is not looked for queues")
	}
	b.Found([]store.BusyQueue{{Name: "q1", Kind: "other"}}, b.now)
	if d := b.Demand(b.now); d.Likely || d.Waits {
		t.Errorf("there may be jobs to claim: %+v", d.Queues)
	}
}

// kindsBed is a bed whose jobs are of several kinds in the queue "q", or in other ones.
type kindsBed struct {
	*Slots
	now        time.Time
	t          interface{ Fatal(args ...any) }
	kinds      map[string]string
	elapsed    func() time.Duration
	queues     []string
	only       map[string]string // kinds of which one queue alone has jobs
	last       byte
	running    []store.Claimed
	claimedNow []store.Claimed
}

func newKindsBed(t interface{ Fatal(args ...any) }, size int, kinds ...string) *kindsBed {
	b := &kindsBed{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), t: t, kinds: map[string]string{}, queues: []string{"q"}}
	began := b.now
	b.elapsed = func() time.Duration { return b.now.Sub(began) }
	for _, kind := range kinds {
		b.kinds[kind] = kind
	}
	b.Slots = New(Config{Size: size, MaxAside: 10, Kinds: b.kinds, Elapsed: b.elapsed})
	return b
}

// permit gives the node the permits of a rate that it asks for.
func (b *kindsBed) permit(state *gcra.State) {
	asks, sent, _ := b.PermitAsks(b.now)
	var answer []store.Permits
	for i := range asks {
		p, _ := state.Take(b.now.UnixMicro(), &asks[i])
		answer = append(answer, p)
	}
	b.Permitted(asks, answer, sent)
}

// hold has the node hold all slots.
func (b *kindsBed) hold() {
	asks := b.Asks(1, b.now)
	var answer []store.Grant
	for _, a := range asks {
		l := b.byID[a.Limit]
		answer = append(answer, store.Grant{Limit: a.Limit, Slots: l.Capacity, Capacity: l.Capacity, Held: l.Capacity, Part: l.Capacity})
	}
	b.Granted(1, asks, answer)
}

// find looks for jobs, of which there are some of the kinds.
func (b *kindsBed) find(kinds ...string) {
	if !b.Demand(b.now).Look || !b.TakeLook() {
		b.t.Fatal("it is not to be looked for jobs")
	}
	b.Found(b.found(kinds), b.now)
}

// claimAll claims what the node may, where there are any number of jobs of the kinds. It returns
// the kinds of those that it got.
func (b *kindsBed) claimAll(kinds ...string) (got []string) {
	if b.Demand(b.now).Look && b.TakeLook() {
		b.Found(b.found(kinds), b.now)
	}
	d := b.Claim(b.now)
	var jobs []store.Claimed
	for _, p := range d.parts {
		for range p.room {
			queue, kind := b.jobOf(p.class, kinds)
			if kind != "" && len(jobs) < d.Limit {
				b.last++
				c := store.Claimed{ClaimedAt: b.now}
				c.Job.ID[0], c.Job.ID[1], c.Job.Queue, c.Job.Kind, c.Job.RunAt = b.last, byte(len(b.running)), queue, kind, b.now
				c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: 1, Claim: int64(b.last)}
				jobs, got = append(jobs, c), append(got, kind)
			}
		}
	}
	b.begin(b.Admit(jobs))
	b.Learn(d, d.Limit, jobs)
	b.claimedNow = jobs
	return got
}

// jobOf is what a job of a class is of, if there are any: then its kind is not "".
func (b *kindsBed) jobOf(c *class, kinds []string) (queue, kind string) {
	for _, queue := range b.queues {
		for _, kind := range kinds {
			if b.has(queue, kind) && b.classOf(lane{queue, kind}) == c {
				return queue, kind
			}
		}
	}
	return "", ""
}

// has reports whether a queue has jobs of a kind.
func (b *kindsBed) has(queue, kind string) bool { return b.only[kind] == "" || b.only[kind] == queue }

// found are the queues that have jobs of kinds.
func (b *kindsBed) found(kinds []string) (all []store.BusyQueue) {
	for _, q := range busy(b.queues, kinds...) {
		if b.has(q.Name, q.Kind) {
			all = append(all, q)
		}
	}
	return all
}

func (b *kindsBed) begin(jobs []store.Claimed) {
	for _, c := range jobs {
		b.Begin(c.Job.ID, &run{slots: b.Slots, queue: c.Job.Queue, job: &c.Job, lease: c.Lease, started: b.now})
		b.running = append(b.running, c)
	}
}

// endFirst ends the job that has run for the longest time.
func (b *kindsBed) endFirst() {
	if len(b.running) == 0 {
		return
	}
	c := b.running[0]
	b.running = b.running[1:]
	next, ok := b.End(&c.Job, &run{slots: b.Slots, queue: c.Job.Queue, job: &c.Job, lease: c.Lease}, b.now)
	if ok {
		b.begin([]store.Claimed{next})
	}
	b.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, b.now)
}
