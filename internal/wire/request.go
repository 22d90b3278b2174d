package wire

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// numbersOf are the places of operations in their batch.
func numbersOf[T any](operations []*T) map[*T]int {
	numbers := make(map[*T]int, len(operations))
	for i, o := range operations {
		numbers[o] = i
	}
	return numbers
}

// RequestOf are the numbers of what a request does.
type RequestOf struct{ Enqueues, Sends []int }

// requestsOf are the requests of a batch as they travel, with the numbers of what each does.
func requestsOf(b *store.Batch, numbers map[*store.Enqueue]int) (sent []*store.KeyedRequest, do []RequestOf, err error) {
	if len(b.Requests) == 0 {
		return b.Requests, nil, nil
	}
	sends := numbersOf(b.Sends)
	for _, r := range b.Requests {
		var of RequestOf
		if of.Enqueues, err = places(r.Enqueues, numbers); err == nil {
			of.Sends, err = places(r.Sends, sends)
		}
		if err != nil {
			return nil, nil, err
		}
		one := *r
		one.Enqueues, one.Sends = nil, nil
		sent, do = append(sent, &one), append(do, of)
	}
	return sent, do, nil
}

func places[T any](operations []*T, numbers map[*T]int) (at []int, err error) {
	for _, o := range operations {
		number, there := numbers[o]
		if !there {
			return nil, fmt.Errorf("%w: a request does something that is not in its batch", store.ErrInvalid)
		}
		at = append(at, number)
	}
	return at, nil
}

// openRequests lets requests that have arrived point to what they do.
func openRequests(b *store.Batch, do []RequestOf) (err error) {
	if len(do) != len(b.Requests) {
		return fmt.Errorf("%w: the batch has what %d requests do, and %d requests", store.ErrInvalid, len(do), len(b.Requests))
	}
	for i, r := range b.Requests {
		if r.Enqueues, err = at(b.Enqueues, do[i].Enqueues); err != nil {
			return err
		}
		if r.Sends, err = at(b.Sends, do[i].Sends); err != nil {
			return err
		}
	}
	return nil
}

func at[T any](operations []*T, numbers []int) (found []*T, err error) {
	for _, n := range numbers {
		if n < 0 || n >= len(operations) {
			return nil, fmt.Errorf("%w: a request does the operation %d of %d", store.ErrInvalid, n, len(operations))
		}
		found = append(found, operations[n])
	}
	return found, nil
}

// RequestText is the request of a context as a header has it, or "".
func RequestText(ctx context.Context) string {
	r := store.RequestIn(ctx)
	if r == nil || r.Check() != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(slices.Concat(r.Hash, r.Print, r.Owner))
}

// WithRequest returns the context of the request that a header has; it is ctx if that is "".
func WithRequest(ctx context.Context, text string) (context.Context, error) {
	if text == "" {
		return ctx, nil
	}
	const name, owner = 32, 16
	all, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(all) != 2*name+owner {
		return nil, fmt.Errorf("%w: the header %s is no request", store.ErrInvalid, RequestHeader)
	}
	return store.WithRequest(ctx, &store.KeyedRequest{Hash: all[:name], Print: all[name : 2*name], Owner: all[2*name:]}), nil
}
