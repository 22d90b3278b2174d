package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Signal is a named kind of message to a job, with a payload of type T. A job receives the signals
// of a name in the order in which they were sent, each once. A signal sent before the wait for it,
// or before the job has started, is not lost.
type Signal[T any] struct {
	name string
	err  error
}

// NewSignal names a signal. Signals can be package variables, because a wrong name is reported at
// the first use of the signal.
func NewSignal[T any](name string) Signal[T] { return Signal[T]{name, checkName("signal", name)} }

// Name returns the signal's name.
func (s Signal[T]) Name() string { return s.name }

// Wait waits for the next signal. The run is parked while it waits. With a time limit it may return
// ErrWaitTimeout; which of the two came first is decided once. If the signal does not decode into
// T, the error is a *MessageError, which explains the consequences.
func (s Signal[T]) Wait(run *Run, opts ...WaitOption) (T, error) {
	var out T
	limit, err := limitOf(opts)
	if err = errors.Join(s.err, err); err != nil {
		return out, err
	}
	_, err = run.strand.Receive(s.waitInto(&out), limit)
	return out, waited("signal", s.name, err)
}

// waitInto returns a wait that decodes its signal into v.
func (s Signal[T]) waitInto(v *T) *await.Signal {
	return &await.Signal{Name: s.name, Decode: func(data []byte) error { return decodeInto(v, data) }}
}

// decodeInto decodes a payload, if there is one, and leaves v unchanged if that fails.
func decodeInto[T any](v *T, data []byte) error {
	var decoded T
	if data != nil {
		if err := json.Unmarshal(data, &decoded); err != nil {
			return fmt.Errorf("into %T: %w", decoded, err)
		}
	}
	*v = decoded
	return nil
}

// TryReceive returns the next signal if it has arrived; ok is false if none has. One that does not
// decode into T is a *MessageError.
func (s Signal[T]) TryReceive(run *Run) (value T, ok bool, err error) {
	if s.err != nil {
		return value, false, s.err
	}
	msg, err := run.strand.TryReceive(s.waitInto(&value))
	return value, msg != nil && err == nil, failure(err)
}

// Into returns the wait for the next signal for use in Select. If Select chooses it, the signal is
// put into v.
func (s Signal[T]) Into(v *T) Waitable { return signalInto{s.waitInto(v)} }

type signalInto struct{ wait *await.Signal }

func (i signalInto) awaitable() await.Thing { return i.wait }

func (signalInto) chosen() error { return nil }

// SendOption is a setting of Send.
type SendOption func(*store.Send) error

// DedupKey gives the message a key, of 1 to 200 bytes. Only the first message with a key arrives at
// a job, so a send whose answer was lost can be repeated: as long as that message is kept, which is
// until the job is removed, or has received it and continued as new.
func DedupKey(key string) SendOption {
	return func(s *store.Send) error {
		s.Key = key
		return checkName("key", key)
	}
}

// SendResult is a message that has arrived.
type SendResult struct {
	// Job is the job that it was sent to.
	Job ID
	// Started reports that SendOrStart has enqueued the job; Differs, that the job which holds the
	// key was enqueued with other args.
	Started, Differs bool
	// Message is its number among the messages of the job.
	Message int64
	// Duplicate reports that nothing was sent, because the job already had a message with this key:
	// the one with this number, from another send or an earlier try of this one.
	Duplicate bool
}

// Send sends the signal to a job and returns when it is durable. The errors are ErrInvalid,
// ErrNotFound, ErrConflict for a finished job, and ErrUnavailable: it may have arrived, and sending
// it again with the same DedupKey is safe.
func (s Signal[T]) Send(ctx context.Context, c *Client, job ID, v T, opts ...SendOption) (SendResult, error) {
	send, err := s.build(c, job, v, opts)
	if err != nil {
		return SendResult{}, err
	}
	return c.send(ctx, send)
}

