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

// Enqueue makes enqueues the effect of a request: they are stored together with what the request is
// answered. Those that are refused are taken out; if all are, nothing is kept, and a repeated
// request is tried as a new one. A request that is known does nothing, and sets the results of the
// first time.
func (r *Request) Enqueue(ctx context.Context, ask Ask, enqueues []*store.Enqueue) error {
	left, places, refused := enqueues, placesOf(enqueues), []Refused(nil)
	for len(left) > 0 {
		keyed := r.keyed()
		keyed.Enqueues, keyed.Answer = left, pack(refused)
		u := &store.Unit{Request: keyed, Enqueues: left}
		if err := ask(ctx, u); err != nil {
			return err
		}
		if keyed.Err != nil {
			return r.enqueuedBefore(keyed.Err, enqueues)
		}
		var kept []*store.Enqueue
		var at []int
		for i, q := range left {
			if q.Err == nil {
				kept, at = append(kept, q), append(at, places[i])
			} else {
				refused = append(refused, refusedAs(places[i], q))
			}
		}
		if len(kept) == len(left) {
			return nil
		}
		left, places = kept, at
	}
	return nil
}

func placesOf(enqueues []*store.Enqueue) []int {
	places := make([]int, len(enqueues))
	for i := range places {
		places[i] = i
	}
	return places
}

// enqueuedBefore sets the results of a request that is known, if it has ended.
func (r *Request) enqueuedBefore(err error, enqueues []*store.Enqueue) error {
	found, is := store.IsRepeated(err)
	if !is {
		r.Refused = err
		return err
	}
	was, err := found.Results()
	if err != nil {
		return err
	}
	refused, err := unpack(was.Answer)
	if err != nil || len(was.Enqueues)+len(refused) != len(enqueues) {
		return errOtherAnswer
	}
	for _, q := range enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
	}
	for _, one := range refused {
		if one.Place < 0 || one.Place >= len(enqueues) {
			return errOtherAnswer
		}
		enqueues[one.Place].Job.ID, enqueues[one.Place].Err = one.ID, one.Err()
	}
	for _, q := range enqueues {
		if q.Err == nil {
			q.Result, was.Enqueues = was.Enqueues[0], was.Enqueues[1:]
		}
	}
	r.Repeated = true
	return nil
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
