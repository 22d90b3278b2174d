package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
	"github.com/holdfastdev/holdfast/why"
)

// given is a source for a store that is open already.
type given struct {
	memory
	store.Store
}

func (g given) Open(context.Context) (store.Store, error) { return g.Store, nil }
func (given) String() string                              { return "given" }

// whyBed is a client on a store in memory with a fixed clock.
type whyBed struct {
	*testing.T

	now time.Time
	st  store.Store
	hf  *holdfast.Client
	seq int64
}

func newWhyBed(t *testing.T) *whyBed {
	t.Helper()
	b := &whyBed{T: t, now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
	b.st = model.New(func() time.Time { return b.now })
	var err error
	if b.hf, err = holdfast.Open(t.Context(), given{Store: b.st}, holdfast.WithActor("ada")); err != nil {
		t.Fatal(err)
	}
	hf := b.hf
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	return b
}

func (b *whyBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *whyBed) enqueue(kind string, opts ...holdfast.EnqueueOption) holdfast.ID {
	b.Helper()
	job, err := holdfast.NewKind[int, int](kind).Enqueue(b.Context(), b.hf, 1, opts...)
	b.must(err)
	return job.ID
}

func (b *whyBed) join(info store.NodeInfo) int64 {
	b.Helper()
	if info.Namespace == "" {
		info.Namespace = "default"
	}
	node, err := b.st.Join(b.Context(), info)
	b.must(err)
	return node
}

func (b *whyBed) leave(node int64) {
	b.Helper()
	_, err := b.st.Leave(b.Context(), node)
	b.must(err)
}

func (b *whyBed) claim(node int64, kinds ...string) store.Claimed {
	b.Helper()
	_, err := b.st.Promote(b.Context(), 100)
	b.must(err)
	b.seq++
	runs, err := b.st.Claim(b.Context(), store.ClaimParams{Node: node, Seq: b.seq, Namespace: "default", Kinds: kinds, Limit: 1})
	b.must(err)
	if len(runs) != 1 {
		b.Fatalf("%d jobs of %v are claimed", len(runs), kinds)
	}
	return runs[0]
}

func (b *whyBed) end(o *store.Outcome) {
	b.Helper()
	b.must(store.ApplyEach(b.Context(), b.st, &store.Batch{Outcomes: []*store.Outcome{o}}))
	b.must(o.Err)
}

// want checks the codes of a job's causes, and a part of the text.
func (b *whyBed) want(id holdfast.ID, text string, codes ...why.Code) why.Explanation {
	b.Helper()
	e, err := b.hf.Why(b.Context(), id)
	b.must(err)
	var got []why.Code
	for _, c := range e.Causes {
		got = append(got, c.Code)
	}
	if !slices.Equal(got, codes) || e.String() != text {
		b.Fatalf("%v: %q\nwant %v: %q", got, e, codes, text)
	}
	return e
}

func TestWhyNodes(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	id := b.enqueue("mail")
	b.want(id, "no node is running", why.NoNode)
	first := b.join(store.NodeInfo{Name: "first", Namespace: "other", Kinds: []string{"mail"}, Slots: 1})
	b.want(id, "no live node serves the namespace default", why.NoNode)
	b.leave(first)
	b.now = b.now.Add(3 * time.Minute)
	b.want(id, "no node is running; the last one left 3m0s ago", why.NoNode)

	b.join(store.NodeInfo{Name: "second", Kinds: []string{"push", "exec", "exec@2"}, Slots: 1})
	b.want(id, "no live node serves the kind mail; live nodes serve exec, push", why.NoKind)
	b.join(store.NodeInfo{Name: "third", Kinds: []string{"mail"}, Queues: []string{"reports"}, Slots: 1})
	b.want(id, "no live node that serves the kind mail serves the queue default", why.NoQueue)
	served := b.enqueue("mail", holdfast.Queue("reports"))
	b.now = b.now.Add(2 * time.Second)
	b.want(served, "ready for 2s; node 3 (third) serves it, 0 of 1 slots taken", why.Ready)
	b.now = b.now.Add(time.Minute)
	b.want(served, "node 3 (third) serves it, but has sent no heartbeat for 1m2s", why.SilentNode)
	fourth := b.join(store.NodeInfo{Name: "fourth", Kinds: []string{"mail", "block"}, Slots: 1})
	b.enqueue("block")
	run := b.claim(fourth, "block")
	b.want(id, "no free slot on node 4 (fourth), the only node that serves it: 1 of 1 taken", why.NoFreeSlot)
	b.join(store.NodeInfo{Kinds: []string{"mail"}, Slots: 5})
	b.want(id, "ready for 4m2s; 2 nodes serve it, 1 of 6 slots taken", why.Ready)

	b.now = b.now.Add(10 * time.Second)
	e := b.want(run.Job.ID, "running on node 4 (fourth) for 10s, attempt 1", why.Running)
	if e.Causes[0].Node != fourth {
		t.Errorf("%+v", e)
	}
	_, err := b.hf.Cancel(t.Context(), "", run.Job.ID)
	b.must(err)
	b.want(run.Job.ID, "running on node 4 (fourth) for 10s, attempt 1, asked to stop", why.Running)
	b.now = b.now.Add(30 * time.Second)
	b.want(run.Job.ID, "node 4 (fourth), which runs it, has sent no heartbeat for 40s; no other node is live to take its jobs: start one; "+
		"running on node 4 (fourth) for 40s, attempt 1, asked to stop", why.SilentNode, why.Running)
	b.join(store.NodeInfo{Kinds: []string{"other"}})
	b.want(run.Job.ID, "node 4 (fourth), which runs it, has sent no heartbeat for 40s; "+
		"its jobs run elsewhere once the leader has declared it dead; running on node 4 (fourth) for 40s, attempt 1, asked to stop",
		why.SilentNode, why.Running)
	b.end(&store.Outcome{Lease: run.Lease, State: store.Failed, Reason: store.ReasonTerminal, Error: "no such thing"})
	b.now = b.now.Add(time.Second)
	b.want(run.Job.ID, "failed 1s ago (terminal): no such thing", why.Finished)
	unwanted := b.enqueue("k")
	_, err = b.hf.Cancel(t.Context(), "", unwanted)
	b.must(err)
	b.want(unwanted, "cancelled 0s ago", why.Finished)
}

// TestWhyQueueSlots: a queue may have fewer slots than the node.
func TestWhyQueueSlots(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	queues := []string{"default", "mail"}
	first := b.join(store.NodeInfo{Kinds: []string{"k"}, Queues: queues, Slots: 3, QueueSlots: map[string]int{"mail": 2}})
	other, id := b.enqueue("k"), b.enqueue("k", holdfast.Queue("mail"))
	b.want(other, "ready for 0s; node 1 serves it, 0 of 3 slots taken", why.Ready)
	b.want(id, "ready for 0s; node 1 serves it, 0 of 2 slots taken", why.Ready)
	b.claim(first, "k") // by the other node
	b.want(id, "ready for 0s; node 1 serves it, 0 of 2 slots taken", why.Ready)
	b.enqueue("k", holdfast.Queue("mail"))
	b.claim(first, "k")
	b.enqueue("k", holdfast.Queue("mail"))
	b.claim(first, "k")
	last := b.enqueue("k", holdfast.Queue("mail"))
	b.want(last, "no free slot on node 1, the only node that serves it: 3 of 3 taken", why.NoFreeSlot)
	second := b.join(store.NodeInfo{Kinds: []string{"k"}, Queues: queues, Slots: 9, QueueSlots: map[string]int{"mail": 1}})
	b.want(last, "ready for 0s; 2 nodes serve it, 3 of 4 slots taken", why.Ready)
	b.claim(second, "k")
	last = b.enqueue("k", holdfast.Queue("mail"))
	b.want(last, "no free slot on 2 nodes that serve it: 4 of 4 taken", why.NoFreeSlot)
	b.leave(first)
	b.claim(b.join(store.NodeInfo{Kinds: []string{"other"}}), "k")
	b.want(b.enqueue("k", holdfast.Queue("mail")),
		"no free slot for the queue mail on node 2, the only node that serves it: 1 of 1 taken", why.NoFreeSlot)
}

// TestWhySilentNode: by the DeadAfter that the node has joined with.
func TestWhySilentNode(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	id := b.enqueue("mail")
	b.join(store.NodeInfo{Kinds: []string{"mail"}, Slots: 1, DeadAfter: 2 * time.Second})
	b.now = b.now.Add(3 * time.Second)
	b.want(id, "ready for 3s; node 1 serves it, 0 of 1 slots taken; it has sent no heartbeat for 3s", why.Ready)
	b.now = b.now.Add(time.Second)
	b.want(id, "node 1 serves it, but has sent no heartbeat for 4s", why.SilentNode)
	b.join(store.NodeInfo{Kinds: []string{"mail"}, Slots: 1, DeadAfter: time.Hour})
	b.now = b.now.Add(time.Hour)
	b.want(id, "ready for 1h0m4s; node 2 serves it, 0 of 1 slots taken; it has sent no heartbeat for 1h0m0s", why.Ready)
	b.join(store.NodeInfo{Kinds: []string{"mail"}, Slots: 1, DeadAfter: time.Hour})
	b.want(id, "ready for 1h0m4s; 2 nodes serve it, 0 of 2 slots taken; 1 of them sent no heartbeat lately, such as node 2 for 1h0m0s",
		why.Ready)
}

// TestWhyLateNode: a node that was killed is said to be silent before its lease is over, and until
// when that lasts.
func TestWhyLateNode(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	node := b.join(store.NodeInfo{Name: "first", Kinds: []string{"mail"}, Slots: 1, DeadAfter: 20 * time.Second})
	b.enqueue("mail")
	id := b.claim(node, "mail").Job.ID
	b.now = b.now.Add(10 * time.Second)
	b.want(id, "running on node 1 (first) for 10s, attempt 1", why.Running)
	b.now = b.now.Add(2 * time.Second)
	e := b.want(id, "node 1 (first), which runs it, has sent no heartbeat for 12s, "+
		"and its lease lasts until 2026-01-05T10:00:20Z, for 8s more; "+
		"no other node is live to take its jobs: start one; running on node 1 (first) for 12s, attempt 1", why.SilentNode, why.Running)
	if e.Causes[0].Node != node {
		t.Errorf("%+v", e.Causes[0])
	}
	b.now = b.now.Add(8 * time.Second)
	b.want(id, "node 1 (first), which runs it, has sent no heartbeat for 20s; "+
		"no other node is live to take its jobs: start one; running on node 1 (first) for 20s, attempt 1", why.SilentNode, why.Running)
}

// TestWhyJSON: the JSON of an explanation.
func TestWhyJSON(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	node := b.join(store.NodeInfo{Name: "first", Kinds: []string{"mail"}, Slots: 1})
	b.enqueue("mail")
	id := b.claim(node, "mail").Job.ID
	data, err := json.Marshal(b.want(id, "running on node 1 (first) for 0s, attempt 1", why.Running))
	b.must(err)
	want := `{"job":"` + id.String() + `","state":"running","causes":[` +
		`{"code":"running","text":"running on node 1 (first) for 0s, attempt 1","node":1}]}`
	if string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}

// ended is a store whose nodes were all just declared dead.
type ended struct {
	store.Store

	at time.Time
}

func (s ended) Nodes(ctx context.Context) ([]store.Node, error) {
	nodes, err := s.Store.Nodes(ctx)
	for i := range nodes {
		nodes[i].DeadAt, nodes[i].Ended = s.at, store.NodeDied
	}
	return nodes, err
}

// TestWhyDeadNode: a dead node's job is running until it is rescued.
func TestWhyDeadNode(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	node := b.join(store.NodeInfo{Name: "first", Kinds: []string{"mail"}, Slots: 1})
	b.enqueue("mail")
	id := b.claim(node, "mail").Job.ID
	var err error
	b.hf, err = holdfast.Open(t.Context(), given{Store: ended{b.st, b.now}})
	b.must(err)
	defer func() { _ = b.hf.Close(context.Background()) }()
	b.now = b.now.Add(2 * time.Second)
	b.want(id, "node 1 (first), which ran it, was declared dead 2s ago; no other node is live to take its jobs: start one; "+
		"running on node 1 (first) for 2s, attempt 1", why.SilentNode, why.Running)
}

func TestWhyPeople(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	id := b.enqueue("mail")
	b.must(b.hf.PauseQueue(t.Context(), "default"))
	b.now = b.now.Add(time.Minute)
	b.want(id, "queue default has been paused for 1m0s by ada; no node is running", why.QueuePaused, why.NoNode)
	node := b.join(store.NodeInfo{Kinds: []string{"mail"}, Slots: 1})
	b.want(id, "queue default has been paused for 1m0s by ada", why.QueuePaused)
	_, err := b.hf.Pause(t.Context(), "lunch", id)
	b.must(err)
	b.now = b.now.Add(time.Second)
	b.want(id, "paused for 1s by ada: lunch", why.Paused)
	b.must(b.hf.ResumeQueue(t.Context(), "default"))

	b.enqueue("mail")
	run := b.claim(node, "mail")
	b.end(&store.Outcome{
		Lease: run.Lease, State: store.Waiting, Reason: store.ReasonNondeterminism, Error: "step a is b", Wait: &store.Wait{Held: true},
	})
	b.want(run.Job.ID, "held for 0s until a person resumes it: nondeterminism: step a is b", why.Held)
}

func TestWhyTimes(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	id := b.enqueue("mail", holdfast.Delay(time.Hour))
	e := b.want(id, "scheduled for 2026-01-05T11:00:00Z, due in 1h0m0s; no node is running", why.Scheduled, why.NoNode)
	if !e.Causes[0].Until.Equal(b.now.Add(time.Hour)) {
		t.Errorf("%+v", e)
	}
	node := b.join(store.NodeInfo{Kinds: []string{"mail", "broken"}, Slots: 1})
	b.want(id, "scheduled for 2026-01-05T11:00:00Z, due in 1h0m0s", why.Scheduled)
	b.must(b.hf.PauseQueue(t.Context(), "default"))
	b.want(id, "scheduled for 2026-01-05T11:00:00Z, due in 1h0m0s; queue default has been paused for 0s by ada",
		why.Scheduled, why.QueuePaused)
	b.must(b.hf.ResumeQueue(t.Context(), "default"))

	b.enqueue("broken")
	run := b.claim(node, "broken")
	b.end(&store.Outcome{Lease: run.Lease, State: store.Retryable, Reason: store.ReasonError, Error: "smtp: no", Delay: 8 * time.Second})
	b.want(run.Job.ID, "attempt 1 failed: smtp: no; next attempt in 8s", why.Retry)
	b.now = b.now.Add(9 * time.Second)
	b.want(run.Job.ID, "attempt 1 failed: smtp: no; due now", why.Retry)
	far := b.enqueue("mail", holdfast.Delay(1000*time.Hour))
	b.want(far, "scheduled for 2026-02-16T02:00:09Z, due in 41 days", why.Scheduled)
}

func TestWhyHandedOver(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	node := b.join(store.NodeInfo{Kinds: []string{"flow"}, Slots: 100})
	hand := func(until time.Time) holdfast.ID {
		t.Helper()
		b.enqueue("flow")
		run := b.claim(node, "flow")
		b.end(&store.Outcome{Lease: run.Lease, State: store.Waiting, Wait: &store.Wait{HandedOver: true, Until: until}})
		return run.Job.ID
	}
	never, soon := hand(time.Time{}), hand(b.now.Add(time.Minute))
	b.now = b.now.Add(10 * time.Second)
	b.want(never, "handed over for 10s, until it is completed or failed from outside", why.HandedOver)
	b.want(soon, "handed over for 10s, until it is completed or failed from outside, or its handler is called again at "+
		"2026-01-05T10:01:00Z, in 50s", why.HandedOver)
}

func TestWhyWaits(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	node := b.join(store.NodeInfo{Kinds: []string{"flow"}, Slots: 100})
	child := holdfast.NewID()
	park := func(waitsFor string, until time.Time) holdfast.ID {
		t.Helper()
		b.enqueue("flow")
		run := b.claim(node, "flow")
		wait := &store.Wait{For: []byte(waitsFor), Until: until, Kinds: store.MessagesOf(store.MessageSignal)}
		b.end(&store.Outcome{Lease: run.Lease, State: store.Waiting, Wait: wait, Durable: true})
		return run.Job.ID
	}
	never, soon := time.Time{}, b.now.Add(time.Minute)
	const later = ", until 2026-01-05T10:01:00Z at the latest, in 1m0s"
	b.want(park(`{"waits_for":["signal go"]}`, never), "waiting for signal go", why.Signal)
	b.want(park(`{"waits_for":["signal go"]}`, soon), "waiting for signal go"+later, why.Signal)
	b.want(park(`{"waits_for":["callback paid"]}`, never), "waiting for callback paid", why.Callback)
	b.want(park(`{"waits_for":["timer until x"]}`, soon), "waiting for timer until x"+later, why.Timer)
	b.want(park(`{"waits_for":["step pay, attempt 3"]}`, soon), "waiting to retry step pay, attempt 3"+later, why.Retry)
	b.want(park(`{"waits_for":["3 of 5 children of kind k"]}`, never), "waiting for 3 of 5 children of kind k", why.Child)
	b.want(park(`{"waits_for":["the first of: signal a, timer b"]}`, never),
		"waiting for the first of: signal a, timer b", why.Waiting)
	e := b.want(park(`{"waits_for":["child `+child.String()+` (k)","signal x"]}`, never),
		"waiting for child "+child.String()+" (k); waiting for signal x", why.Child, why.Signal)
	if e.Causes[0].Job != child {
		t.Errorf("%+v", e)
	}
	b.want(park(`[]`, never), "waiting", why.Waiting)
	// A job that waits for a time needs a node to wake it; one that waits for a message does not.
	parked, sleeping := park(`{"waits_for":["signal go"]}`, never), park(`{"waits_for":["timer t"]}`, soon)
	b.leave(node)
	b.want(parked, "waiting for signal go", why.Signal)
	b.want(sleeping, "waiting for timer t"+later+"; no node is running; the last one left 0s ago", why.Timer, why.NoNode)
}

// until asks until the answer is the expected one.
func until(t *testing.T, ask func() (why.Explanation, bool)) why.Explanation {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		why, good := ask()
		if good {
			return why
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within five minutes: %+v", why)
		case <-tick.C:
		}
	}
}