// SendTx sends the signal in the caller's own transaction, wrapped by sqlite.Tx, postgres.Tx or
// postgres.SQLTx: it arrives if and when that commits. Until then it keeps the job, so that who
// else needs it waits or gets ErrBusy. The errors are ErrInvalid, ErrNotFound, and ErrConflict for
// a finished job, after which the transaction can go on; after any other roll it back.
func (s Signal[T]) SendTx(ctx context.Context, c *Client, tx store.Tx, job ID, v T, opts ...SendOption) (SendResult, error) {
	send, err := s.build(c, job, v, opts)
	if err != nil {
		return SendResult{}, err
	}
	if err := c.checkTx(tx); err != nil {
		return SendResult{}, err
	}
	c.carry(ctx, send)
	if err := c.engine.Store.SendTx(ctx, tx, []*store.Send{send}); err != nil {
		return SendResult{}, store.About(job, "sending signal "+s.name+" to", err)
	}
	return sent(send)
}

// SendFrom sends the signal from a run, as a step of it: it arrives once, even if the run is
// repeated. The errors of Send are those of the step, a *StepError.
func (s Signal[T]) SendFrom(run *Run, job ID, v T) error {
	key, err := run.strand.UUID("Signal.SendFrom", s.name)
	if err != nil {
		return err
	}
	_, err = Step(run, "signal "+s.name, func(ctx context.Context) (struct{}, error) {
		_, err := s.Send(ctx, run.client, job, v, DedupKey("run "+run.ID().String()+" "+key.String()))
		return struct{}{}, err
	})
	return err
}

func (s Signal[T]) build(c *Client, job ID, v T, opts []SendOption) (*store.Send, error) {
	if s.err != nil {
		return nil, s.err
	}
	data, err := encode("signal "+s.name, v)
	if err != nil {
		return nil, err
	}
	return c.signal(job, s.name, data, opts)
}

// SendSignal does the same as Signal.Send with a payload that is already JSON, for programs that do
// not know its type.
func (c *Client) SendSignal(ctx context.Context, job ID, name string, payload json.RawMessage, opts ...SendOption) (SendResult, error) {
	if err := checkName("signal", name); err != nil {
		return SendResult{}, err
	}
	send, err := c.signal(job, name, payload, opts)
	if err != nil {
		return SendResult{}, err
	}
	return c.send(ctx, send)
}

func (c *Client) signal(job ID, name string, data []byte, opts []SendOption) (*store.Send, error) {
	send := &store.Send{Namespace: c.namespace, Job: job, Message: store.Message{Kind: store.MessageSignal, Name: name}}
	return send, c.message(send, "signal "+name, data, opts)
}

// message sets the payload of a message, and what the options say.
func (c *Client) message(send *store.Send, what string, data []byte, opts []SendOption) error {
	if err := c.payload(send, what, data); err != nil {
		return err
	}
	for _, opt := range opts {
		if opt == nil {
			return errNoOption
		}
		if err := opt(send); err != nil {
			return err
		}
	}
	return nil
}

// payload sets the payload of a message.
func (c *Client) payload(send *store.Send, what string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := checkJSON(what, data, c.limit); err != nil {
		return err
	}
	send.Message.Data, send.Message.Codec = journal.Pack(data)
	return nil
}

// carry gives a message the trace in which it is sent. A heartbeat of a callback has none, as no
// run receives it.
func (c *Client) carry(ctx context.Context, send *store.Send) {
	if send.Message.Kind == store.MessageHeartbeat {
		return
	}
	parent, _ := access.TraceOf(ctx)
	if parent == "" && c.traceOf != nil {
		parent = c.traceOf(ctx)
	}
	send.Message.TraceParent = parent
}

func (c *Client) send(ctx context.Context, send *store.Send) (SendResult, error) {
	c.carry(ctx, send)
	r, ctx := asked.Take(ctx)
	var err error
	if r == nil {
		err = c.engine.Send(ctx, []*store.Send{send})
	} else {
		err = r.Send(ctx, c.engine.Ask, send)
	}
	if err != nil {
		return SendResult{}, store.About(send.Job, "sending to", err)
	}
	return sent(send)
}

func sent(send *store.Send) (SendResult, error) {
	if send.Err != nil {
		return SendResult{}, store.About(send.Job, "sending to", send.Err)
	}
	return SendResult{Job: send.Job, Message: send.Result.Seq, Duplicate: send.Result.Duplicate}, nil
}

func decodeMessage[T any](what string, msg *store.Message) (T, error) {
	data, err := journal.Unpack(msg.Data, msg.Codec)
	if err != nil {
		var none T
		return none, err
	}
	var out T
	if data == nil {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("cannot decode the payload of %s (message %d) into %T: %w", what, msg.Seq, out, err)
	}
	return out, nil
}
