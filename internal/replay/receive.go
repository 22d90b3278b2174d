package replay

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
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

// receiver is an Awaitable that a message answers.
type receiver interface {
	Awaitable
	// message is the one that answers it, or nil.
	message(m *replayState) *store.Message
	set(msg *store.Message)
	decode(msg *store.Message) func(data []byte) error // nil: it is not decoded
	failed(problem *MessageError)                      // names what did not decode
}

// receive waits for a message, with a time limit or without.
func (s *Strand) receive(
	m *replayState, path, name string, entries []*store.Entry, r receiver, limit Limit,
) (*store.Message, error) {
	for _, e := range entries {
		switch e.Kind {
		case store.EntryReceived:
			return s.receivedBefore(m, r, e)
		case store.EntryTimeout:
			return nil, ErrWaitTimeout
		default: // the timer
		}
	}
	if m.closed != nil {
		if err := s.decides(m); err != nil {
			return nil, err
		}
	}
	if !limit.Set {
		if err := s.waitFor(m, r); err != nil {
			return nil, err
		}
		return s.take(m, r, path, nil)
	}
	at := limit.Until
	if !r.ready(m, time.Time{}) {
		if err := s.mayBegin(m); err != nil {
			return nil, err
		}
		var err error
		switch {
		case !at.IsZero():
			err = (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID)
		case limit.Within <= 0:
			if err = m.refresh(); err == nil && !r.ready(m, time.Time{}) {
				m.add(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
				err = ErrWaitTimeout
			}
		default:
			at, err = s.begun(m, path, name, entries, limit)
		}
		if err != nil {
			return nil, err
		}
	}
	now := s.run.host.Now
	err := s.await(m, func() bool { return r.ready(m, now()) || !now().Before(at) }, func() blockedOn {
		p := r.pause(m)
		p.until = at
		return p
	})
	if err != nil {
		return nil, err
	}
	if r.ready(m, now()) {
		return s.take(m, r, path, nil)
	}
	m.add(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
	return nil, ErrWaitTimeout
}

// take receives the message that answers a wait, and notes it at the path of the wait, after the
// choice that it is of, if any.
func (s *Strand) take(m *replayState, r receiver, path string, choice *store.Entry) (*store.Message, error) {
	msg := r.message(m)
	e := store.Entry{Kind: store.EntryReceived, Path: path, Ref: msg.Seq}
	if msg.Kind == store.MessageSignal {
		e.Name = msg.Name
	}
	put(&m.taken, msg.Seq, true) // by no other strand, while it is decoded
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
	e.Data = journal.Encode(journal.Problem{Problem: problem})
	m.add(e)
	return nil, s.undecoded(r, msg, problem)
}

// receivedBefore gives a wait what the journal says that it received.
func (s *Strand) receivedBefore(m *replayState, r receiver, e *store.Entry) (*store.Message, error) {
	msg := m.message(e.Ref)
	if msg == nil {
		return nil, fmt.Errorf("%w: message %d, received by entry %d of the journal", store.ErrNotFound, e.Ref, e.Seq)
	}
	if len(e.Data) > 0 {
		var p journal.Problem
		if err := journal.Decode(e, &p); err != nil {
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

// decoded decodes a message without the state's lock, since that is the user's code, and returns
// why it does not decode. An error is that of a message which this program cannot even unpack;
// another one may.
func decoded(m *replayState, r receiver, msg *store.Message) (problem string, err error) {
	decode := r.decode(msg)
	if decode == nil {
		return "", nil
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	data, err := journal.Unpack(msg.Data, msg.Codec)
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
