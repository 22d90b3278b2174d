package slots

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// TestRateHolds: nodes that claim as many jobs as they have permits for, whose calls are lost or
// late, whose answers come late, and whose clocks differ, never claim more jobs in any time than
// the burst and what comes in that time, and each gets some again when all is quiet.
func TestRateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newRateWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"claim": w.claim, "start": w.start, "ask": w.ask, "answer": w.answer, "late": w.late, "wait": w.wait, "hurry": w.hurry,
			"clock": w.clock,
		})
		w.check(t)
		w.settle(t)
	})
}

// rateWorld is a store as far as the rate of one limit goes, and some nodes. Time is counted in
// microseconds.
type rateWorld struct {
	now   time.Duration // that is never set
	set   time.Duration // how far the clock of the database was set back
	limit store.Limit
	state gcra.State
	nodes []*rateNode
	used  []time.Duration // when jobs were claimed
	last  uint64
}

type rateNode struct {
	*Slots
	skew    time.Duration
	sent    time.Duration
	asks    []store.PermitAsk // whose answer is awaited
	answer  []store.Permits
	delayed [][]store.PermitAsk // calls that the store has not carried out yet
}

var worldStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newRateWorld(t *rapid.T) *rateWorld {
	w := &rateWorld{state: gcra.State{Burst: 1}}
	rate := store.Rate{
		Count: rapid.SampledFrom([]int{1, 3, 7, 50, 1000, 20000}).Draw(t, "count"),
		Per:   rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, time.Minute}).Draw(t, "per"),
	}
	rate.Burst = rate.LeastBurst() + rapid.SampledFrom([]int{0, 0, 1, 5, 50}).Draw(t, "burst")
	w.limit = store.Limit{ID: 1, Version: 1, Name: "r", Namespace: "n"}
	w.limit.Uncapped, w.limit.Rate = true, &rate
	if err := w.limit.Check(); err != nil {
		t.Fatal(err)
	}
	w.state.Become(w.clockNow(), &rate)
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		n := &rateNode{skew: time.Duration(rapid.IntRange(0, 20).Draw(t, "skew")) * time.Second}
		n.Slots = New(Config{
			Size: rapid.SampledFrom([]int{1, 8, 200}).Draw(t, "size"), MaxAside: 10, Kinds: map[string]string{"a": "a", "b": "b"},
			Elapsed: func() time.Duration { return w.now + n.skew },
		})
		n.SetLimits([]store.Limit{w.limit})
		w.nodes = append(w.nodes, n)
	}
	return w
}

func (w *rateWorld) clockNow() int64 { return worldStart.Add(w.now - w.set).UnixMicro() }

func (w *rateWorld) time() time.Time { return worldStart.Add(w.now) }

func (w *rateWorld) node(t *rapid.T) *rateNode { return rapid.SampledFrom(w.nodes).Draw(t, "node") }

func (w *rateWorld) pass(t *rapid.T, most time.Duration) {
	w.now += time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "passes")) * time.Microsecond
}

func (w *rateWorld) wait(t *rapid.T) {
	most := []time.Duration{time.Millisecond, 25 * time.Millisecond, 150 * time.Millisecond, 10 * time.Second}
	w.pass(t, rapid.SampledFrom(most).Draw(t, "most"))
}

// hurry has all nodes claim all that they may at once.
func (w *rateWorld) hurry(*rapid.T) {
	for _, n := range w.nodes {
		n.Heard("", w.time())
		w.claimSome(n, 1<<20)
	}
}

// clock sets the clock of the database back, as far as it goes: forward it would let a burst more.
func (w *rateWorld) clock(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
		w.set += time.Duration(rapid.IntRange(1, 5000).Draw(t, "back")) * time.Millisecond
	}
}

func (w *rateWorld) claim(t *rapid.T) {
	n := w.node(t)
	n.Heard("", w.time())
	w.claimSome(n, rapid.SampledFrom([]int{0, 1, 3, 1000}).Draw(t, "jobs"))
}

// claimSome claims at most so many jobs. What becomes of them is no matter: their runs end at once.
func (w *rateWorld) claimSome(n *rateNode, most int) {
	d := n.Claim(w.time())
	at := w.now
	var jobs []store.Claimed
	for range min(most, d.Limit) {
		w.last++
		var c store.Claimed
		binary.BigEndian.PutUint64(c.Job.ID[:], w.last)
		c.Job.Queue, c.Job.Kind, c.ClaimedAt, c.Job.RunAt = "q", "a", w.time(), w.time()
		c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: 1, Claim: int64(w.last)}
		jobs = append(jobs, c)
		w.used = append(w.used, at)
	}
	started := n.Admit(jobs)
	n.Learn(d, d.Limit, jobs)
	n.TakeBuffer()
	for _, c := range started {
		n.End(&c.Job, nil, w.time())
		n.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, w.time())
	}
}

