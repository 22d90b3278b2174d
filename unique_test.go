package holdfast_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

func TestUniqueKeyHoldsWhatItNames(t *testing.T) {
	type address struct {
		City string `json:"city"`
		Zip  int    `json:"zip"`
	}
	type args struct {
		ID      int     `json:"id"`
		Address address `json:"address"`
	}
	a := holdfast.NewKind[args, int]("a")
	b := holdfast.NewKind[args, int]("b")
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	first := args{1, address{"Basel", 4000}}
	for name, c := range map[string]struct {
		unique      holdfast.Unique
		first       []holdfast.EnqueueOption
		kind        holdfast.Kind[args, int]
		second      args
		opts        []holdfast.EnqueueOption
		wantsSecond bool
	}{
		"kind alone":         {kind: a, second: args{ID: 2}},
		"another kind":       {kind: b, second: first, wantsSecond: true},
		"a key of their own": {unique: holdfast.Unique{ByKey: "x"}, kind: b, second: first},
		"same args":          {unique: holdfast.Unique{ByArgs: true}, kind: a, second: first},
		"other args":         {unique: holdfast.Unique{ByArgs: true}, kind: a, second: args{ID: 2}, wantsSecond: true},
		"same field": {
			unique: holdfast.Unique{ByFields: []string{"address.city"}}, kind: a, second: args{9, address{"Basel", 1}},
		},
		"other field": {
			unique: holdfast.Unique{ByFields: []string{"address.zip"}}, kind: a, second: args{1, address{"Basel", 1}}, wantsSecond: true,
		},
		"missing field":           {unique: holdfast.Unique{ByFields: []string{"none.such"}}, kind: a, second: args{ID: 5}},
		"another queue, no count": {kind: a, second: first, opts: []holdfast.EnqueueOption{holdfast.Queue("q")}},
		"another queue": {
			unique: holdfast.Unique{ByQueue: true}, kind: a, second: first,
			opts: []holdfast.EnqueueOption{holdfast.Queue("q")}, wantsSecond: true,
		},
		"same period": {
			unique: holdfast.Unique{ByPeriod: time.Hour}, kind: a, second: first,
			first: []holdfast.EnqueueOption{holdfast.RunAt(at)}, opts: []holdfast.EnqueueOption{holdfast.RunAt(at.Add(59 * time.Minute))},
		},
		"next period": {
			unique: holdfast.Unique{ByPeriod: time.Hour}, kind: a, second: first,
			first: []holdfast.EnqueueOption{holdfast.RunAt(at)}, opts: []holdfast.EnqueueOption{holdfast.RunAt(at.Add(time.Hour))},
			wantsSecond: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hf := open(t)
			one, err := a.Enqueue(t.Context(), hf, first, append(c.first, c.unique)...)
			if err != nil {
				t.Fatal(err)
			}
			two, err := c.kind.Enqueue(t.Context(), hf, c.second, append(c.opts, c.unique)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := one.ID != two.ID; got != c.wantsSecond || two.Existing == c.wantsSecond {
				t.Errorf("second job inserted: %v (existing: %v)", got, two.Existing)
			}
		})
	}
}

// TestUniqueFieldsHaveNoOrder: the same fields are the same key, in any order.
func TestUniqueFieldsHaveNoOrder(t *testing.T) {
	hf := open(t)
	kind := holdfast.NewKind[order, int]("k")
	var first holdfast.ID
	for i, unique := range []holdfast.Unique{
		{ByFields: []string{"id", "name"}},
		{ByFields: []string{"name", "id"}},
		{ByFields: []string{"id", "name", "id"}},
	} {
		job, err := kind.Enqueue(t.Context(), hf, order{ID: 1, Name: "a"}, unique)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = job.ID
		}
		if job.ID != first {
			t.Errorf("list %d of the fields makes another job", i)
		}
	}
}

func TestConflictPolicies(t *testing.T) {
	hf := open(t)
	kind := holdfast.NewKind[order, int]("k", holdfast.Delay(time.Hour))
	unique := func(c store.OnConflict) holdfast.EnqueueOption {
		return holdfast.Unique{ByFields: []string{"id"}, OnConflict: c}
	}
	one, err := kind.Enqueue(t.Context(), hf, order{ID: 1, Name: "first"}, unique(store.Reject))
	if err != nil {
		t.Fatal(err)
	}
	_, err = kind.Enqueue(t.Context(), hf, order{ID: 1}, unique(store.Reject))
	var taken *store.UniqueError
	if !errors.As(err, &taken) || taken.Holder != one.ID {
		t.Errorf("reject: %v", err)
	}
	two, err := kind.Enqueue(t.Context(), hf, order{ID: 1, Name: "second"}, unique(store.Replace))
	if err != nil || two.ID != one.ID || !two.Replaced {
		t.Errorf("replace: %+v, %v", two, err)
	}
	if rec, err := one.Get(t.Context()); err != nil || string(rec.Args) != `{"id":1,"name":"second"}` {
		t.Errorf("args are %s, %v", rec.Args, err)
	}
}

// TestMaxDelayNeedsADelay: a bound that cannot be kept is refused, wherever the options stand.
func TestMaxDelayNeedsADelay(t *testing.T) {
	t.Parallel()
	hf := open(t)
	kind := holdfast.NewKind[int, int]("index")
	bound := func(most time.Duration) holdfast.Unique {
		return holdfast.Unique{OnConflict: store.Replace, MaxDelay: most}
	}
	for what, c := range map[string]struct {
		opts []holdfast.EnqueueOption
		ok   bool
	}{
		"no delay":           {[]holdfast.EnqueueOption{bound(time.Minute)}, true},
		"a shorter delay":    {[]holdfast.EnqueueOption{bound(time.Minute), holdfast.Delay(time.Second)}, true},
		"the same delay":     {[]holdfast.EnqueueOption{holdfast.Delay(time.Minute), bound(time.Minute)}, true},
		"a longer delay":     {[]holdfast.EnqueueOption{holdfast.Delay(time.Minute + 1), bound(time.Minute)}, false},
		"a run time":         {[]holdfast.EnqueueOption{holdfast.RunAt(time.Now()), bound(time.Minute)}, false},
		"a negative bound":   {[]holdfast.EnqueueOption{bound(-1)}, false},
		"no replacement":     {[]holdfast.EnqueueOption{holdfast.Unique{MaxDelay: time.Minute}}, false},
		"a refusal instead":  {[]holdfast.EnqueueOption{holdfast.Unique{MaxDelay: time.Minute, OnConflict: store.Reject}}, false},
		"no bound, no delay": {[]holdfast.EnqueueOption{bound(0), holdfast.RunAt(time.Now())}, true},
	} {
		if _, err := kind.Enqueue(t.Context(), hf, 1, c.opts...); (err == nil) != c.ok || err != nil && !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
