package await

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestThings: each is the run's that has made it, tells what would end a wait for it, and is there
// once that has come.
func TestThings(t *testing.T) {
	run, now, id := new(int), time.Unix(100, 0), uuid.New()
	finished := &Future{Name: "f", By: run, Done: true}
	message := func(kind store.MessageKind, name string) store.Message {
		return store.Message{Seq: 1, Kind: kind, Name: name, From: id}
	}
	for name, c := range map[string]struct {
		thing  Thing
		none   Thing // nil of the same type
		answer store.Message
		later  Thing // instead of an answer: the thing when it is there
		on     blocked.On
		called string
	}{
		"signal": {
			thing: &Signal{Name: "s"}, none: (*Signal)(nil), answer: message(store.MessageSignal, "s"),
			on: blocked.On{Kinds: store.MessagesOf(store.MessageSignal), What: "signal s"}, called: "a wait for a signal",
		},
		"callback": {
			thing: &Callback{Token: "t", Name: "c", By: run}, none: (*Callback)(nil), answer: message(store.MessageCallback, "t"),
			on:     blocked.On{Kinds: store.MessagesOf(store.MessageCallback, store.MessageCallbackFailed), What: "callback c"},
			called: `callback "c"`,
		},
		"child": {
			thing: &Child{ID: id, Kind: "k", By: run}, none: (*Child)(nil), answer: message(store.MessageChild, ""),
			on: blocked.On{Kinds: store.MessagesOf(store.MessageChild), What: "child " + id.String() + " (k)"}, called: "child " + id.String(),
		},
		"timer": {
			thing: &Timer{Until: now.Add(1), By: run}, none: (*Timer)(nil), later: &Timer{Until: now},
			on: blocked.On{Until: now.Add(1), What: "timer until 1970-01-01T00:01:40Z"}, called: "a timer",
		},
		"future": {
			thing: &Future{Name: "f", By: run}, none: (*Future)(nil), later: finished,
			on: blocked.On{Strand: true, What: "strand f"}, called: `the future of "f"`,
		},
	} {
		m := &memory.Memory{}
		if c.thing.IsReady(m, now) {
			t.Errorf("%s: there from the beginning", name)
		}
		if diff := cmp.Diff(c.on, c.thing.Blocked()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		m.Receive([]store.Message{c.answer})
		if c.later == nil {
			c.later = c.thing
		}
		if !c.later.IsReady(m, now) {
			t.Errorf("%s: not there", name)
		}
		_, anyones := c.thing.(*Signal)
		if !c.thing.IsOf(run) || c.thing.IsOf(new(int)) != anyones || c.none.IsOf(run) {
			t.Errorf("%s: whose is it?", name)
		}
		if got := c.thing.Describe(); got != c.called || c.none.Describe() == "" {
			t.Errorf("%s: it is called %q and %q", name, got, c.none.Describe())
		}
	}
}

// TestFirst: what comes first of several things ends the wait for them.
func TestFirst(t *testing.T) {
	at := time.Unix(100, 0)
	want := blocked.On{
		Until: at, Kinds: store.MessagesOf(store.MessageSignal), What: "the first of: signal s, timer until 1970-01-01T00:01:40Z",
	}
	if diff := cmp.Diff(want, First([]Thing{&Signal{Name: "s"}, &Timer{Until: at}})); diff != "" {
		t.Error(diff)
	}
}

// TestReceivers: a receiver decodes what answers it, but for a failure, and names itself in the
// error of what does not decode.
func TestReceivers(t *testing.T) {
	failed, completed := &store.Message{Kind: store.MessageCallbackFailed}, &store.Message{Kind: store.MessageCallback}
	decode := func([]byte) error { return errors.ErrUnsupported }
	plain := &Callback{Name: "c"}
	decoded := &DecodedCallback{Callback: plain, Decode: decode}
	signal := &Signal{Name: "s", Decode: decode}
	if plain.Decoder(completed) != nil || decoded.Decoder(failed) != nil || decoded.Decoder(completed) == nil || signal.Decoder(nil) == nil {
		t.Error("what is decoded?")
	}
	var problem usercode.MessageError
	decoded.Failed(&problem)
	signal.Failed(&problem)
	if problem.Callback != "c" || problem.Signal != "s" {
		t.Errorf("%+v", problem)
	}
	signal.Receive(completed)
	if decoded.Receive(failed); plain.Answer() != failed {
		t.Error("the answer is lost")
	}
}

// TestLimit: a time stands, and a duration counts from the beginning of the wait.
func TestLimit(t *testing.T) {
	now := time.Unix(100, 0)
	for limit, want := range map[Limit]time.Time{
		{Within: time.Second, Set: true}:                     now.Add(time.Second),
		{Within: -time.Second, Set: true}:                    now,
		{Within: time.Second, Until: now.Add(-1), Set: true}: now.Add(-1),
	} {
		if got := limit.EndsAt(now); !got.Equal(want) {
			t.Errorf("%+v: %v", limit, got)
		}
	}
}

// TestFuturePanic: only a panic is one.
func TestFuturePanic(t *testing.T) {
	p := usercode.PanicOf("x")
	if (&Future{Err: p}).Panic() != p || (&Future{Err: errors.ErrUnsupported}).Panic() != nil || (&Future{}).Panic() != nil {
		t.Error("which of them is a panic?")
	}
}
