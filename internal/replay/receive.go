package replay

import (
	"fmt"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// MessageError is the error of a wait whose message does not decode into what the code wants. It is
// a store.ErrInvalid, and the same one when the run is replayed, whatever the code could decode by
// then. Who goes on from it has received the message. If the attempt fails with it, the message is
// refused: the next attempt does not get it again, so that no message stops a run for good.
type MessageError struct {
	Job      store.ID
	Message  int64  // its number among the messages of the job
	Signal   string // its name; "" for the answer to a callback
	Callback string // the name of the callback; "" for a signal
	Problem  string // why it does not decode
}

func (e *MessageError) Error() string {
	what := fmt.Sprintf("signal %q", e.Signal)
	if e.Callback != "" {
		what = fmt.Sprintf("answer to callback %q", e.Callback)
	}
	return fmt.Sprintf("%v: job %s: cannot decode message %d (%s): %s", store.ErrInvalid, e.Job, e.Message, what, e.Problem)
}

// Unwrap makes the error an ErrInvalid.
func (e *MessageError) Unwrap() error { return store.ErrInvalid }

// problemData is the data of an EntryReceived whose message did not decode.
type problemData struct {
	Problem string `json:"problem"`
}

// receiver is an Awaitable that a message answers.
type receiver interface {
	Awaitable
	// message is the one that answers it, or nil.
	message(m *memory) *store.Message
	set(msg *store.Message)
	decode(msg *store.Message) func(data []byte) error // nil: it is not decoded
	failed(problem *MessageError)                      // names what did not decode
}

func (g *Signal) set(msg *store.Message) { g.got = msg }

func (g *Signal) decode(*store.Message) func([]byte) error { return g.Decode }

func (g *Signal) failed(problem *MessageError) { problem.Signal = g.Name }

func (c *Callback) set(msg *store.Message) { c.got = msg }

func (*Callback) decode(*store.Message) func([]byte) error { return nil } // a choice is decoded by who asks for its result

func (c *Callback) failed(problem *MessageError) { problem.Callback = c.name }

// callbackWait is a wait for one callback.
type callbackWait struct {
	*Callback

	into func([]byte) error
}

func (w *callbackWait) decode(msg *store.Message) func([]byte) error {
	if msg.Kind == store.MessageCallbackFailed {
		return nil // there is nothing to decode
	}
	return w.into
}

// take receives the message that answers a wait, and notes it at the path of the wait, after the
// choice that it is of, if any.
func (s *Strand) take(m *memory, r receiver, path string, choice *store.Entry) (*store.Message, error) {
	msg := r.message(m)
	e := store.Entry{Kind: store.EntryReceived, Path: path, Ref: msg.Seq}
	if msg.Kind == store.MessageSignal {
		e.Name = msg.Name
	}
	put(&m.taken, msg.Seq, true) // by nobody else, while it is decoded
	problem, err := decoded(m, r, msg)
	if err != nil {
		delete(m.taken, msg.Seq)
		return nil, err
	}
	if m.exiting {
		m.exit()
	}
	if choice != nil {
		m.add(*choice)
	}
	r.set(msg)
	if problem == "" {
		m.add(e)
		return msg, nil
	}
	e.Data = encodeEntry(problemData{problem})
	m.add(e)
	return nil, s.undecoded(r, msg, problem)
}

// receivedBefore gives a wait what the journal says that it received.
func (s *Strand) receivedBefore(m *memory, r receiver, e *store.Entry) (*store.Message, error) {
	msg := m.message(e.Ref)
	if msg == nil {
		return nil, fmt.Errorf("%w: message %d, received by entry %d of the journal", store.ErrNotFound, e.Ref, e.Seq)
	}
	if len(e.Data) > 0 {
		var p problemData
		if err := decodeEntry(e, &p); err != nil {
			return nil, err
		}
		return nil, s.undecoded(r, msg, p.Problem)
	}
	problem, err := decoded(m, r, msg)
	switch {
	case err != nil:
		return nil, err
	case m.exiting:
		m.exit()
	case problem != "": // of code that could decode it once
		return nil, s.undecoded(r, msg, problem)
	}
	r.set(msg)
	return msg, nil
}

func (s *Strand) undecoded(r receiver, msg *store.Message, problem string) error {
	e := &MessageError{Job: s.run.claimed.Job.ID, Message: msg.Seq, Problem: problem}
	r.failed(e)
	return e
}

// decoded decodes a message without the memory's lock, since that is the user's code, and returns
// why it does not decode. An error is that of a message which this program cannot even unpack;
// another one may.
func decoded(m *memory, r receiver, msg *store.Message) (problem string, err error) {
	decode := r.decode(msg)
	if decode == nil {
		return "", nil
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	data, err := Unpack(msg.Data, msg.Codec)
	if err != nil {
		return "", err
	}
	defer func() {
		if p := recover(); p != nil {
			problem = usercode.Cut(fmt.Sprintf("panic: %v", p), usercode.MaxMessage)
		}
	}()
	if err := decode(data); err != nil {
		problem = usercode.Cut(err.Error(), usercode.MaxMessage)
		if problem == "" {
			problem = "the decoder returned an error without text"
		}
	}
	return problem, nil
}

// refusals are what remains of the entries that are to be stored when an attempt has failed: the
// signals that did not decode are received all the same, at no place in the code, so that the next
// attempt waits for the next one. Otherwise it would fail at the same one, again and again.
func (m *memory) refusals(o *store.Outcome) []store.Entry {
	if o.State != store.Retryable || m.tx != nil || m.unwritten || m.fault.err != nil {
		return nil
	}
	var refused []store.Entry
	for _, e := range m.pending {
		if isRefused(&e) {
			refused = append(refused, refusal(e))
		}
	}
	return refused
}

// isRefused reports whether an entry that is to be stored is that of a signal which did not decode.
func isRefused(e *store.Entry) bool {
	return e.Kind == store.EntryReceived && len(e.Data) > 0 && e.Name != ""
}

// refusal is an entry that says of a signal only that nobody is to receive it any more.
func refusal(e store.Entry) store.Entry {
	e.Path = ""
	return e
}

// ProblemOf tells why the message did not decode that an entry has received, or "" if it did.
func ProblemOf(e *store.Entry) (string, error) {
	if e.Kind != store.EntryReceived || len(e.Data) == 0 {
		return "", nil
	}
	var p problemData
	err := decodeEntry(e, &p)
	return p.Problem, err
}
