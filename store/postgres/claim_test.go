package postgres_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// The bounds of cursors.go.
const (
	lookEvery = 250 * time.Millisecond
	nearBy    = time.Second
	idleAfter = time.Second
)

// hand is a clock that stands still until it is moved.
type hand struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration // how far each look at it moves it
}

func (h *hand) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(h.step)
	return h.at
}

func (h *hand) move(d, step time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.step = h.at.Add(d), step
}

// claimer is a node of a store whose cursors have a clock that stands still.
type claimer struct {
	*testing.T
	store store.Store
	other store.Store // another process, of which this one hears nothing
	clock *hand
	node  int64
	seq   int64
	limit int
}

func newClaimer(t *testing.T, config postgres.Config, limit int) *claimer {
	t.Helper()
	s := open(t, config)
	clock := &hand{at: time.Unix(1_800_000_000, 0)}
	postgres.FakeCursors(s, clock.now)
	return &claimer{t, s, open(t, config), clock, join(t, s), 0, limit}
}

func (c *claimer) claim() []store.ID {
	c.Helper()
	var ids []store.ID
	for _, run := range c.runs() {
		ids = append(ids, run.Job.ID)
	}
	return ids
}

func (c *claimer) runs() []store.Claimed {
	c.Helper()
	c.seq += 20
	runs, err := c.store.Claim(c.Context(), demand(c.node, c.seq, c.limit))
	if err != nil {
		c.Fatalf("Claim: %v", err)
	}
	return runs
}

// want claims, and compares with the jobs.
func (c *claimer) want(what string, jobs ...*store.Enqueue) {
	c.Helper()
	if got := c.claim(); !slices.Equal(got, idsOf(jobs)) {
		c.Fatalf("%s: claimed %v, want %v", what, got, idsOf(jobs))
	}
}

func idsOf(jobs []*store.Enqueue) (ids []store.ID) {
	for _, q := range jobs {
		ids = append(ids, q.Job.ID)
	}
	return ids
}

// several makes jobs, one after the other.
func several(n int, change ...func(*store.Enqueue)) (jobs []*store.Enqueue) {
	for range n {
		jobs = append(jobs, newJob(change...))
	}
	return jobs
}

// late puts a job in a transaction that commits when commit is called.
func (c *claimer) late(url string, q *store.Enqueue) (commit func()) {
	c.Helper()
	tx, end, _ := callers["pgx"](c.T, url)
	if err := c.store.EnqueueTx(c.Context(), tx, []*store.Enqueue{q}); err != nil || q.Err != nil {
		c.Fatalf("EnqueueTx: %v, %v", err, q.Err)
	}
	return func() {
		c.Helper()
		if err := end(); err != nil {
			c.Fatal(err)
		}
	}
}

// TestFloorsHideNothingForLong: a transaction that was long commits behind jobs that are taken
// already, while there are so many others that every claim is full.
func TestFloorsHideNothingForLong(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 2)
	first, last, jobs := newJob(), newJob(), several(9)
	enqueue(t, c.store, newJob(func(q *store.Enqueue) { q.Job.Kind = "other" }))
	commit := c.late(config.URL, last)
	enqueue(t, c.store, first)
	enqueue(t, c.store, jobs...)
	c.want("the first", first, jobs[0])
	commit()
	c.clock.move(lookEvery-1, 0)
	c.want("what is not behind", jobs[1], jobs[2])
	c.clock.move(1, 0)
	c.want("after 250 ms", last, jobs[3])
	c.want("then it goes on", jobs[4], jobs[5])
}

// TestFloorsHideNothingFromAClaimWithRoom: if there is nothing beyond the floors what is behind
// them is taken at once.
func TestFloorsHideNothingFromAClaimWithRoom(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 2)
	last, jobs := newJob(), several(2)
	commit := c.late(config.URL, last)
	enqueue(t, c.store, jobs...)
	c.want("the first", jobs...)
	commit()
	c.want("at once", last)
}

// TestARetriedJobBehindAFloor has a run time of long ago, and a lane that never ends.
func TestARetriedJobBehindAFloor(t *testing.T) {
	t.Parallel()
	for name, promotedBy := range map[string]func(c *claimer) store.Store{
		"promoted elsewhere": func(c *claimer) store.Store { return c.other },
		"promoted here":      func(c *claimer) store.Store { return c.store },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClaimer(t, used(t, nil), 2)
			jobs := several(9)
			enqueue(t, c.store, jobs...)
			c.putBack(c.runs()[0], time.Hour)
			c.promote(promotedBy(c), 1)
			if promotedBy(c) == c.store {
				c.want("at once", jobs[0], jobs[2])
				return
			}
			c.want("what is not behind", jobs[2:4]...)
			c.clock.move(lookEvery, 0)
			c.want("after 250 ms", jobs[0], jobs[4])
		})
	}
}

