package entries

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Made is what entries of a request become, and where each operation stands in the request.
type Made struct {
	Entries  []store.Entry
	Children []*store.Enqueue // in the order of their entries
	Signals  []*store.Send

	childAt, signalAt []string
}

// Maker makes entries of the runs of a job.
type Maker struct {
	Call *api.Call // whose client is that of the job's namespace
	Job  store.ID
	Now  time.Time // by the clock of the store
}

// Make makes the entries of a request, the first of which has the number after + 1. at is where
// they are in the request; the error tells which of them is wrong, and how.
func (m *Maker) Make(ctx context.Context, at string, list []RunEntry, after int64) (*Made, error) {
	made := &Made{Entries: make([]store.Entry, 0, len(list))}
	for i := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		e, err := m.one(ctx, here, &list[i], made)
		if err != nil {
			return nil, err
		}
		e.Seq = after + int64(i) + 1
		made.Entries = append(made.Entries, e)
	}
	return made, nil
}

func (m *Maker) one(ctx context.Context, at string, from *RunEntry, made *Made) (e store.Entry, err error) {
	kind, known := journal.EntryOf(from.Kind)
	s, may := shapes[kind]
	if !known || !may {
		return e, problem.Invalid(at+"/kind", fmt.Sprintf("workers write no entries of the kind %q", from.Kind))
	}
	if err := s.check(at, from); err != nil {
		return e, err
	}
	data, err := from.data(at, kind, m.Now)
	if err != nil {
		return e, err
	}
	e = store.Entry{Kind: kind, Path: from.Path, Name: from.Name, Ref: from.Message, Took: max(time.Duration(from.Took), 0)}
	switch {
	case kind == store.EntryChild:
		data, err = m.child(ctx, at, from, made)
	case kind == store.EntryCallback:
		e.Name = journal.NewToken(m.Job)
	case from.Signal != nil:
		err = m.signal(at+"/signal", from.Signal, made)
	}
	e.Data, e.Codec = journal.Pack(data)
	return e, err
}

var closes = map[string]store.ClosePolicy{
	"": store.CancelChild, "cancel": store.CancelChild, "abandon": store.AbandonChild, "terminate": store.TerminateChild,
}

// child makes the job of an entry, and returns the data of the entry.
func (m *Maker) child(ctx context.Context, at string, from *RunEntry, made *Made) ([]byte, error) {
	job := from.Job
	if job.Kind != from.Name {
		return nil, problem.Invalid(at+"/name", fmt.Sprintf("it is not the kind of the job, %q", job.Kind))
	}
	item, err := job.Item(m.Call, at+"/job")
	if err != nil {
		return nil, err
	}
	e, err := access.Child(ctx, m.Call.Client, item)
	if err == nil {
		e.Job.Parent, e.Job.OnParentClose = m.Job, closes[from.OnClose]
		err = e.Job.Check()
	}
	if err != nil {
		return nil, problem.At(at+"/job", err)
	}
	made.Children, made.childAt = append(made.Children, e), append(made.childAt, at+"/job")
	return journal.Encode(journal.Child{ID: e.Job.ID.String(), OnClose: e.Job.OnParentClose, Answers: e.Job.Answers}), nil
}

func (m *Maker) signal(at string, from *RunSignal, made *Made) error {
	if err := valid.Name("signal", from.Name); err != nil {
		return problem.At(at+"/name", err)
	}
	if err := valid.Name("key", from.DedupKey); err != nil {
		return problem.At(at+"/dedup_key", err)
	}
	send := &store.Send{
		Namespace: m.Call.Client.Namespace(), Job: store.ID(from.Job), Key: from.DedupKey,
		Message: store.Message{Kind: store.MessageSignal, Name: from.Name},
	}
	if len(from.Payload) > 0 {
		if err := valid.JSON("payload", from.Payload, MaxData); err != nil {
			return problem.At(at+"/payload", err)
		}
		send.Message.Data, send.Message.Codec = journal.Pack(from.Payload)
	}
	made.Signals, made.signalAt = append(made.Signals, send), append(made.signalAt, at)
	return nil
}

// Refused is why a child or a signal has kept the entries from being stored, or nil.
func (m *Made) Refused() error {
	for i, e := range m.Children {
		if e.Err != nil {
			return refusedAt(m.childAt[i], e.Err)
		}
	}
	for i, q := range m.Signals {
		if q.Err != nil {
			return refusedAt(m.signalAt[i], q.Err)
		}
	}
	return nil
}

// refusedAt is the problem of an error, with where in the request it is.
func refusedAt(at string, err error) error {
	p := *problem.Of(err)
	p.Errors = []problem.Field{{Pointer: at, Detail: p.Detail}}
	return &p
}
