package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Callback is an answer that the run expects from an outside system. Give that system the Token:
// its holder may complete or fail the callback, once.
type Callback struct {
	Token    string // unguessable; durable before Run.Callback returns, and the same on every replay
	name     string
	callback *await.Callback
	message  *store.Message
}

// Callback makes a callback, whose Token is durable when it returns. The name is for people. One by
// whose answer rules decide is made by package rules.
func (r *Run) Callback(name string) (*Callback, error) { return r.callback(name, nil, nil) }

// callback makes a callback with rules, which are remembered with it. With an error, of the rules,
// it makes none that is not there yet.
func (r *Run) callback(name string, rules *journal.Rules, refused error) (*Callback, error) {
	if err := checkName("callback", name); err != nil {
		return nil, err
	}
	if refused != nil {
		refused = fmt.Errorf("callback %q: %w", name, refused)
	}
	c, err := r.strand.OpenCallback(name, rules, refused)
	if err != nil {
		return nil, err
	}
	return &Callback{Token: c.Token, name: name, callback: c}, nil
}

// CallbackError is the error of waiting for a callback that was failed.
type CallbackError struct{ Message string }

func (e *CallbackError) Error() string { return "callback failed: " + e.Message }

// Wait waits until the callback is completed, and decodes the answer into v, which may be nil. The
// run is parked while it waits. A failed callback is a *CallbackError; an answer that does not
// decode is a *MessageError. With WaitAtMost, each heartbeat restarts the time limit; see
// Client.HeartbeatCallback.
func (c *Callback) Wait(run *Run, v any, opts ...WaitOption) error {
	limit, err := limitOf(opts)
	if err != nil {
		return err
	}
	var decode func([]byte) error
	if v != nil {
		decode = func(data []byte) error { return decodeAnswer(v, data) }
	}
	msg, err := run.strand.AwaitCallback(c.callback, limit, decode)
	if err != nil {
		return waited("callback", c.name, err)
	}
	if msg.Kind == store.MessageCallbackFailed {
		return &CallbackError{msg.Error}
	}
	return nil
}

func decodeAnswer(v any, data []byte) error {
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("into %T: %w", v, err)
	}
	return nil
}

func (c *Callback) awaitable() await.Thing {
	if c == nil {
		return nil
	}
	return c.callback
}

func (c *Callback) chosen() error { //nolint:unparam // as Awaitable wants it
	c.message = c.callback.Answer()
	return nil
}

// Result decodes the answer to the callback, once Select has chosen it, into v, which may be nil. A
// failed callback is a *CallbackError. The error is ErrInvalid if no Select has chosen it, or the
// answer does not decode.
func (c *Callback) Result(v any) error {
	if c.message == nil {
		return invalid("callback", "no answer yet: no Select has chosen it")
	}
	if c.message.Kind == store.MessageCallbackFailed {
		return &CallbackError{c.message.Error}
	}
	data, err := journal.Unpack(c.message.Data, c.message.Codec)
	if err != nil || v == nil {
		return err
	}
	if err := decodeAnswer(v, data); err != nil {
		return invalid("callback", "cannot decode its answer %v", err)
	}
	return nil
}

// CompleteCallback answers a callback with a value. The errors are: ErrInvalid for an invalid
// token, such as one that was cut off, and for a value that does not encode or is too large;
// ErrNotFound for a token that no journal holds (any more), such as one that was mistyped;
// ErrConflict for a callback that was already answered or whose job has finished.
func (c *Client) CompleteCallback(ctx context.Context, token string, v any) error {
	data, err := encode("callback", v)
	if err != nil {
		return err
	}
	return c.answer(ctx, token, store.Message{Kind: store.MessageCallback}, data)
}

// FailCallback answers a callback with a failure. The errors are those of CompleteCallback.
func (c *Client) FailCallback(ctx context.Context, token, message string) error {
	return c.answer(ctx, token, store.Message{Kind: store.MessageCallbackFailed, Error: message}, nil)
}

// HeartbeatCallback reports that work on a callback continues: it restarts the time limit of
// WaitAtMost. It wakes no job: when the time is over, the job looks whether there were heartbeats.
// Each is kept with the job until that is removed, so of those within one second only the first
// counts, and the others are answered as it was, though the callback may have been answered since.
// Otherwise the errors are those of CompleteCallback.
func (c *Client) HeartbeatCallback(ctx context.Context, token string) error {
	return c.answer(ctx, token, store.Message{Kind: store.MessageHeartbeat}, nil)
}

func (c *Client) answer(ctx context.Context, token string, msg store.Message, data []byte) error {
	job, err := journal.JobOfToken(token)
	if err != nil {
		return err
	}
	msg.Name = token
	send := &store.Send{Namespace: c.namespace, Job: job, Message: msg}
	if msg.Kind == store.MessageHeartbeat {
		send.Key = fmt.Sprintf("heartbeat %s %d", token, c.engine.Store.Now().Unix())
	}
	if err := c.payload(send, "callback", data); err != nil {
		return err
	}
	_, err = c.send(ctx, send)
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w (it may have arrived; sending it again is safe)", err)
	}
	return err
}
