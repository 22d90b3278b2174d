package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// RequestsKept is how long it is known what a request was answered.
	RequestsKept = 24 * time.Hour
	// MaxRequestAnswer bounds KeyedRequest.Answer, in bytes.
	MaxRequestAnswer = 64 << 10
	// requestName is how long Hash and Print of a request are, in bytes.
	requestName = 32
)

// RequestPhase is what is written of a request.
type RequestPhase uint8

// The phases.
const (
	// RequestWhole: its effect is in the same batch, so that both happen or neither does.
	RequestWhole RequestPhase = iota
	// RequestBegins: its effect follows, in other transactions. For says how long that may take.
	RequestBegins
	// RequestEnds: its effect has happened, and is answered.
	RequestEnds
	// RequestDropped: it has begun, and nothing came of it. It is forgotten, unless something has
	// happened and it may not be done again.
	RequestDropped
	// RequestHappens: the batch, or the verb that is called in its context (WithRequest), does what
	// a request asks for that has begun. Nothing happens if another one has taken it over.
	RequestHappens
)

// KeyedRequest is a request of a caller who names it by a key, so that a repeated one does nothing
// and is answered as the first one was. It refuses its batch if it cannot be written: see
// RequestError. It is kept for RequestsKept.
type KeyedRequest struct {
	Hash  []byte // 32 bytes, of the caller and the key
	Print []byte // 32 bytes, of what is asked: the same key for something else is refused
	Phase RequestPhase
	// Owner is who sees to a request that has begun, 16 random bytes: no other one ends it.
	Owner []byte
	// For is how long a request that begins may take. After that another one may begin in its
	// place, if nothing has happened of it so far, or with Again. Of one that happens Judge sets
	// what is left of that.
	For   time.Duration
	Again bool
	// Answer is what is kept for a repeat, beside the results of Enqueues and Sends: at most
	// MaxRequestAnswer bytes.
	Answer []byte
	// Enqueues and Sends are those of the batch whose results are the answer.
	Enqueues []*Enqueue
	Sends    []*Send

	// Err is set by the store: a *RequestError or ErrInvalid.
	Err error
}

type requestKey struct{}

// WithRequest returns a context in which what a request asks for is done that has begun
// (RequestBegins). The transaction in which a verb that people ask for changes something (what
// Audits tells of, and CreateBatch) notes that the request has happened. So it is known of a
// program that dies whether it has: another one begins in its place, or learns that it is done. If
// another one has begun in its place already, the verb changes nothing, and its error is a
// *RequestError. In batches a request is told by Batch.Requests, not by the context.
func WithRequest(ctx context.Context, r *KeyedRequest) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestIn returns the request of a context, as it is written when it happens, or nil. Each call
// returns another one.
func RequestIn(ctx context.Context) *KeyedRequest {
	r, _ := ctx.Value(requestKey{}).(*KeyedRequest)
	if r == nil {
		return nil
	}
	return &KeyedRequest{Hash: r.Hash, Print: r.Print, Owner: r.Owner, Phase: RequestHappens}
}

// RequestError is that a request is known already. Nothing of the repeated one has happened. It is
// an ErrConflict.
type RequestError struct {
	Same     bool      // it asked the same; otherwise the key was used for something else
	Begun    bool      // it is not known to have ended
	Over     bool      // it has begun, and had longer than it may take
	Happened bool      // it has begun, and what it asks for has happened, at least in part
	At       time.Time // when it was made
	Kept     []byte    // its answer, for Results
}

func (e *RequestError) Error() string {
	at := e.At.UTC().Format(time.RFC3339)
	switch {
	case !e.Same:
		return fmt.Sprintf("%v: the key of the request was used at %s for another request; use a new key", ErrConflict, at)
	case e.Over:
		return fmt.Sprintf("%v: a request with this key has begun at %s, and its answer was not kept", ErrConflict, at)
	case e.Begun:
		return fmt.Sprintf("%v: a request with this key has begun at %s and is under way; repeat it in a moment", ErrConflict, at)
	}
	return fmt.Sprintf("%v: a request with this key was answered at %s", ErrConflict, at)
}

