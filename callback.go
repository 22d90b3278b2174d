package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// Callback is an answer that the run expects from an outside system, which is given the Token: whoever has it may
// complete or fail the callback, once.
type Callback struct {
	Token    string // unguessable; durable before Run.Callback returns, and the same on every replay
	callback *engine.Callback
	message  *store.Message
}

// Callback makes a callback. The name is for people.
func (r *Run) Callback(name string) (*Callback, error) {
	if err := checkName("callback", name); err != nil {
		return nil, err
	}
	c, err := r.strand.OpenCallback(name)
	if err != nil {
		return nil, err
	}
	return &Callback{Token: c.Token, callback: c}, nil
}

// CallbackError is what waiting for a callback returns that was failed.
type CallbackError struct{ Message string }

func (e *CallbackError) Error() string { return "callback failed: " + e.Message }

// Wait waits until the callback is completed, and decodes what it was completed with into v, which may be nil. The run
// is parked meanwhile. A failed one is a *CallbackError. With Within, each heartbeat begins the time limit anew.
func (c *Callback) Wait(run *Run, v any, opts ...WaitOption) error {
	limit, err := limitOf(opts)
	if err != nil {
		return err
	}
	msg, err := run.strand.AwaitCallback(c.callback, limit)
	if err != nil {
		return err
	}
	return c.take(msg, v)
}

func (c *Callback) take(msg *store.Message, v any) error {
	if msg.Kind == store.MessageCallbackFailed {
		return &CallbackError{msg.Error}
	}
	data, err := engine.Unpack(msg.Data, msg.Codec)
	if err != nil || v == nil || data == nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("what the callback was completed with does not decode into %T: %w", v, err)
	}
	return nil
}

func (c *Callback) awaitable() engine.Awaitable { return c.callback }

func (c *Callback) chosen() error { //nolint:unparam // as Awaitable wants it
	c.message = c.callback.Answer()
	return nil
}

// Result decodes what the callback was completed with, once Select has chosen it.
func (c *Callback) Result(v any) error {
	if c.message == nil {
		return invalid("callback", "it was not chosen by a Select")
	}
	return c.take(c.message, v)
}

// CompleteCallback answers a callback with a value. The errors are ErrNotFound for a token that no journal holds (any
// more), and ErrConflict for a callback that was answered already or whose job has finished.
func (c *Client) CompleteCallback(ctx context.Context, token string, v any) error {
	data, err := encode(v)
	if err != nil {
		return invalid("callback", "a %T does not encode: %v", v, err)
	}
	return c.answer(ctx, token, store.Message{Kind: store.MessageCallback}, data)
}

// FailCallback answers a callback with a failure.
func (c *Client) FailCallback(ctx context.Context, token, message string) error {
	return c.answer(ctx, token, store.Message{Kind: store.MessageCallbackFailed, Error: message}, nil)
}

// HeartbeatCallback tells that a callback is still worked on.
func (c *Client) HeartbeatCallback(ctx context.Context, token string) error {
	return c.answer(ctx, token, store.Message{Kind: store.MessageHeartbeat}, nil)
}

func (c *Client) answer(ctx context.Context, token string, msg store.Message, data []byte) error {
	job, err := engine.JobOfToken(token)
	if err != nil {
		return err
	}
	msg.Name = token
	send := &store.Send{Job: job, Message: msg}
	if err := c.payload(send, "callback", data); err != nil {
		return err
	}
	_, err = c.send(ctx, send)
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w (it may have arrived; sending it again is safe)", err)
	}
	return err
}