// TestAJobThatIsGivenBackBehindAFloor: a run that never began leaves its job its place, and the
// claims of the process find it there at once.
func TestAJobThatIsGivenBackBehindAFloor(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	jobs := several(9)
	enqueue(t, c.store, jobs...)
	runs := c.runs()
	c.want("the next", jobs[2:4]...)
	giveBack := func(run store.Claimed) {
		o := &store.Outcome{Lease: run.Lease, State: store.Available, KeepsPlace: true, Reason: store.ReasonReleased}
		if err := store.ApplyEach(t.Context(), c.store, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
	}
	giveBack(runs[1])
	c.want("at once", jobs[1], jobs[4])
	giveBack(runs[0])
	c.want("at once again", jobs[0], jobs[5])
}

// putBack ends a run whose job is to be tried again, since so long ago.
func (c *claimer) putBack(run store.Claimed, ago time.Duration) {
	c.Helper()
	o := &store.Outcome{Lease: run.Lease, State: store.Retryable, RunAt: run.Job.RunAt.Add(-ago), Reason: store.ReasonError}
	if err := store.ApplyEach(c.Context(), c.other, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		c.Fatal(err, o.Err)
	}
}

func (c *claimer) promote(by store.Store, jobs int) {
	c.Helper()
	if promoted, err := by.Promote(c.Context(), 10); err != nil || promoted.Jobs != jobs {
		c.Fatalf("promoted %v, %v", promoted, err)
	}
}

// TestMoreBehindAFloorThanAClaimTakes: it is all taken before the claims go on where they were.
func TestMoreBehindAFloorThanAClaimTakes(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 2)
	enqueue(t, c.store, newJob())
	c.claim()
	behind, jobs := several(5), several(6)
	tx, commit, _ := callers["pgx"](t, config.URL)
	if err := c.store.EnqueueTx(t.Context(), tx, behind); err != nil {
		t.Fatal(err)
	}
	enqueue(t, c.store, jobs...)
	c.want("the first", jobs[:2]...)
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	c.want("what is not behind", jobs[2:4]...)
	c.clock.move(lookEvery, 0)
	c.want("after 250 ms", behind[:2]...)
	c.want("then", behind[2:4]...)
	c.want("and", behind[4], jobs[4])
}

