package faults_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func enqueue() *store.Enqueue {
	return &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "n", Queue: "q", Kind: "k", Priority: 1, MaxAttempts: 1,
		UniqueKey: []byte("u"), UniqueStates: store.Unfinished,
	}}
}

func always(kind faults.Kind) faults.Plan {
	return func(faults.Call) faults.Fault { return faults.Fault{Kind: kind} }
}

func TestALostRequestDidNotHappen(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	s := faults.Wrap(inner, faults.Script(map[string][]faults.Fault{"Apply": {{}, {Kind: faults.FailBefore}}}))
	first, second := enqueue(), enqueue()
	second.Job.UniqueKey = nil
	if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{first}}); err != nil || first.Result.ID != first.Job.ID {
		t.Fatalf("the first call: %v, %+v", err, first.Result)
	}
	err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{second}})
	if !errors.Is(err, store.ErrUnavailable) || !store.IsRetryable(err) {
		t.Fatalf("the second call: %v", err)
	}
	if _, err := inner.Get(ctx, "", second.Job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("the lost request happened: %v", err)
	}
	if s.Calls("Apply") != 2 {
		t.Fatalf("%d calls were counted", s.Calls("Apply"))
	}
}

func TestALostAnswerIsLost(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	s := faults.Wrap(inner, always(faults.FailAfter))
	q := enqueue()
	if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Apply: %v", err)
	}
	if q.Result != (store.EnqueueResult{}) {
		t.Fatalf("the caller sees the lost result %+v", q.Result)
	}
	if _, err := inner.Get(ctx, "", q.Job.ID); err != nil {
		t.Fatalf("it did not happen: %v", err)
	}
	if record, err := s.Get(ctx, "", q.Job.ID); err == nil || record.Kind != "" {
		t.Fatalf("the caller sees the lost record %+v, %v", record, err)
	}
	own := errors.New("own")
	s.Plan(func(faults.Call) faults.Fault { return faults.Fault{Kind: faults.FailAfter, Err: own} })
	if _, err := s.Join(ctx, store.NodeInfo{}); !errors.Is(err, own) {
		t.Fatalf("Join: %v", err)
	}
	if nodes, err := inner.Nodes(ctx); err != nil || len(nodes) != 1 {
		t.Fatalf("nodes: %+v, %v", nodes, err)
	}
}

func TestADuplicateKeepsTheRulesOfRepeating(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	s := faults.Wrap(inner, always(faults.Duplicate))
	q := enqueue()
	if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || !q.Result.Existing || q.Result.ID != q.Job.ID {
		t.Fatalf("Apply: %v, %+v", err, q.Result)
	}
	node, err := s.Join(ctx, store.NodeInfo{})
	if err != nil || node != 2 {
		t.Fatalf("Join: %d, %v; want the answer of the second call", node, err)
	}
	claimed, err := s.Claim(ctx, store.ClaimParams{Node: node, Seq: 1, Namespace: "n", Kinds: []string{"k"}, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("Claim: %+v, %v", claimed, err)
	}
	o := &store.Outcome{Lease: claimed[0].Lease, State: store.Completed, HasUnique: true}
	if err := s.Apply(ctx, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil || o.Final != store.Completed {
		t.Fatalf("Apply: %v, %v, %v", err, o.Final, o.Err)
	}
	if o.Repeat {
		t.Fatal("the caller's outcome was marked")
	}
}

// TestAStartKeepsTheRulesOfRepeating: a lost answer tells of no job that runs, and who repeats the
// batch is told.
func TestAStartKeepsTheRulesOfRepeating(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	node, err := inner.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	s := faults.Wrap(inner, faults.Script(map[string][]faults.Fault{
		"Apply": {{Kind: faults.FailBefore}, {Kind: faults.FailAfter}, {}, {Kind: faults.Duplicate}},
	}))
	start := func(seq int64) *store.Batch {
		q := enqueue()
		q.Job.UniqueKey, q.Start = nil, true
		return &store.Batch{Enqueues: []*store.Enqueue{q}, Start: &store.Start{Node: node, Seq: seq}}
	}
	batch := start(1)
	for range 2 {
		err := s.Apply(ctx, batch)
		if !errors.Is(err, store.ErrUnavailable) || batch.Start.Claimed != nil || batch.Enqueues[0].Result.State != 0 {
			t.Fatalf("Apply: %v, %+v, %+v", err, batch.Enqueues[0].Result, batch.Start.Claimed)
		}
	}
	if r, err := inner.Get(ctx, "", batch.Enqueues[0].Job.ID); err != nil || r.State != store.Running {
		t.Fatalf("the job whose answer was lost: %+v, %v", r, err)
	}
	duplicated := start(2)
	for _, b := range []*store.Batch{batch, duplicated} {
		job := b.Enqueues[0].Job.ID
		err := s.Apply(ctx, b)
		if err != nil || len(b.Start.Claimed) != 1 || b.Start.Claimed[0].Job.ID != job || !b.Enqueues[0].Result.Existing {
			t.Fatalf("Apply: %v, %+v, %+v", err, b.Enqueues[0].Result, b.Start.Claimed)
		}
	}
	if nodes, err := inner.Nodes(ctx); err != nil || nodes[0].Running != 2 {
		t.Fatalf("nodes: %+v, %v", nodes, err)
	}
}

// timed notes when a call came through, and has wake-ups of its own.
type timed struct {
	store.Store
	at    time.Time
	wakes chan store.Wake
}

func (s *timed) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	s.at = time.Now()
	return s.Store.Get(ctx, namespace, id)
}

func (s *timed) Watch(ctx context.Context, wake func(store.Wake)) error {
	for {
		select {
		case w := <-s.wakes:
			wake(w)
		case <-ctx.Done():
			return nil
		}
	}
}

// A call waits for the hook before it, and its answer for the one after it.
func TestADelayEndsWhenTheHookReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &timed{Store: model.New(time.Now)}
		wait := func(d time.Duration) func(context.Context) {
			return func(context.Context) { <-time.After(d) }
		}
		s := faults.Wrap(inner, faults.Script(map[string][]faults.Fault{"Get": {
			{Before: wait(3 * time.Second), After: wait(4 * time.Second)},
			{Before: wait(time.Second), Kind: faults.FailBefore},
		}}))
		begun := time.Now()
		if _, err := s.Get(t.Context(), "", uuid.Nil); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Get: %v", err)
		}
		if before, all := inner.at.Sub(begun), time.Since(begun); before != 3*time.Second || all != 7*time.Second {
			t.Fatalf("the call came through after %v and was answered after %v", before, all)
		}
		begun, inner.at = time.Now(), time.Time{}
		_, err := s.Get(t.Context(), "", uuid.Nil)
		if !errors.Is(err, store.ErrUnavailable) || time.Since(begun) != time.Second || !inner.at.IsZero() {
			t.Fatalf("a lost request: %v after %v, came through at %v", err, time.Since(begun), inner.at)
		}
	})
}

