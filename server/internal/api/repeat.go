package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// ending bounds how long it is tried to store what a request was answered.
const ending = 10 * time.Second

// keyedCall is a call of an operation by a request with a key.
type keyedCall struct {
	*requestKey

	id          string // of the operation
	status      int    // of its success; 0: 200
	public      bool   // it needs no credential
	principal   string
	repeat      Repeat
	timeout     time.Duration // of its handler
	lasts       time.Duration // at the most
	ask         asked.Ask
	log         *slog.Logger
	hash, print []byte
	owner       []byte
}

// byKey handles a request with a key, as its operation says.
func byKey(ctx context.Context, k *keyedCall, handle func(context.Context) (any, error)) (any, error) {
	k.hash, k.print = k.names(k.public, k.principal)
	if k.repeat == InCommit {
		r := &asked.Request{Hash: k.hash, Print: k.print}
		out, err := handle(asked.With(ctx, r))
		if r.Repeated {
			k.header.Set(replayedHeader, "true")
		}
		return out, k.asProblem(cmp.Or(r.Refused, err))
	}
	k.owner = make([]byte, 16)
	_, _ = rand.Read(k.owner) // it never fails
	if known, err := k.begin(ctx); known || err != nil {
		return nil, err
	}
	// A caller who has gone will ask again: what has begun goes on, so there is an answer then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timeout)
	defer cancel()
	out, err := handle(store.WithRequest(ctx, k.request(store.RequestHappens)))
	k.end(ctx, out, err)
	return out, k.asProblem(err)
}

// request is a phase of the request.
func (k *keyedCall) request(phase store.RequestPhase) *store.KeyedRequest {
	return &store.KeyedRequest{Hash: k.hash, Print: k.print, Phase: phase, Owner: k.owner}
}

// write writes a phase.
func (k *keyedCall) write(ctx context.Context, r *store.KeyedRequest) error {
	if err := k.ask(ctx, &store.Unit{Request: r}); err != nil {
		return err // and the committer may still be writing it
	}
	return r.Err
}

// begin notes that the request has begun, or returns known if it was answered before: with an error
// that is the answer, or without one if it had no body.
func (k *keyedCall) begin(ctx context.Context) (known bool, err error) {
	r := k.request(store.RequestBegins)
	r.For, r.Again = k.lasts, k.repeat == Again
	err = k.write(ctx, r)
	found, is := store.IsRepeated(err)
	if !is {
		return false, k.asProblem(err)
	}
	was, err := found.Results()
	if err != nil {
		return true, err
	}
	answer := &answered{}
	if err := json.Unmarshal(was.Answer, answer); err != nil {
		return true, fmt.Errorf("the answer of a request that was kept: %w", err)
	}
	if answer.Left {
		return true, problem.New(problem.AnswerNotKept, "the request with this "+keyHeader+" was done, and its answer was not kept, "+
			"since it has payloads or a secret, or is too long: look at what it has made")
	}
	k.header.Set(replayedHeader, "true")
	if len(answer.Body) == 0 {
		return true, nil
	}
	return true, answer
}

// end notes what the request was answered, or that it has failed: the store forgets it then, unless
// something has happened that may not be done again. What still tries to do it is refused.
func (k *keyedCall) end(ctx context.Context, out any, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	r := k.request(store.RequestEnds)
	if failed == nil {
		r.Answer = k.answer(reflect.ValueOf(out))
	} else {
		r = k.request(store.RequestDropped)
		r.Again = k.repeat == Again
	}
	if err := k.write(ctx, r); err != nil {
		k.log.WarnContext(ctx, "cannot store what a request with a key was answered", "request", problem.RequestID(ctx),
			"operation", k.id, "error", err.Error())
	}
}

// answered is the answer of a request, as it is kept. As the error of a call it is what is answered
// again.
type answered struct {
	Status  int                 `json:"status"`
	Headers map[string][]string `json:"headers,omitempty"`
	Body    json.RawMessage     `json:"body,omitempty"`
	Left    bool                `json:"left,omitempty"` // the answer was not kept
}

func (a *answered) Error() string                { return "the answer of an earlier request" }
func (a *answered) GetStatus() int               { return a.Status }
func (a *answered) GetHeaders() http.Header      { return a.Headers }
func (a *answered) ContentType(string) string    { return "application/json" }
func (a *answered) MarshalJSON() ([]byte, error) { return a.Body, nil }

// answer is what is kept of an output.
func (k *keyedCall) answer(out reflect.Value) []byte {
	left := []byte(`{"left":true}`)
	if out.IsNil() {
		return []byte("{}")
	}
	// It would be a second place where these are, and none that a codec encodes.
	if hasSecret(out.Type()) || hasPayload(out) {
		return left
	}
	a := answered{Status: k.status}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	for f, value := range out.Elem().Fields() {
		switch name := f.Tag.Get("header"); {
		case f.Name == "Status":
			a.Status = int(value.Int())
		case f.Name == "Body":
			var body bytes.Buffer
			if err := marshal(&body, value.Interface()); err != nil {
				return left
			}
			a.Body = bytes.TrimSpace(body.Bytes())
		case name != "" && !value.IsZero():
			if a.Headers == nil {
				a.Headers = map[string][]string{}
			}
			a.Headers[http.CanonicalHeaderKey(name)] = []string{fmt.Sprint(value.Interface())}
		}
	}
	var kept bytes.Buffer
	if err := marshal(&kept, a.plain()); err != nil || kept.Len() > store.MaxRequestAnswer || a.Body == nil {
		return left
	}
	return kept.Bytes()
}

// plain is the answer with all of its fields, as it is kept.
func (a *answered) plain() any {
	type plain answered
	return (*plain)(a)
}

// asProblem is what the error of a request with a key is for its caller.
func (k *keyedCall) asProblem(err error) error {
	e, is := errors.AsType[*store.RequestError](err)
	switch {
	case !is:
		return err
	case !e.Same:
		return problem.New(problem.KeyReused, "the "+keyHeader+" was used for another request; use a new one for each request that is no repetition")
	case e.Over && e.Happened && k.repeat != Parts:
		return problem.New(problem.AnswerNotKept, "the request with this "+keyHeader+" was done at about "+e.At.UTC().Format(time.RFC3339)+
			", and the server that did it has not kept its answer: look at what it has made")
	case e.Over:
		return problem.New(problem.UnknownOutcome, "a request with this "+keyHeader+" has begun at "+e.At.UTC().Format(time.RFC3339)+
			", and the server that handled it has not said how it ended: look whether it has happened, and use a new key if it has not")
	default:
		return problem.New(problem.UnderWay, "a request with this "+keyHeader+" is under way; repeat it in a moment").In(time.Second)
	}
}
