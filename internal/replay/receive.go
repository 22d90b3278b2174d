package replay

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// receive waits for a message, with a time limit or without.
func (s *Strand) receive(
	m *replayState, path, name string, entries []*store.Entry, r await.Receiver, limit await.Limit,
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
	if m.Closed != nil {
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
	if !r.IsReady(&m.Memory, time.Time{}) {
		if err := s.mayBegin(m); err != nil {
			return nil, err
		}
		var err error
		switch {
		case !at.IsZero():
			err = (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID)
		case limit.Within <= 0:
			if err = m.refresh(); err == nil && !r.IsReady(&m.Memory, time.Time{}) {
				m.Record(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
				err = ErrWaitTimeout
			}
		default:
			at, err = s.begun(m, path, name, entries, limit)
			if later := beaten(m, r, limit); later.After(at) {
				at = later
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.receiveBy(m, r, at, limit); err != nil {
		return nil, err
	}
	if r.IsReady(&m.Memory, s.run.host.Now()) {
		return s.take(m, r, path, nil)
	}
	m.Record(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
	return nil, ErrWaitTimeout
}

// receiveBy waits until there is a message, or the time is over. Heartbeats of a callback wake no
// run: whether some let the time start over is seen when it is over.
func (s *Strand) receiveBy(m *replayState, r await.Receiver, at time.Time, limit await.Limit) error {
	now := s.run.host.Now
	for {
		err := s.await(m, func() bool { return r.IsReady(&m.Memory, now()) || !now().Before(at) }, func() blocked.On {
			p := r.Blocked()
			p.Until = at
			return p
		})
		if err != nil || r.IsReady(&m.Memory, now()) || beating(r, limit) == nil {
			return err
		}
		if err := m.refresh(); err != nil {
			return err
		}
		later := beaten(m, r, limit)
		if !later.After(at) {
			return nil
		}
		at = later
	}
}

// beating returns the callback whose heartbeats let the time of a wait start over, or nil.
func beating(r await.Receiver, limit await.Limit) *await.DecodedCallback {
	if !limit.Set || !limit.Until.IsZero() {
		return nil
	}
	c, _ := r.(*await.DecodedCallback)
	return c
}

// beaten is when the time of a wait is over by the last heartbeat of its callback, or zero.
func beaten(m *replayState, r await.Receiver, limit await.Limit) time.Time {
	c := beating(r, limit)
	if c == nil {
		return time.Time{}
	}
	beat := m.Heartbeat(c.Token)
	if beat == nil {
		return time.Time{}
	}
	return beat.At.Add(limit.Within)
}

// take receives the message that answers a wait, and notes it at the path of the wait, after the
// choice that it is of, if any.
func (s *Strand) take(m *replayState, r await.Receiver, path string, choice *store.Entry) (*store.Message, error) {
	msg := r.Message(&m.Memory)
	e := store.Entry{Kind: store.EntryReceived, Path: path, Ref: msg.Seq}
	if msg.Kind == store.MessageSignal {
		e.Name = msg.Name
	}
	m.Take(msg.Seq) // by no other strand, while it is decoded
	problem, err := s.decoded(m, r, msg)
	if err != nil {
		m.PutBack(msg.Seq)
		return nil, err
	}
	if m.exiting {
		m.exit()
	}
	if choice != nil {
		m.Record(*choice)
	}
	r.Receive(msg)
	if msg.TraceParent != "" {
		s.run.senders.note(msg.TraceParent)
	}
	if problem == "" {
		m.Record(e)
		return msg, nil
	}
	e.Data = journal.Encode(journal.Problem{Problem: problem})
	m.Record(e)
	return nil, s.undecoded(r, msg, problem)
}

// receivedBefore gives a wait what the journal says that it received.
func (s *Strand) receivedBefore(m *replayState, r await.Receiver, e *store.Entry) (*store.Message, error) {
	msg := m.Message(e.Ref)
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
	problem, err := s.decoded(m, r, msg)
	switch {
	case err != nil:
		return nil, err
	case m.exiting:
		m.exit()
	case problem != "": // of code that could decode it once
		return nil, s.undecoded(r, msg, problem)
	}
	r.Receive(msg)
	return msg, nil
}

func (s *Strand) undecoded(r await.Receiver, msg *store.Message, problem string) error {
	e := &usercode.MessageError{Job: s.run.claimed.Job.ID, Message: msg.Seq, Problem: problem}
	r.Failed(e)
	return e
}

// decoded decodes a message without the state's lock, since that is the user's code, and returns
// why it does not decode. An error is that of a message which this program cannot even unpack;
// another one may.
func (s *Strand) decoded(m *replayState, r await.Receiver, msg *store.Message) (problem string, err error) {
	decode := r.Decoder(msg)
	if decode == nil {
		return "", nil
	}
	s.hold(m) // it writes where a condition may look
	m.Code()
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.operate(s) }()
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