// A watch that fails ends by itself: at once, or after the wake-up that it has passed on.
func TestAWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &timed{Store: model.New(time.Now), wakes: make(chan store.Wake, 10)}
		for kind, want := range map[faults.Kind]int{faults.FailBefore: 0, faults.FailAfter: 1} {
			s := faults.Wrap(inner, always(kind))
			inner.wakes <- store.Wake{Queue: "a"}
			inner.wakes <- store.Wake{Queue: "b"}
			told := 0
			if err := s.Watch(t.Context(), func(store.Wake) { told++ }); !errors.Is(err, store.ErrUnavailable) || told != want {
				t.Errorf("%v: %d wake-ups, %v", kind, told, err)
			}
			for len(inner.wakes) > 0 {
				<-inner.wakes
			}
		}
		// The end of its context is no failure.
		for _, kind := range []faults.Kind{faults.None, faults.FailAfter} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- faults.Wrap(inner, always(kind)).Watch(ctx, func(store.Wake) {}) }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("%v: %v", kind, err)
			}
		}
	})
}

func TestASeedDecidesEverything(t *testing.T) {
	a, b, c := faults.Seeded(7, 0.5), faults.Seeded(7, 0.5), faults.Seeded(8, 0.5)
	seen, differ := map[faults.Kind]int{}, false
	for range 1000 {
		x, y, z := a(faults.Call{}).Kind, b(faults.Call{}).Kind, c(faults.Call{}).Kind
		if x != y {
			t.Fatal("the same seed gives different faults")
		}
		differ = differ || x != z
		seen[x]++
	}
	if !differ || len(seen) != 4 || seen[faults.None] < 400 || seen[faults.None] > 600 {
		t.Fatalf("faults: %v, other seed differs: %v", seen, differ)
	}
}