// TestFloorsOfTwoStores: what one puts behind the floors of the other is taken by it in time, and
// nothing twice.
func TestFloorsOfTwoStores(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := newClaimer(t, config, 2), newClaimer(t, config, 2)
	jobs := several(12)
	enqueue(t, a.store, jobs...)
	a.want("a", jobs[:2]...)
	b.want("b", jobs[2:4]...)
	runs := b.runs()
	a.want("a goes on", jobs[6:8]...)
	// A node that leaves gives back its jobs: now is their run time, the hour before is that of one
	// which is retried.
	o := &store.Outcome{Lease: runs[0].Lease, State: store.Retryable, RunAt: runs[0].Job.RunAt.Add(-time.Hour), Reason: store.ReasonError}
	if err := store.ApplyEach(t.Context(), b.store, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	if promoted, err := b.store.Promote(t.Context(), 10); err != nil || promoted.Jobs != 1 {
		t.Fatalf("promoted %v, %v", promoted, err)
	}
	a.clock.move(lookEvery, 0)
	a.want("after 250 ms", jobs[4], jobs[8])
	b.want("b goes on", jobs[9:11]...)
	a.want("the last", jobs[11])
	a.want("nothing is left")
	b.want("nor here")
}

// TestLooksThatAreExpensive are rare, but what is a little late still waits for 250 ms only.
func TestLooksThatAreExpensive(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 2)
	old, late, jobs := newJob(), newJob(), several(40)
	enqueue(t, c.store, old, late)
	runs := c.runs()
	enqueue(t, c.store, jobs...)
	first, err := c.store.Get(t.Context(), "", jobs[0].Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs { // both are behind the others: one by an hour, one by a little
		run.Job.RunAt = first.RunAt
		if run.Job.ID == old.Job.ID {
			c.putBack(run, time.Hour)
		} else {
			c.putBack(run, nearBy/4)
		}
	}
	next := func(n int) []*store.Enqueue { taken := jobs[:n]; jobs = jobs[n:]; return taken }
	c.want("a claim from the floors", next(2)...)
	for range 2 {
		c.clock.move(lookEvery, 100*time.Millisecond)
		c.want("a look that takes 100 ms", next(2)...)
	}
	c.clock.move(0, 0)
	c.promote(c.other, 2)
	c.want("from the floors", next(2)...)
	c.clock.move(lookEvery, 0)
	c.want("250 ms later, near the floors", late, next(1)[0])
	c.clock.move(500*time.Millisecond, 0)
	c.want("750 ms later", next(2)...)
	c.clock.move(1300*time.Millisecond, 0)
	c.want("twenty times what the look took", old, next(1)[0])
}

// putBehind takes the next job and puts it back, with a run time that is so long before its own.
func (c *claimer) putBehind(by time.Duration) *store.Enqueue {
	c.Helper()
	q := newJob()
	enqueue(c.T, c.store, q)
	runs := c.runs()
	if len(runs) != 1 || runs[0].Job.ID != q.Job.ID {
		c.Fatalf("claimed %v", runs)
	}
	c.putBack(runs[0], by)
	c.promote(c.other, 1)
	return q
}

// looksTake teaches a claimer of two jobs, which has nothing to claim, how long its whole looks
// take.
func (c *claimer) looksTake(long time.Duration) {
	c.Helper()
	jobs := several(6)
	enqueue(c.T, c.store, jobs...)
	c.want("a claim that leaves floors", jobs[:2]...)
	for _, next := range [][]*store.Enqueue{jobs[2:4], jobs[4:]} {
		c.clock.move(lookEvery, long)
		c.want("a look at everything", next...)
	}
	c.clock.move(0, 0)
}

// TestALookThatWasSlowByChance says nothing about the next one.
func TestALookThatWasSlowByChance(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	jobs := several(8)
	enqueue(t, c.store, jobs...)
	c.want("a claim that leaves floors", jobs[:2]...)
	c.clock.move(lookEvery, 1600*time.Millisecond)
	c.want("a look that waits for a lock", jobs[2:4]...)
	c.clock.move(0, 0)
	urgent := newJob(inQueue("new", 1))
	enqueue(t, c.other, urgent)
	c.want("more than 250 ms after it began", urgent, jobs[4])
	c.want("the last", jobs[5:7]...)
}

// TestAnIdleClaimerLooksWhateverItCosts finds what nobody told it of a second after its last look.
func TestAnIdleClaimerLooksWhateverItCosts(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	c.looksTake(3 * time.Second) // so that a busy one looks every 30 s
	job := newJob(inQueue("new", 1))
	enqueue(t, c.other, job)
	c.want("the end of what is known")
	c.clock.move(idleAfter-1, 0)
	c.want("what is not looked for")
	c.clock.move(1, 0)
	c.want("a second later", job)
}

// TestAnIdleClaimerThatIsWoken looks at everything at once: what it is told of may be in a lane
// that it has not met.
func TestAnIdleClaimerThatIsWoken(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	w := watch(t, c.store)
	eventually(t, "wake-ups", func() bool { return c.store.Traits().Wakeups })
	c.looksTake(100 * time.Millisecond)
	c.clock.move(idleAfter, 100*time.Millisecond)
	c.want("nothing, with a look at everything")
	c.clock.move(100*time.Millisecond, 0)
	job := newJob(inQueue("mail", 1))
	enqueue(t, c.other, job)
	c.other.Notify(store.Wake{Kind: store.WakeReady, Namespace: job.Job.Namespace, Queue: job.Job.Queue})
	eventually(t, "the wake-up", func() bool { return w.count(ofQueue(job.Job.Queue)) > 0 })
	c.want("at once", job)
}

// TestEmptyClaimsWhereLooksAreExpensive find what is a little late at once, and what is far behind
// when it is time for a look, or at once where that has happened lately.
func TestEmptyClaimsWhereLooksAreExpensive(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	c.looksTake(100 * time.Millisecond)
	c.want("nothing is left")
	c.want("what is a little late", c.putBehind(nearBy/4))
	old := c.putBehind(time.Hour)
	c.want("what is far behind is not looked for")
	c.clock.move(lookEvery, 0)
	c.want("nor 250 ms later")
	c.clock.move(idleAfter-lookEvery-1, 0)
	c.want("nor as long as something was taken lately")
	c.clock.move(1, 100*time.Millisecond)
	c.want("once nothing was taken for a second", old)
	c.clock.move(0, 0)
	c.want("what is far behind where it has just been found", c.putBehind(time.Hour))
	c.clock.move(time.Hour, 0)
	c.want("nothing is left in the end")
}

// TestFloorsOfManyLanes: the order is that of the whole, and a lane that a claim does not ask for
// keeps its floor.
func TestFloorsOfManyLanes(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 3)
	var jobs []*store.Enqueue
	for i := range 12 {
		jobs = append(jobs, newJob(func(q *store.Enqueue) { q.Job.Queue, q.Job.Priority = fmt.Sprint("q", i%2), 1+i/6 }))
	}
	enqueue(t, c.store, jobs...)
	c.want("the first", jobs[:3]...)
	c.want("and those after them", jobs[3:6]...)
	c.seq += 20
	params := demand(c.node, c.seq, 2)
	params.Queues = []store.QueueDemand{{Name: "q1", Limit: 2}, {Name: "q0"}}
	runs, err := c.store.Claim(t.Context(), params)
	if err != nil || len(runs) != 2 || runs[0].Job.ID != jobs[7].Job.ID || runs[1].Job.ID != jobs[9].Job.ID {
		t.Fatalf("claimed %v, %v", runs, err)
	}
	c.want("of both again", jobs[6], jobs[8], jobs[10])
	urgent := newJob(func(q *store.Enqueue) { q.Job.Queue, q.Job.Priority = "q0", 1 })
	enqueue(t, c.store, urgent)
	c.want("the last", urgent, jobs[11])
}

