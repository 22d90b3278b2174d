package asked

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// asks stores requests as a store does, and refuses what it is told.
type asks struct {
	kept   map[string]*store.KeptRequest
	refuse map[store.ID]error
}

func (a *asks) ask(_ context.Context, u *store.Unit) error {
	now := time.Now()
	r := u.Request
	if r.Err = r.Check(); r.Err != nil {
		return nil //nolint:nilerr // it is the request's
	}
	var step store.RequestStep
	if step, r.Err = r.Judge(a.kept[string(r.Hash)], now); r.Err != nil {
		return nil //nolint:nilerr // as above
	}
	failed := false
	for _, q := range u.Enqueues {
		q.Err = a.refuse[q.Job.ID]
		failed = failed || q.Err != nil
		q.Result = store.EnqueueResult{ID: q.Job.ID, State: store.Available}
	}
	if !failed && step == store.InsertRequest {
		a.kept[string(r.Hash)] = &store.KeptRequest{Print: r.Print, At: now, Answer: r.Kept()}
	}
	return nil
}

func request() *Request {
	return &Request{Hash: []byte(strings.Repeat("h", 32)), Print: []byte(strings.Repeat("p", 32))}
}

// itemsFrom are items of which those at some places were refused before.
func itemsFrom(count int, refused ...int) (all Items) {
	all.Count = count
	at := map[int]bool{}
	for _, place := range refused {
		at[place] = true
		all.Refused = append(all.Refused, NewRefused(place, store.ID{9, byte(place)}, fmt.Errorf("%w: item %d", store.ErrInvalid, place)))
	}
	for i := range count {
		if !at[i] {
			all.Enqueues = append(all.Enqueues, &store.Enqueue{Job: store.Job{ID: store.ID{byte(i >> 8), byte(i)}}})
			all.Places = append(all.Places, i)
		}
	}
	return all
}

// TestWhatIsRefusedLater: what was stored is answered so, though it is refused by now before it is
// asked for.
func TestWhatIsRefusedLater(t *testing.T) {
	t.Parallel()
	a := &asks{kept: map[string]*store.KeptRequest{}, refuse: map[store.ID]error{{0, 1}: store.ErrConflict}}
	if before, err := request().Enqueue(t.Context(), a.ask, itemsFrom(4, 3)); before != nil || err != nil {
		t.Fatalf("the first time: %v, %v", before, err)
	}
	for _, refused := range [][]int{{3}, {0, 3}, {0, 1, 2, 3}, {}} {
		r := request()
		before, err := r.Enqueue(t.Context(), a.ask, itemsFrom(4, refused...))
		if err != nil || len(before) != 4 || !r.Repeated {
			t.Fatalf("%v refused: %v, %v", refused, before, err)
		}
		for i, want := range []error{nil, store.ErrConflict, nil, store.ErrInvalid} {
			if is := before[i].Err; (is == nil) != (want == nil) || want != nil && !errors.Is(is, want) {
				t.Errorf("%v refused: item %d was answered %v, not %v", refused, i, is, want)
			}
		}
		if before[2].Result.ID != (store.ID{0, 2}) || before[3].ID != (store.ID{9, 3}) {
			t.Errorf("%v refused: the ids are %v and %v", refused, before[2].Result.ID, before[3].ID)
		}
	}
	other := request()
	if _, err := other.Enqueue(t.Context(), a.ask, itemsFrom(3, 0)); !errors.Is(err, errOtherAnswer) || other.Refused == nil {
		t.Errorf("another number of items: %v", err)
	}
}

// TestWhatIsBusyRefusesAll: an item that may be stored a little later is not refused for a day.
func TestWhatIsBusyRefusesAll(t *testing.T) {
	t.Parallel()
	a := &asks{kept: map[string]*store.KeptRequest{}, refuse: map[store.ID]error{{0, 1}: store.ErrBusy, {0, 2}: store.ErrConflict}}
	if _, err := request().Enqueue(t.Context(), a.ask, itemsFrom(4)); !errors.Is(err, store.ErrBusy) || len(a.kept) > 0 {
		t.Fatalf("%v, and %d are kept", err, len(a.kept))
	}
	delete(a.refuse, store.ID{0, 1})
	if _, err := request().Enqueue(t.Context(), a.ask, itemsFrom(4)); err != nil || len(a.kept) != 1 {
		t.Errorf("a little later: %v, and %d are kept", err, len(a.kept))
	}
}

// TestVeryManyRefused: of a batch in which all but one are refused the answer is kept.
func TestVeryManyRefused(t *testing.T) {
	t.Parallel()
	a := &asks{kept: map[string]*store.KeptRequest{}, refuse: map[store.ID]error{}}
	all := itemsFrom(1000)
	for _, q := range all.Enqueues[1:] {
		a.refuse[q.Job.ID] = fmt.Errorf("%w: %s", store.ErrConflict, strings.Repeat("\xff<", 300))
	}
	if _, err := request().Enqueue(t.Context(), a.ask, all); err != nil || len(a.kept) != 1 {
		t.Fatalf("%v, and %d are kept", err, len(a.kept))
	}
	before, err := request().Enqueue(t.Context(), a.ask, itemsFrom(1000))
	if err != nil || len(before) != 1000 || !errors.Is(before[999].Err, store.ErrConflict) || before[0].Err != nil {
		t.Errorf("repeated: %d items, %v", len(before), err)
	}
}

// TestKeep: of answers to one request the first that is kept stays, and who asks something else is
// refused.
func TestKeep(t *testing.T) {
	t.Parallel()
	a := &asks{kept: map[string]*store.KeptRequest{}}
	r := request()
	if kept, err := r.Kept(t.Context(), a.ask); kept != nil || err != nil || r.Repeated || len(a.kept) > 0 {
		t.Fatalf("before it: %q, %v", kept, err)
	}
	if kept, err := r.Keep(t.Context(), a.ask, []byte("first")); string(kept) != "first" || err != nil || r.Repeated {
		t.Fatalf("the first time: %q, %v", kept, err)
	}
	r = request()
	if kept, err := r.Keep(t.Context(), a.ask, []byte("second")); string(kept) != "first" || err != nil || !r.Repeated {
		t.Errorf("the second one: %q, %v", kept, err)
	}
	r = request()
	if kept, err := r.Kept(t.Context(), a.ask); string(kept) != "first" || err != nil || !r.Repeated {
		t.Errorf("afterwards: %q, %v", kept, err)
	}
	for _, ask := range []func(r *Request) ([]byte, error){
		func(r *Request) ([]byte, error) { return r.Kept(t.Context(), a.ask) },
		func(r *Request) ([]byte, error) { return r.Keep(t.Context(), a.ask, []byte("other")) },
	} {
		r = request()
		r.Print = []byte(strings.Repeat("q", 32))
		kept, err := ask(r)
		if e, is := errors.AsType[*store.RequestError](r.Refused); kept != nil || err == nil || !is || e.Same || r.Repeated {
			t.Errorf("of another request: %q, %v, %v", kept, err, r.Refused)
		}
	}
}