// Unwrap makes the error an ErrConflict.
func (e *RequestError) Unwrap() error { return ErrConflict }

// RequestResults is what a request was answered.
type RequestResults struct {
	Enqueues []EnqueueResult // ID, State, Existing, Replaced and Differs
	Sends    []SendResult
	Answer   []byte
}

// Results is what the request was answered. The error is an ErrInvalid, for what this program
// cannot read.
func (e *RequestError) Results() (r RequestResults, err error) {
	var kept keptRequest
	if err := json.Unmarshal(e.Kept, &kept); err != nil || len(kept.Enqueues)%keptEnqueue != 0 {
		return r, fmt.Errorf("%w: the answer that was kept for a request cannot be read", ErrInvalid)
	}
	for one := range bytesOf(kept.Enqueues) {
		flags := one[len(ID{})+1]
		r.Enqueues = append(r.Enqueues, EnqueueResult{
			ID: ID(one[:len(ID{})]), State: State(one[len(ID{})]), Existing: flags&1 != 0, Replaced: flags&2 != 0, Differs: flags&4 != 0,
		})
	}
	for _, q := range kept.Sends {
		r.Sends = append(r.Sends, SendResult(q))
	}
	r.Answer = kept.Answer
	return r, nil
}

// keptEnqueue is how many bytes are kept of each enqueue: the id, the state and what else it was.
const keptEnqueue = len(ID{}) + 2

// keptRequest is what is kept of the answer of a request.
type keptRequest struct {
	Stage    string     `json:"stage,omitempty"` // of one that has begun
	Enqueues []byte     `json:"enqueues,omitempty"`
	Sends    []keptSend `json:"sends,omitempty"`
	Answer   []byte     `json:"answer,omitempty"`
}

// stages are those of a request that has begun. One without is of a program that did not note what
// has happened: nothing is known of it.
var stages = map[RequestPhase]string{RequestBegins: "begun", RequestHappens: "happened"}

// keptSend is a SendResult.
type keptSend struct {
	Seq       int64 `json:"seq"`
	Duplicate bool  `json:"duplicate,omitempty"`
	Woken     bool  `json:"woken,omitempty"`
}

// bytesOf are the parts of what is kept of enqueues.
func bytesOf(all []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(all) > 0 && yield(all[:keptEnqueue]) {
			all = all[keptEnqueue:]
		}
	}
}

// Kept is what a store keeps of the answer, once the results are set.
func (r *KeyedRequest) Kept() []byte {
	kept := keptRequest{Stage: stages[r.Phase], Answer: r.Answer}
	for _, q := range r.Enqueues {
		flags := byte(0)
		for bit, is := range []bool{q.Result.Existing, q.Result.Replaced, q.Result.Differs} {
			if is {
				flags |= 1 << bit
			}
		}
		kept.Enqueues = append(append(kept.Enqueues, q.Result.ID[:]...), byte(q.Result.State), flags)
	}
	for _, q := range r.Sends {
		kept.Sends = append(kept.Sends, keptSend(q.Result))
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic("a request cannot be encoded: " + err.Error()) // it has nothing but bytes and numbers
	}
	return text
}

// Check returns an ErrInvalid for what cannot be a request.
func (r *KeyedRequest) Check() error {
	wants := 16
	if r.Phase == RequestWhole {
		wants = 0
	}
	switch {
	case len(r.Hash) != requestName || len(r.Print) != requestName:
		return fmt.Errorf("%w: the names of a request have %d and %d bytes, not %d", ErrInvalid, len(r.Hash), len(r.Print), requestName)
	case r.Phase > RequestHappens || len(r.Owner) != wants:
		return fmt.Errorf("%w: a request of the phase %d has an owner of %d bytes", ErrInvalid, r.Phase, len(r.Owner))
	case r.Phase == RequestBegins && (r.For <= 0 || r.For > RequestsKept):
		return fmt.Errorf("%w: a request that begins may take from 1ns to %v, not %v", ErrInvalid, RequestsKept, r.For)
	case len(r.Answer) > MaxRequestAnswer:
		return fmt.Errorf("%w: the answer of a request has %d bytes; at most %d are kept", ErrInvalid, len(r.Answer), MaxRequestAnswer)
	}
	return nil
}