// counter counts the statements of a pool.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *counter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(data.SQL, "SKIP LOCKED") {
		c.n["claim"]++
	}
}
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (c *counter) since(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n[what]
	c.n[what] = 0
	return n
}

// TestAnIdleClaimIsOneStatement: only the first claim that finds nothing after full ones looks
// twice.
func TestAnIdleClaimIsOneStatement(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.Shared(t).Schema(t)
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	count := &counter{n: map[string]int{}}
	config.ConnConfig.Tracer = count
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	c := newClaimer(t, postgres.Config{Pool: pool, SchemaName: schema}, 2)
	enqueue(t, c.store, several(3)...)
	for _, want := range []int{1, 1, 2, 1, 1} { // full, the last one, nothing, idle, idle
		c.claim()
		if got := count.since("claim"); got != want {
			t.Fatalf("%d statements, want %d", got, want)
		}
	}
	enqueue(t, c.store, several(2)...)
	c.claim()
	c.clock.move(lookEvery, 0)
	count.since("claim")
	c.want("nothing")
	if got := count.since("claim"); got != 1 {
		t.Fatalf("an idle node sent %d statements", got)
	}
}

var touched = regexp.MustCompile(`Buffers: shared hit=(\d+)`)

// TestClaimsUnderALongTransaction cost what they did before it: while it lasts nothing of what is
// taken can be cleared away.
func TestClaimsUnderALongTransaction(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string]int{"one lane": 1, "several": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			c := newClaimer(t, config, 100)
			pages := func(whole bool) int {
				c.seq += 20
				lines, err := postgres.ClaimPlan(t.Context(), c.store, demand(c.node, c.seq, c.limit), whole)
				if err != nil {
					t.Fatal(err)
				}
				n, err := strconv.Atoi(touched.FindStringSubmatch(strings.Join(lines, "\n"))[1])
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			pin, err := connect(t, config.URL).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pin.Rollback(context.Background()) }()
			if _, err := pin.Exec(t.Context(), "SELECT count(*) FROM pg_class"); err != nil {
				t.Fatal(err)
			}
			n := 0
			for range 4 {
				enqueue(t, c.store, several(1000, func(q *store.Enqueue) { q.Job.Queue = fmt.Sprint("q", n%queues); n++ })...)
			}
			observer := connect(t, config.URL)
			version := fmt.Sprintf(`SELECT ctid::text FROM %s.node WHERE id = %d`, pgx.Identifier{config.SchemaName}.Sanitize(), c.node)
			before, node := pages(false), value[string](t, observer, version)
			for range 30 {
				c.claim()
			}
			if after := pages(false); after > before*3/2 {
				t.Errorf("a claim touched %d pages before, and %d now; from the beginning it is %d", before, after, pages(true))
			}
			if now := value[string](t, observer, version); now != node {
				t.Errorf("claims left versions of the node's row behind: from %s to %s", node, now)
			}
		})
	}
}

