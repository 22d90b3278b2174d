package replay

import (
	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// OpenCallback makes a token that an outside system can answer to. It is durable when this returns,
// and so are the rules for its answer, if there are any: those of the code count when it is made,
// and never again. If they are refused, none is made.
func (s *Strand) OpenCallback(name string, rules *journal.Rules, refused error) (*await.Callback, error) {
	m, err := s.begin("run.Callback", name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	// The token is the entry's name; what the code says is in its data.
	for _, e := range m.At(path) {
		if e.Kind != store.EntryCallback {
			continue
		}
		m.visit(path)
		return &await.Callback{Token: e.Name, Name: name, By: s.run}, nil
	}
	s.at(m, path, "", store.EntryCallback)
	if refused != nil {
		return nil, refused
	}
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	token := journal.NewToken(s.run.claimed.Job.ID)
	data := journal.Encode(journal.Callback{Name: name, Rules: rules})
	m.Record(store.Entry{Kind: store.EntryCallback, Path: path, Name: token, Data: data})
	m.flush()
	return &await.Callback{Token: token, Name: name, By: s.run}, nil
}

// AwaitCallback waits for the answer to a callback, and decodes what it was completed with, unless
// decode is nil. A heartbeat lets the time limit start over.
func (s *Strand) AwaitCallback(c *await.Callback, limit await.Limit, decode func([]byte) error) (*store.Message, error) {
	m, err := s.begin("Callback.Wait", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	if err := s.own(m, c); err != nil {
		return nil, err
	}
	path, entries, err := s.arrive(m, "", store.EntryReceived, store.EntryTimer, store.EntryTimeout)
	if err != nil {
		return nil, err
	}
	return s.receive(m, path, "", entries, &await.DecodedCallback{Callback: c, Decode: decode}, limit)
}