func (w *rateWorld) start(t *rapid.T) {
	n := w.node(t)
	q := make([]*store.Enqueue, rapid.IntRange(1, 5).Draw(t, "enqueues"))
	for i := range q {
		q[i] = &store.Enqueue{}
		q[i].Job.Queue, q[i].Job.Kind = "q", "a"
	}
	q = q[:n.Reserve(q, w.time())]
	for range q {
		w.used = append(w.used, w.now)
	}
	n.AdmitReserved(q, nil)
}

// ask sends what a node has to ask. The call is carried out a little later, or much, and its answer
// arrives later still.
func (w *rateWorld) ask(t *rapid.T) {
	n := w.node(t)
	if n.asks != nil {
		return
	}
	if rapid.Bool().Draw(t, "jobs come") {
		n.Heard("", w.time())
	}
	w.look(n, rapid.Bool().Draw(t, "there are some"))
	asks, sent, _ := n.PermitAsks(w.time())
	if asks == nil {
		return
	}
	n.asks, n.sent, n.answer = asks, sent, nil
	w.pass(t, rapid.SampledFrom([]time.Duration{0, time.Millisecond, 30 * time.Millisecond}).Draw(t, "on its way"))
	if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		n.delayed = append(n.delayed, asks)
		return
	}
	n.answer = w.carryOut(asks)
}

// look finds out whether there are jobs of the node, if it wants to know.
func (w *rateWorld) look(n *rateNode, some bool) {
	if !n.Demand(w.time()).Look || !n.TakeLook() {
		return
	}
	var found []store.BusyQueue
	if some {
		found = []store.BusyQueue{{Name: "q", Kind: "a"}}
	}
	n.Found(found, w.time())
	n.Demand(w.time())
}

func (w *rateWorld) carryOut(asks []store.PermitAsk) (answer []store.Permits) {
	for i := range asks {
		p, _ := w.state.Take(w.clockNow(), &asks[i])
		answer = append(answer, p)
	}
	return answer
}

func (w *rateWorld) answer(t *rapid.T) {
	n := w.node(t)
	if n.asks == nil {
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
		n.answer = nil
	}
	n.Permitted(n.asks, n.answer, n.sent)
	n.asks, n.answer = nil, nil
}

// late carries out a call that was given up, and perhaps once more.
func (w *rateWorld) late(t *rapid.T) {
	n := w.node(t)
	if len(n.delayed) > 0 && n.asks == nil {
		w.carryOut(n.delayed[0])
		if rapid.Bool().Draw(t, "done") {
			n.delayed = n.delayed[1:]
		}
	}
}

// check looks at every window between two claims.
func (w *rateWorld) check(t *rapid.T) {
	r := w.limit.Rate
	slices.Sort(w.used)
	for i := range w.used {
		for j := i; j < len(w.used); j++ {
			window := w.used[j] - w.used[i]
			if n, most := j-i+1, r.Burst+int(window/r.Period()); n > most {
				t.Fatalf("%d jobs in %v by %v with a burst of %d: at most %d may", n, window, r, r.Burst, most)
			}
		}
	}
}

// settle looks that a node which alone has jobs gets to claim one within a burst and two periods.
func (w *rateWorld) settle(t *rapid.T) {
	for _, n := range w.nodes {
		n.Permitted(n.asks, nil, n.sent)
		n.asks, n.delayed = nil, nil
		w.claimSome(n, 0)
	}
	w.now += w.limit.Rate.Period()*time.Duration(w.limit.Rate.Burst) + 2*callsAtOnce*callsEvery
	for _, n := range w.nodes {
		before, until := len(w.used), w.now+3*w.limit.Rate.Period()+time.Second
		for len(w.used) == before {
			n.Heard("", w.time())
			w.look(n, true)
			w.claimSome(n, 1)
			asks, sent, again := n.PermitAsks(w.time())
			if asks != nil {
				n.Permitted(asks, w.carryOut(asks), sent)
				continue
			}
			if w.now += max(again, time.Millisecond); w.now > until {
				t.Fatalf("a node gets no permit; the rate is %v, and stands at %+v", w.limit.Rate, w.state)
			}
		}
	}
	w.check(t)
}
