package holdfast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/ask"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// Update is a named kind of request to a run, with a payload of type In and an answer of type Out.
// A run accepts or refuses a request, handles what it has accepted once, and its caller gets the
// answer. Unlike a signal, a request changes nothing and leaves nothing if it is refused.
type Update[In, Out any] struct {
	name string
	err  error
}

// NewUpdate names an update. Updates can be package variables, because a wrong name is reported at
// the first use of the update.
func NewUpdate[In, Out any](name string) Update[In, Out] {
	return Update[In, Out]{name, checkName("update", name)}
}

// Name returns the update's name.
func (u Update[In, Out]) Name() string { return u.name }

// Handle makes a run handle the requests of this name, from now on. They are handled where the
// function that run belongs to waits: in Sleep, Signal.Wait, Select, Callback.Wait, Child.Wait,
// Future.Wait, CallAll, Run.WaitUntil, and between the attempts of a step. They are handled one
// after the other, in the order in which they came, and what is waited for comes after them; so fn
// shares the function's variables without a lock. Handle takes no place in the journal: call it on
// each run, before the first wait in which requests may come.
//
// validate decides whether a request is accepted; nil accepts all. It must only look, at the
// request and the function's variables. Its error is told to the caller, and nothing remains of the
// request. A request that does not decode into In is refused, too.
//
// fn handles a request that was accepted. It uses its own run, with all its operations, and is
// replayed with them. What it returns is the answer, once; its error is the caller's, as an
// *UpdateError, and does not concern the run. A panic of fn fails the attempt of the job, and the
// request is handled by the next one.
func (u Update[In, Out]) Handle(run *Run, validate func(in In) error, fn func(run *Run, in In) (Out, error)) error {
	switch {
	case u.err != nil:
		return u.err
	case fn == nil:
		return noFunction("update " + u.name)
	}
	return run.strand.HandleUpdate(&replay.UpdateHandler{
		Name: u.name,
		Open: func(data []byte, accepted bool) (func(*replay.Strand) ([]byte, error), error) {
			var in In
			if err := decodeInto(&in, data); err != nil {
				return nil, fmt.Errorf("cannot decode the request %w", err)
			}
			if validate != nil && !accepted {
				if err := validate(in); err != nil {
					return nil, err
				}
			}
			return func(s *replay.Strand) ([]byte, error) {
				out, err := fn(run.with(run.Context, s), in)
				if err != nil {
					return nil, err
				}
				return run.client.encodeReturned(out)
			}, nil
		},
	})
}

// Call sends a request to the run of a job and waits for the answer. The run may be parked, or not
// have begun: the request waits until the run handles requests of this name.
//
// An option DedupKey is the request's id among those of its job: a call with the id of an earlier
// one sends nothing, and returns the same answer, whenever that was given; the default is a new id.
// If ctx ends first, its error is returned, and the request stays: a call with the same id waits
// for it again.
//
// A request that was refused, or whose handler returned an error, is an *UpdateError. The error is
// ErrConflict if the job has ended without an answer to this request, and ErrNotFound if there is
// no such job. Like Wait, Call keeps trying while the database does not answer, once the request
// was sent.
func (u Update[In, Out]) Call(ctx context.Context, c *Client, job ID, in In, opts ...SendOption) (Out, error) {
	var out Out
	if u.err != nil {
		return out, u.err
	}
	data, err := encode("update "+u.name, in)
	if err != nil {
		return out, err
	}
	answer, err := c.CallUpdate(ctx, job, u.name, data, opts...)
	if err != nil {
		return out, err
	}
	if err := decodeInto(&out, answer); err != nil {
		return out, fmt.Errorf("cannot decode the answer to update %s of job %s %w", u.name, job, err)
	}
	return out, nil
}

// UpdateError is the error of a request that was refused, or whose handler returned an error.
type UpdateError struct {
	Job     ID
	Update  string // its name
	Refused bool   // it was not accepted: it has changed nothing, and may be sent again
	Message string // what the validation or the handler said
}

// Error says what became of the request.
func (e *UpdateError) Error() string {
	became := "failed"
	if e.Refused {
		became = "was refused"
	}
	return fmt.Sprintf("holdfast: update %q of job %s %s: %s", e.Update, e.Job, became, e.Message)
}

// CallUpdate does the same as Update.Call with a payload that is already JSON, for programs that do
// not know its type. An answer without a value is nil.
func (c *Client) CallUpdate(
	ctx context.Context, job ID, name string, payload json.RawMessage, opts ...SendOption,
) (json.RawMessage, error) {
	if err := checkName("update", name); err != nil {
		return nil, err
	}
	send := &store.Send{
		Namespace: c.namespace, Job: job, Key: uuid.NewString(), Message: store.Message{Kind: store.MessageUpdate, Name: name},
	}
	if err := c.message(send, "update "+name, payload, opts); err != nil {
		return nil, err
	}
	answer, err := ask.Ask(ctx, c.engine, send)
	switch {
	case err != nil:
		return nil, err
	case answer.Verdict != store.UpdateDone:
		return nil, &UpdateError{Job: job, Update: name, Refused: answer.Verdict == store.UpdateRefused, Message: answer.Error}
	}
	return journal.Unpack(answer.Data, answer.Codec)
}