// ofQueues claims so many jobs of each queue, and wants these.
func (c *claimer) ofQueues(what string, queues []store.QueueDemand, want ...*store.Enqueue) {
	c.Helper()
	c.seq += 20
	params := demand(c.node, c.seq, 0)
	params.Queues = queues
	for _, q := range queues {
		if params.Limit += q.Limit; q.Kind != "" && !slices.Contains(params.Kinds, q.Kind) {
			params.Kinds = append(params.Kinds, q.Kind)
		}
	}
	runs, err := c.store.Claim(c.Context(), params)
	if err != nil {
		c.Fatalf("Claim: %v", err)
	}
	var got []store.ID
	for _, run := range runs {
		got = append(got, run.Job.ID)
	}
	if !slices.Equal(got, idsOf(want)) {
		c.Fatalf("%s: claimed %v, want %v", what, got, idsOf(want))
	}
}

// TestClaimTakesOfNoQueueMoreThanItMay: however often it has to look.
func TestClaimTakesOfNoQueueMoreThanItMay(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	in := func(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Queue = name } }
	a := several(200, in("a"))
	enqueue(t, c.store, a...)
	c.want("a claim that leaves floors", a[:2]...)
	both := []store.QueueDemand{{Name: "a", Limit: 40}, {Name: "b", Limit: 70}}
	c.ofQueues("as many as asked for", both, a[2:42]...)
	b := several(50, in("b"))
	enqueue(t, c.other, b...)
	few := slices.Clone(a[42:152])
	c.ofQueues("the most of one", []store.QueueDemand{{Name: "a", Limit: 110}}, few...)
	c.ofQueues("little of it, and of the other what nobody told of", []store.QueueDemand{{Name: "a", Limit: 70}, {Name: "b", Limit: 40}},
		append(slices.Clone(a[152:]), b[:40]...)...)
}

// TestClaimsOfQueuesThatAreCutShort go on where they were, whichever queue has room for more.
func TestClaimsOfQueuesThatAreCutShort(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	in := func(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Queue = name } }
	a, b := several(20, in("a")), several(20, in("b"))
	enqueue(t, c.store, append(slices.Clone(a), b...)...)
	demand := func(ofA, ofB, ofC int) []store.QueueDemand {
		return []store.QueueDemand{{Name: "a", Limit: ofA}, {Name: "b", Limit: ofB}, {Name: "c", Limit: ofC}}
	}
	c.ofQueues("a look at everything", demand(2, 0, 9), a[:2]...)
	// What this process does not hear of shows which claims look at everything.
	unheard := newJob(in("c"))
	enqueue(t, c.other, unheard)
	c.ofQueues("of one", demand(2, 0, 9), a[2:4]...)
	c.ofQueues("of the other", demand(0, 2, 9), b[:2]...)
	c.ofQueues("of both", demand(1, 1, 9), a[4], b[2])
	c.clock.move(lookEvery, 0)
	c.ofQueues("and all, when it is time", demand(1, 0, 9), a[5], unheard)
	c.ofQueues("of both again", demand(1, 1, 9), a[6], b[3])
}

// TestClaimsByKindGoOn where they were, whichever demand has room for more; one of which nothing
// may be taken just now is looked at all the same. A demand for a part of what another one was for
// needs no look at everything.
func TestClaimsByKindGoOn(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	of := func(kind, queue string) func(*store.Enqueue) {
		return func(q *store.Enqueue) { q.Job.Kind, q.Job.Queue = kind, queue }
	}
	a, b := several(20, of("send", "a")), several(20, of("push", "b"))
	enqueue(t, c.store, append(slices.Clone(a), b...)...)
	demand := func(all, sends, pushes int) []store.QueueDemand {
		return []store.QueueDemand{{Limit: all}, {Kind: "send", Limit: sends}, {Kind: "push", Limit: pushes}}
	}
	c.ofQueues("a look at everything", demand(0, 2, 0), a[:2]...)
	// What this process does not hear of shows which claims look at everything.
	unheard := newJob(of("send", "c"))
	enqueue(t, c.other, unheard)
	c.ofQueues("of one", demand(9, 2, 0), a[2:4]...)
	c.ofQueues("of the other", demand(9, 0, 2), b[:2]...)
	c.ofQueues("of both", demand(9, 1, 1), a[4], b[2])
	c.ofQueues("of a kind in its queue", append(demand(9, 0, 0), store.QueueDemand{Name: "a", Kind: "send", Limit: 1}), a[5])
	c.clock.move(lookEvery, 0)
	c.ofQueues("and all, when it is time", demand(9, 15, 0), append(slices.Clone(a[6:]), unheard)...)
	c.ofQueues("of the other", demand(9, 0, 1), b[3])
}