// What jobs remember is repeated by the rules, too; and what nobody may repeat is made once.
func TestADuplicateOfWhatJobsRemember(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	q, child := enqueue(), enqueue()
	q.Job.UniqueKey, child.Job.UniqueKey, child.Job.Parent = nil, nil, q.Job.ID
	if err := inner.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil {
		t.Fatal(err)
	}
	node, err := inner.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := inner.Claim(ctx, store.ClaimParams{Node: node, Seq: 1, Namespace: "n", Kinds: []string{"k"}, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("Claim: %+v, %v", claimed, err)
	}
	s := faults.Wrap(inner, always(faults.Duplicate))
	a := &store.Append{
		Lease: claimed[0].Lease, Enqueues: []*store.Enqueue{child},
		Entries: []store.Entry{{Seq: 1, Kind: store.EntryChild}, {Seq: 2, Kind: store.EntryStep}},
	}
	signal := store.Message{Kind: store.MessageSignal, Name: "s"}
	keyed, keyless := &store.Send{Job: q.Job.ID, Message: signal, Key: "k"}, &store.Send{Job: q.Job.ID, Message: signal}
	if err := s.Apply(ctx, &store.Batch{Appends: []*store.Append{a}, Sends: []*store.Send{keyed}}); err != nil || a.Err != nil || a.Repeat {
		t.Fatalf("Apply: %v, %v", err, a.Err)
	}
	if !child.Result.Existing || !keyed.Result.Duplicate || keyed.Result.Seq != 1 {
		t.Fatalf("the child: %+v, the send: %+v; want the answers of the second call", child.Result, keyed.Result)
	}
	if err := s.Apply(ctx, &store.Batch{Sends: []*store.Send{keyless}}); err != nil || keyless.Result.Seq != 2 {
		t.Fatalf("Apply: %v, %+v", err, keyless.Result)
	}
	if err := s.SendTx(ctx, model.Tx{}, []*store.Send{keyless}); err != nil || keyless.Result.Seq != 3 {
		t.Fatalf("SendTx: %v, %+v", err, keyless.Result)
	}
	next := &store.Append{Lease: claimed[0].Lease, Entries: []store.Entry{{Seq: 3, Kind: store.EntryStep}}}
	if err := s.AppendTx(ctx, model.Tx{}, next); err != nil || next.Err != nil || next.Repeat {
		t.Fatalf("AppendTx: %v, %v", err, next.Err)
	}
	parked := &store.Outcome{Lease: claimed[0].Lease, State: store.Waiting, Wait: &store.Wait{Held: true}, Durable: true}
	err = s.Apply(ctx, &store.Batch{Outcomes: []*store.Outcome{parked}})
	if err != nil || parked.Err != nil || parked.Final != store.Waiting {
		t.Fatalf("Apply: %v, %v, %v", err, parked.Final, parked.Err)
	}
	state, _, err := s.Resume(ctx, store.ResumeParams{Job: q.Job.ID, Keep: -1, Expect: -1})
	if err != nil || state != store.Available || s.Calls("Resume") != 1 {
		t.Fatalf("Resume: %v, %v", state, err)
	}
	s.Plan(nil)
	journals, err := s.Journals(ctx, "", []store.ID{q.Job.ID})
	if err != nil || len(journals[0].Entries) != 3 || len(journals[0].Messages) != 3 {
		t.Fatalf("Journals: %+v, %v", journals, err)
	}
}

// The wake-ups of both calls are told: the second one finds the jobs awake.
func TestADuplicateKeepsWakeUps(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	q := enqueue()
	if err := inner.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil {
		t.Fatal(err)
	}
	node, err := inner.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := inner.Claim(ctx, store.ClaimParams{Node: node, Seq: 1, Namespace: "n", Kinds: []string{"k"}, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("Claim: %+v, %v", claimed, err)
	}
	wait := &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}
	parked := &store.Outcome{Lease: claimed[0].Lease, State: store.Waiting, Wait: wait, Durable: true}
	if err := inner.Apply(ctx, &store.Batch{Outcomes: []*store.Outcome{parked}}); err != nil || parked.Err != nil {
		t.Fatalf("Apply: %v, %v", err, parked.Err)
	}
	batch := &store.Batch{Sends: []*store.Send{{Job: q.Job.ID, Message: store.Message{Kind: store.MessageSignal}, Key: "k"}}}
	err = faults.Wrap(inner, always(faults.Duplicate)).Apply(ctx, batch)
	if err != nil || len(batch.Woken) != 1 || batch.Woken[0].Queue != "q" {
		t.Fatalf("Apply: %v, woken %+v", err, batch.Woken)
	}
}

// Every method that asks the database something fails when it is told to: none was forgotten.
func TestEveryMethodFails(t *testing.T) {
	s := faults.Wrap(model.New(storetest.NewClock().Now), always(faults.FailBefore))
	value := reflect.ValueOf(store.Store(s))
	methods := reflect.TypeFor[store.Store]()
	for m := range methods.Methods() {
		if m.Type.NumIn() == 0 || m.Type.In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type.NumIn(); j++ {
			args = append(args, reflect.Zero(m.Type.In(j)))
		}
		switch m.Name {
		case "Apply":
			args[1] = reflect.ValueOf(&store.Batch{})
		case "AppendTx":
			args[2] = reflect.ValueOf(&store.Append{})
		}
		results := value.MethodByName(m.Name).Call(args)
		if err, _ := reflect.TypeAssert[error](results[len(results)-1]); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", m.Name, err)
		}
		if s.Calls(m.Name) != 1 {
			t.Errorf("%s is counted under another name", m.Name)
		}
	}
	s.Notify(store.Wake{})
	if s.Calls("Notify") != 1 || s.Traits().Name != "model" || s.Now().After(storetest.Start.Add(time.Hour)) {
		t.Error("the methods without a context do not reach the store")
	}
}
