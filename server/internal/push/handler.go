package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/outbound"
	"github.com/holdfastdev/holdfast/internal/valid"
)

// The headers of a job's request besides those of its signature.
const (
	headerToken = "Holdfast-Callback"     //nolint:gosec // the name of a header: the token of the callback
	headerURL   = "Holdfast-Callback-Url" // where it is completed, if the server knows its own URL
)

// Job is the body of a request.
type Job struct {
	ID         string          `json:"id"`
	Namespace  string          `json:"namespace"`
	Kind       string          `json:"kind"`
	Queue      string          `json:"queue"`
	Attempt    int             `json:"attempt"` // may be the same for two requests, after a crash
	EnqueuedAt time.Time       `json:"enqueued_at"`
	Args       json.RawMessage `json:"args"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Callback   Callback        `json:"callback"`
}

// Callback is how a job is ended that was answered 202.
type Callback struct {
	Token string `json:"token"`
	URL   string `json:"url,omitempty"`
}

// accepted is what the journal keeps of an answer.
type accepted struct {
	Parked bool            `json:"parked,omitempty"` // it was 202
	Result json.RawMessage `json:"result,omitempty"`
}

// againAfter is when a job is looked at again that was claimed though its kind has no endpoint: by
// then another node is there.
const againAfter = 5 * time.Second

// handle is the handler of kinds with an endpoint.
func (n *node) handle(run *holdfast.Run, args json.RawMessage) (json.RawMessage, error) {
	e, err := n.endpoint(run.Kind())
	if err != nil {
		run.Logger(nil).Info("the job waits", "reason", err)
		return nil, holdfast.Snooze(againAfter)
	}
	for round := 1; ; round++ {
		result, err := n.ask(run, e, args, round)
		if _, is := errors.AsType[*calledBackError](err); !is {
			return result, err
		}
		// Who retries the job wants the endpoint to be asked again: so the journal tells which run
		// has found the answer, and another one asks again. So does the next run if this one dies
		// before its end is stored.
		found, failed := holdfast.Step(run, "failed", func(context.Context) (int64, error) { return run.Lease().Number, nil })
		if failed != nil {
			return nil, failed
		}
		if found == run.Lease().Number {
			return nil, holdfast.Fail(err)
		}
	}
}

// calledBackError is the error of a job whose endpoint has called back that it failed, or has not
// called back.
type calledBackError struct{ why error }

func (e *calledBackError) Error() string { return e.why.Error() }
func (e *calledBackError) Unwrap() error { return e.why }

// ask sends a job, and waits for the callback if that is the answer.
func (n *node) ask(run *holdfast.Run, e *endpoint.Push, args json.RawMessage, round int) (json.RawMessage, error) {
	c, err := run.Callback("answer")
	if err != nil {
		return nil, err
	}
	id := run.ID().String()
	if round > 1 {
		id = fmt.Sprintf("%s.%d", id, round)
	}
	var retry time.Duration // as the receiver has said
	got, err := holdfast.Step(run, "post", func(ctx context.Context) (a accepted, err error) {
		a, retry, err = n.post(ctx, run, e, args, id, c.Token)
		return a, err
	})
	switch {
	case err != nil && retry > 0:
		return nil, holdfast.RetryAfter(retry, err)
	case err != nil || !got.Parked:
		return got.Result, err
	}
	var result json.RawMessage
	err = c.Wait(run, &result, holdfast.WaitAtMost(e.Callback))
	if failed, is := errors.AsType[*holdfast.CallbackError](err); is {
		return nil, &calledBackError{failed}
	}
	if errors.Is(err, holdfast.ErrWaitTimeout) {
		return nil, &calledBackError{fmt.Errorf("the endpoint answered 202, and did not call back within %v", e.Callback)}
	}
	return result, err
}

// post sends a job. With an error it tells when to try again, if the receiver has said so.
func (n *node) post(
	ctx context.Context, run *holdfast.Run, e *endpoint.Push, args json.RawMessage, id, token string,
) (a accepted, retry time.Duration, err error) {
	job := Job{
		ID: run.ID().String(), Namespace: run.Client().Namespace(), Kind: run.Kind(), Queue: run.Queue(), Attempt: run.Attempt(),
		EnqueuedAt: run.EnqueuedAt().UTC(), Args: args, Metadata: run.Metadata(), Tags: run.Tags(),
		Callback: Callback{Token: token, URL: n.callbackURL(token)},
	}
	body, err := json.Marshal(job)
	if err != nil {
		return a, 0, holdfast.Fail(err)
	}
	header := http.Header{headerToken: {token}}
	if job.Callback.URL != "" {
		header.Set(headerURL, job.Callback.URL)
	}
	if o := &access.JobOf(run).Options; o.TraceParent != "" {
		header.Set("Traceparent", o.TraceParent)
		header.Set("Tracestate", o.TraceState)
	}
	got, err := send(ctx, n.http, &sent{
		id: id, target: &e.Target, secrets: endpoint.SecretsAt(e.Secrets, time.Now()), body: body, header: header,
	})
	if refused, is := errors.AsType[*outbound.RefusedError](err); is {
		return a, 0, fmt.Errorf("%s: %w", hostOf(&e.Target), refused) // another server may allow it
	}
	if err != nil {
		return a, 0, err
	}
	return judge(got, &e.Target)
}

// judge says what an answer means for the job.
func judge(got *answer, t *endpoint.Target) (a accepted, retry time.Duration, err error) {
	switch {
	case got.status == http.StatusAccepted:
		return accepted{Parked: true}, 0, nil
	case got.isSuccess() && got.cut:
		return a, 0, holdfast.Fail(fmt.Errorf("%s answered with more than %d bytes, which cannot be a result", hostOf(t), maxAnswer))
	case got.isSuccess():
		a.Result = resultOf(got.body)
		if err := valid.JSON("result", a.Result, math.MaxInt); err != nil {
			return accepted{}, 0, holdfast.Fail(err) // the endpoint would do its work again, and say the same
		}
		return a, 0, nil
	case got.mayPass():
		retry, _ = got.retryAfter()
		return a, retry, got.failure(t)
	}
	return a, 0, holdfast.Fail(got.failure(t))
}

// resultOf is what a body is as a result: JSON as it is, and any other text as a string.
func resultOf(body []byte) json.RawMessage {
	body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	if len(body) == 0 {
		return json.RawMessage("null")
	}
	if json.Valid(body) {
		return json.RawMessage(body)
	}
	text, err := json.Marshal(string(body))
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}
