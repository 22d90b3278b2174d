package asked

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Ask commits a request with its effect, and returns when that is durable, or refused as u.Err
// says.
type Ask = func(ctx context.Context, u *store.Unit) error

// Items are what a request enqueues: some items, of which some may be refused before they come
// here.
type Items struct {
	Count    int              // how many there are, with those that were refused
	Enqueues []*store.Enqueue // of the others
	Places   []int            // of each among the items
	Refused  []Refused        // the others
}

// Item is what an item was answered.
type Item struct {
	ID     store.ID
	Result store.EnqueueResult
	Err    error
}

// Enqueue makes enqueues the effect of a request: they are stored together with what the request is
// answered. Those that are refused are taken out; if all are, nothing is kept, and a repeated
// request is tried as a new one. One that only may be refused now, such as ErrBusy, refuses all.
//
// A request that is known does nothing, and returns what each item was answered the first time.
// What could be enqueued then may be refused by now, as when its deadline has passed: so where
// something was refused it is looked first.
func (r *Request) Enqueue(ctx context.Context, ask Ask, all Items) (before []Item, err error) {
	if len(all.Refused) > 0 {
		if before, err = r.look(ctx, ask, all.Count); before != nil || err != nil {
			return before, err
		}
	}
	left, places, refused := all.Enqueues, all.Places, all.Refused
	for len(left) > 0 {
		keyed := r.keyed()
		keyed.Enqueues, keyed.Answer = left, pack(refused)
		if err := ask(ctx, &store.Unit{Request: keyed, Enqueues: left}); err != nil {
			return nil, err
		}
		if keyed.Err != nil {
			return r.known(keyed.Err, all.Count)
		}
		var kept []*store.Enqueue
		var at []int
		for i, q := range left {
			switch {
			case q.Err == nil:
				kept, at = append(kept, q), append(at, places[i])
			case store.IsRetryable(q.Err):
				return nil, q.Err // and nothing was stored
			default:
				refused = append(refused, NewRefused(places[i], q.Job.ID, q.Err))
			}
		}
		if len(kept) == len(left) {
			return nil, nil
		}
		left, places = kept, at
	}
	return nil, nil
}

// look returns what a request was answered, or nothing if it is not known: one that ends and has
// not begun leaves no trace.
func (r *Request) look(ctx context.Context, ask Ask, count int) ([]Item, error) {
	found, err := r.find(ctx, ask)
	if err != nil || found == nil {
		return nil, err
	}
	return r.known(found, count)
}

// find returns why a request is refused, or nil if it is not known.
func (r *Request) find(ctx context.Context, ask Ask) (found, err error) {
	keyed := r.keyed()
	keyed.Phase, keyed.Owner = store.RequestEnds, make([]byte, 16)
	_, _ = rand.Read(keyed.Owner) // it never fails
	if err := ask(ctx, &store.Unit{Request: keyed}); err != nil {
		return nil, err
	}
	if e, is := errors.AsType[*store.RequestError](keyed.Err); is {
		return e, nil
	}
	return nil, nil
}

// known returns what the items of a request were answered that is known, if it has ended.
func (r *Request) known(err error, count int) ([]Item, error) {
	found, is := store.IsRepeated(err)
	if !is {
		r.Refused = err
		return nil, err
	}
	was, err := found.Results()
	if err == nil {
		var items []Item
		if items, err = itemsOf(&was, count); err == nil {
			r.Repeated = true
			return items, nil
		}
	}
	r.Refused = err
	return nil, err
}

// itemsOf puts together what was kept of the items of a request.
func itemsOf(was *store.RequestResults, count int) ([]Item, error) {
	refused, err := unpack(was.Answer)
	if err != nil || len(was.Enqueues)+len(refused) != count {
		return nil, errOtherAnswer
	}
	items := make([]Item, count)
	for _, one := range refused {
		if one.Place < 0 || one.Place >= count || items[one.Place].Err != nil {
			return nil, errOtherAnswer
		}
		items[one.Place] = Item{ID: one.ID, Err: one.Err()}
	}
	left := was.Enqueues
	for i := range items {
		if items[i].Err == nil {
			items[i].ID, items[i].Result, left = left[0].ID, left[0], left[1:]
		}
	}
	return items, nil
}

// errOtherAnswer is that of a request whose answer was kept by what does not do the same.
var errOtherAnswer = fmt.Errorf("%w: the answer that was kept for the request is that of another one", store.ErrInvalid)

// Send makes one message the effect of a request: see Enqueue. It sets the job to which a repeated
// one was sent.
func (r *Request) Send(ctx context.Context, ask Ask, send *store.Send) error {
	if send.Key == "" {
		send.Key = rand.Text()
	}
	keyed, sends := r.keyed(), []*store.Send{send}
	keyed.Sends, keyed.Answer = sends, send.Job[:]
	if err := ask(ctx, &store.Unit{Request: keyed, Sends: sends}); err != nil || keyed.Err == nil {
		return err
	}
	found, is := store.IsRepeated(keyed.Err)
	if !is {
		r.Refused = keyed.Err
		return keyed.Err
	}
	was, err := found.Results()
	if err != nil || len(was.Sends) != 1 || len(was.Answer) != len(send.Job) {
		return errors.Join(err, errOtherAnswer)
	}
	send.Job = store.ID(was.Answer)
	send.Result, send.Err, r.Repeated = was.Sends[0], nil, true
	return nil
}