// KeptRequest is a request as a store has it.
type KeptRequest struct {
	Print  []byte
	At     time.Time
	Until  time.Time // by when it has to end; zero: it has
	Owner  []byte
	Answer []byte // as Kept says
}

// is reports whether a request that has begun is in the stage of a phase.
func (k *KeptRequest) is(phase RequestPhase) bool {
	var kept keptRequest
	return json.Unmarshal(k.Answer, &kept) == nil && kept.Stage == stages[phase]
}

// RequestStep is what a store does with a request.
type RequestStep uint8

// The steps.
const (
	NoStep        RequestStep = iota
	InsertRequest             // it is a new one, and replaces one that was kept long enough
	UpdateRequest             // another one begins it, or it ends; its time stays
	DeleteRequest
)

// Judge says what is to be done with a request, if that which is known of it is kept, or nil. What
// was kept long enough is known no more, whether it was removed or not.
func (r *KeyedRequest) Judge(kept *KeptRequest, now time.Time) (RequestStep, error) {
	if kept != nil && now.Sub(kept.At) >= RequestsKept {
		kept = nil
	}
	if kept == nil {
		switch r.Phase {
		case RequestWhole, RequestBegins:
			return InsertRequest, nil
		case RequestEnds, RequestHappens:
			return NoStep, fmt.Errorf("%w: a request goes on that is not known", ErrConflict)
		default:
			return NoStep, nil
		}
	}
	begun := !kept.Until.IsZero()
	same, own := bytes.Equal(r.Print, kept.Print), len(r.Owner) > 0 && bytes.Equal(r.Owner, kept.Owner)
	over := begun && !now.Before(kept.Until)
	if r.Phase == RequestDropped {
		if own && begun && (r.Again || !kept.is(RequestHappens)) {
			return DeleteRequest, nil
		}
		return NoStep, nil // another one has taken over, or it cannot be undone
	}
	switch {
	case own && r.Phase == RequestBegins, own && r.Phase == RequestEnds && !begun:
		return NoStep, nil // it is repeated
	case own && begun:
		r.For = kept.Until.Sub(now)
		return UpdateRequest, nil
	case r.Phase == RequestBegins && same && over && (r.Again || kept.is(RequestBegins)):
		return UpdateRequest, nil
	}
	return NoStep, &RequestError{
		Same: same, Begun: begun, Over: over, Happened: begun && kept.is(RequestHappens), At: kept.At, Kept: kept.Answer,
	}
}

// Until is when a request that begins now, or has begun, is over; zero for others.
func (r *KeyedRequest) Until(now time.Time) time.Time {
	if r.Phase != RequestBegins && r.Phase != RequestHappens {
		return time.Time{}
	}
	return now.Add(r.For)
}

// CheckRequests sets Err of requests that cannot be, and of those that come a second time in their
// batch, and returns the others. Stores begin with it.
func CheckRequests(requests []*KeyedRequest, now time.Time) []*KeyedRequest {
	var left []*KeyedRequest
	seen := make(map[string]bool, len(requests))
	for _, r := range requests {
		if r.Err = r.Check(); r.Err == nil && seen[string(r.Hash)] {
			r.Err = &RequestError{Same: true, Begun: true, At: now}
		}
		if r.Err == nil {
			left = append(left, r)
		}
		seen[string(r.Hash)] = true
	}
	return left
}

// IsRepeated returns what a request was answered before, if that is why it was refused.
func IsRepeated(err error) (*RequestError, bool) {
	e, is := errors.AsType[*RequestError](err)
	return e, is && e.Same && !e.Begun
}
