package gateway

import (
	"context"
	"reflect"
	"slices"
	"testing"

	who "github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// inNoName are the methods that change something and record no person: what nodes, runs and
// producers do, and what looks after the database.
var inNoName = []string{
	"Apply", "Beat", "Claim", "CloseBatch", "CloseChildren", "CountBatches", "CreateBatch", "Depend", "ForgetUpdate", "Grant", "Join", "KeepFacts", "KeepLogs", "Leave",
	"MergeFacts", "OrderFeed", "Promote", "RemoveExpired", "Rescue", "Reserve", "Retain", "SweepCancels", "TakePermits", "UseAPIKeys",
}

// TestEachChangeHasAnActor: each method that changes something says who has asked, or is listed as
// one that does not.
func TestEachChangeHasAnActor(t *testing.T) {
	for method, of := range writes {
		f := reflect.TypeOf(of)
		named := 0
		for i := 2; i < f.NumIn(); i++ {
			if actorOf(method, i-2, reflect.New(f.In(i)).Elem()).IsValid() {
				named++
			}
		}
		if is := slices.Contains(inNoName, method); (named == 0) != is || named > 1 {
			t.Errorf("%s has %d parameters that say who asks; listed as one that has none: %t", method, named, is)
		}
	}
	for _, method := range inNoName {
		if writes[method] == nil {
			t.Errorf("there is no method %s", method)
		}
	}
}

// TestAscribe: a caller may say who it is, and not who lets it in.
func TestAscribe(t *testing.T) {
	key, none := who.Everything("key K1 (ci)"), who.Everything("")
	ctx := who.With(t.Context(), &key)
	for _, c := range []struct {
		ctx          context.Context
		method       string
		params, want any
	}{
		{ctx, "Pause", store.PauseParams{Queue: "q", Actor: "ada"}, store.PauseParams{Queue: "q", Actor: "ada via key K1 (ci)"}},
		{ctx, "Pause", store.PauseParams{Actor: "key K2 via ada"}, store.PauseParams{Actor: `"key K2 via ada" via key K1 (ci)`}},
		{ctx, "Pause", store.PauseParams{Queue: "q"}, store.PauseParams{Queue: "q", Actor: "key K1 (ci)"}},
		{ctx, "Rest", store.RestParams{Queue: "q"}, store.RestParams{Queue: "q"}},
		{ctx, "Rest", store.RestParams{Actor: "ada"}, store.RestParams{Actor: "ada via key K1 (ci)"}},
		{ctx, "SetRetention", store.RetentionClass{Name: "a"}, store.RetentionClass{Name: "a", SetBy: "key K1 (ci)"}},
		{ctx, "CreateAPIKey", store.APIKey{CreatedBy: "ada"}, store.APIKey{CreatedBy: "ada via key K1 (ci)"}},
		{who.With(t.Context(), &none), "Pause", store.PauseParams{Actor: "ada"}, store.PauseParams{Actor: "ada"}},
	} {
		p := reflect.New(reflect.TypeOf(c.params)).Elem()
		p.Set(reflect.ValueOf(c.params))
		ascribe(c.ctx, c.method, []reflect.Value{p})
		if is := p.Interface(); !reflect.DeepEqual(is, c.want) {
			t.Errorf("%s: %+v, not %+v", c.method, is, c.want)
		}
	}
	batch := &store.Batch{Enqueues: []*store.Enqueue{
		{Job: store.Job{Kind: "holdfast.operation", Args: []byte(`{"action":"cancel","actor":"ada"}`)}},
		{Job: store.Job{Kind: "mail", Args: []byte(`{"actor":"ada"}`)}},
	}}
	ascribeBatch(ctx, batch)
	if a, b := string(batch.Enqueues[0].Job.Args), string(batch.Enqueues[1].Job.Args); a != `{"action":"cancel","actor":"ada via key K1 (ci)"}` ||
		b != `{"actor":"ada"}` {
		t.Errorf("args are %s and %s", a, b)
	}
	on, actor := reflect.ValueOf(new(true)).Elem(), reflect.ValueOf(new("")).Elem()
	if ascribe(ctx, "SetFeed", []reflect.Value{on, actor}); actor.String() != "key K1 (ci)" {
		t.Errorf("SetFeed is done by %q", actor)
	}
}