// TestWhyWaitsAsRunsSay: what durable functions record about their waits is understood.
func TestWhyWaitsAsRunsSay(t *testing.T) {
	t.Parallel()
	hf := open(t)
	waits := map[string]why.Code{
		"signal": why.Signal, "sleep": why.Timer, "callback": why.Callback, "child": why.Child,
		"children": why.Child, "select": why.Waiting,
	}
	never := holdfast.NewKind[int, int]("never")
	kind := holdfast.NewKind[string, int]("flow")
	err := kind.Handle(hf, func(run *holdfast.Run, what string) (int, error) {
		switch what {
		case "signal":
			return holdfast.NewSignal[int]("go").Wait(run)
		case "sleep":
			return 0, run.Sleep(time.Hour)
		case "callback":
			cb, err := run.Callback("paid")
			if err != nil {
				return 0, err
			}
			return 0, cb.Wait(run, nil)
		case "child":
			return never.Call(run, 1)
		case "children":
			_, err := never.CallAll(run, []int{1, 2}, holdfast.FanOut{})
			return 0, err
		}
		timer, err := run.Timer(time.Hour)
		if err != nil {
			return 0, err
		}
		return holdfast.Select(run, holdfast.NewSignal[int]("a").Into(new(int)), timer)
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	for what, code := range waits {
		job, err := kind.Enqueue(t.Context(), hf, what)
		if err != nil {
			t.Fatal(err)
		}
		why := until(t, func() (why.Explanation, bool) {
			why, err := hf.Why(t.Context(), job.ID)
			if err != nil {
				t.Fatal(err)
			}
			return why, why.State == store.Waiting
		})
		if why.Causes[0].Code != code {
			t.Errorf("%s: %+v", what, why)
		}
		if what == "child" && why.Causes[0].Job == (holdfast.ID{}) {
			t.Errorf("which child is not told: %+v", why)
		}
	}
}

// operationsQueue is the queue of operations, of which each node has one slot.
const operationsQueue = "holdfast"

// TestWhyOnDatabases runs the queries of the real stores.
func TestWhyOnDatabases(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		whyOn(t, sqlite.File(sqlitetest.File(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		whyOn(t, server(t))
	})
}

func whyOn(t *testing.T, source store.Source) {
	t.Helper()
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, source, holdfast.WithActor("ada"), holdfast.WithNodeName("here"),
		holdfast.WithQueue("default", 0), holdfast.WithQueue("full", 100), holdfast.WithQueue("one", 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	if _, err := hf.Why(ctx, holdfast.NewID()); !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("no such job: %v", err)
	}
	hold := make(chan struct{})
	mail := holdfast.NewKind[int, int]("mail")
	if err := mail.Handle(hf, func(*holdfast.Run, int) (int, error) { <-hold; return 1, nil }); err != nil {
		t.Fatal(err)
	}
	enqueue := func(kind holdfast.Kind[int, int], opts ...holdfast.EnqueueOption) holdfast.ID {
		t.Helper()
		job, err := kind.Enqueue(ctx, hf, 1, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return job.ID
	}
	comes := func(id holdfast.ID, code why.Code, words string) {
		t.Helper()
		until(t, func() (why.Explanation, bool) {
			why, err := hf.Why(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return why, why.Causes[0].Code == code && strings.Contains(why.String(), words)
		})
	}
	first := enqueue(mail, holdfast.OrderingKey("k"))
	second := enqueue(mail, holdfast.OrderingKey("k"))
	if err := hf.PauseQueue(ctx, "paused"); err != nil {
		t.Fatal(err)
	}
	comes(first, why.NoNode, "no node is running")
	comes(enqueue(mail, holdfast.Queue("paused")), why.QueuePaused, "by ada")
	comes(enqueue(mail, holdfast.Delay(time.Hour)), why.Scheduled, "due in")
	run(t, hf)
	comes(first, why.Running, "(here)")
	comes(second, why.Turn, first.String()+" (running)")
	comes(enqueue(holdfast.NewKind[int, int]("nosuch")), why.NoKind, "nosuch; live nodes serve mail")
	nodes, err := hf.Nodes(ctx)
	if err != nil || len(nodes) != 1 || !maps.Equal(nodes[0].Info.QueueSlots, map[string]int{"one": 1, operationsQueue: 1}) {
		t.Errorf("%+v, %v", nodes, err)
	}
	comes(enqueue(mail, holdfast.Queue("one")), why.Running, "(here)")
	comes(enqueue(mail, holdfast.Queue("one")), why.NoFreeSlot,
		"no free slot for the queue one on node 1 (here), the only node that serves it: 1 of 1 taken")
	close(hold)
	comes(second, why.Finished, "completed")
}

// TestWhyQuietNode: nodes that people have made quiet serve nothing, and the text says who did so
// and how it ends.
func TestWhyQuietNode(t *testing.T) {
	t.Parallel()
	b := newWhyBed(t)
	id := b.enqueue("mail")
	ask := func(node int64, mode store.NodeMode) {
		b.must(b.st.AskNode(t.Context(), store.AskNodeParams{Node: node, Mode: mode, Actor: "ada"}))
	}
	first := b.join(store.NodeInfo{Name: "first", Kinds: []string{"mail"}, Slots: 1})
	second := b.join(store.NodeInfo{Name: "second", Kinds: []string{"mail"}, Slots: 1})
	b.join(store.NodeInfo{Name: "other", Kinds: []string{"push"}, Slots: 1})
	ask(first, store.NodeQuiet)
	b.want(id, "ready for 0s; node 2 (second) serves it, 0 of 1 slots taken", why.Ready)
	ask(second, store.NodeDrains)
	b.want(id, `all 2 nodes that serve it are quiet or draining, and claim nothing; "holdfast node resume 1" ends that`, why.QuietNode)
	b.leave(second)
	b.now = b.now.Add(3 * time.Second)
	b.want(id, `node 1 (first), the only node that serves it, has been quiet for 3s by ada, and claims nothing; `+
		`"holdfast node resume 1" ends that`, why.QuietNode)
	ask(first, store.NodeRuns)
	b.want(id, "ready for 3s; node 1 (first) serves it, 0 of 1 slots taken", why.Ready)
	ask(first, store.NodeDrains)
	b.want(id, "node 1 (first), the only node that serves it, has been draining for 0s by ada, and claims nothing", why.QuietNode)
}
