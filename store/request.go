package store

import (
	"bytes"
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
	// RequestDropped: it has begun, and nothing came of it. It is forgotten.
	RequestDropped
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
	// For is how long a request that begins may take. After that it is not known what became of it,
	// and another one with Again may begin in its place.
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

// RequestError is that a request is known already. Nothing of the repeated one has happened. It is
// an ErrConflict.
type RequestError struct {
	Same  bool      // it asked the same; otherwise the key was used for something else
	Begun bool      // it is not known to have ended
	Over  bool      // it has begun, and had longer than it may take
	At    time.Time // when it was made
	Kept  []byte    // its answer, for Results
}

func (e *RequestError) Error() string {
	at := e.At.UTC().Format(time.RFC3339)
	switch {
	case !e.Same:
		return fmt.Sprintf("%v: the key of the request was used at %s for another request; use a new key", ErrConflict, at)
	case e.Over:
		return fmt.Sprintf("%v: a request with this key has begun at %s, and it is not known what became of it", ErrConflict, at)
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
	Enqueues []byte     `json:"enqueues,omitempty"`
	Sends    []keptSend `json:"sends,omitempty"`
	Answer   []byte     `json:"answer,omitempty"`
}

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
	kept := keptRequest{Answer: r.Answer}
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
	case r.Phase > RequestDropped || len(r.Owner) != wants:
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
		case RequestEnds:
			return NoStep, fmt.Errorf("%w: a request has ended that is not known", ErrConflict)
		default:
			return NoStep, nil
		}
	}
	begun := !kept.Until.IsZero()
	same, own := bytes.Equal(r.Print, kept.Print), len(r.Owner) > 0 && bytes.Equal(r.Owner, kept.Owner)
	over := begun && !now.Before(kept.Until)
	switch {
	case own && r.Phase == RequestBegins, own && r.Phase == RequestEnds && !begun, r.Phase == RequestDropped && (!own || !begun):
		return NoStep, nil // it is repeated, or another one has taken over
	case own && r.Phase == RequestDropped:
		return DeleteRequest, nil
	case own, r.Phase == RequestBegins && r.Again && same && over:
		return UpdateRequest, nil
	}
	return NoStep, &RequestError{Same: same, Begun: begun, Over: over, At: kept.At, Kept: kept.Answer}
}

// Until is when a request that begins now is over; zero for others.
func (r *KeyedRequest) Until(now time.Time) time.Time {
	if r.Phase != RequestBegins {
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
