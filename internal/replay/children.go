package replay

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// StartChild enqueues a child, in the transaction that remembers it, unless the journal knows it.
func (s *Strand) StartChild(kind string, build func() (*store.Enqueue, error)) (*await.Child, error) {
	m, err := s.begin("Kind.Start", kind)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	child, err := s.child(m, path, kind, build)
	if err != nil {
		return nil, err
	}
	m.flush()
	return child, nil
}

// child returns the child at a path; a new one is enqueued with the next write.
func (s *Strand) child(m *replayState, path, kind string, build func() (*store.Enqueue, error)) (*await.Child, error) {
	for _, e := range s.at(m, path, kind, store.EntryChild, store.EntryReceived) {
		if e.Kind != store.EntryChild {
			continue
		}
		var data journal.Child
		if err := journal.Decode(e, &data); err != nil {
			return nil, err
		}
		id, err := uuid.Parse(data.ID)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the journal has no valid job id: %w", e.Seq, err)
		}
		return &await.Child{ID: id, Kind: kind, Path: path, By: s.run}, nil
	}
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	s.refused = &usercode.ErrGoexit // or it panics
	e, err := unlocked(m, build)    // args encode as the user's code says
	if m.exiting {
		m.exit()
	}
	if err == nil {
		err = s.ruined()
	}
	if err == nil {
		e.Job.Parent = s.run.claimed.Job.ID
		err = e.Job.Check()
	}
	if err != nil {
		why := err
		s.refused = &why
		return nil, err
	}
	s.refused = nil
	m.Record(store.Entry{Kind: store.EntryChild, Path: path, Name: kind, Data: journal.Encode(journal.Child{
		ID: e.Job.ID.String(), OnClose: e.Job.OnParentClose, Answers: e.Job.Answers,
	})})
	m.Enqueue(e)
	return &await.Child{ID: e.Job.ID, Kind: kind, Path: path, By: s.run}, nil
}

// AwaitChild waits until a child has finished, and returns its answer. That a child failed is
// remembered, since a person may let it run again.
func (s *Strand) AwaitChild(c *await.Child) (*store.Message, error) {
	m, err := s.begin("Child.Await", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	if err := s.own(m, c); err != nil {
		return nil, err
	}
	return s.answer(m, c)
}

// answer waits for a child's answer.
func (s *Strand) answer(m *replayState, c *await.Child) (*store.Message, error) {
	if err := s.arriveUnplaced(m); err != nil {
		return nil, err
	}
	if msg := m.Settled(c.Path); msg != nil {
		return msg, nil
	}
	if err := s.waitFor(m, c); err != nil {
		return nil, err
	}
	msg := m.Answer(c.ID)
	if msg.State != store.Completed {
		m.Record(store.Entry{Kind: store.EntryReceived, Path: c.Path, Ref: msg.Seq})
	}
	return msg, nil
}

// fanOutBatch is how many children are enqueued in one write.
const fanOutBatch = 500

// StartChildren enqueues n children of a kind and waits for them. The answers are in the order of
// the children; nil: it was not waited for. The run sleeps meanwhile: it is woken when half of
// those that may run at once have finished, or all, and not for each.
func (s *Strand) StartChildren(
	kind string, n int, build func(i int) (*store.Enqueue, error), how await.FanOut,
) ([]*await.Child, []*store.Message, error) {
	m, err := s.begin(misuse.VerbCallAll, kind)
	if err != nil {
		return nil, nil, err
	}
	defer s.end(m)
	c := await.NewChildren(kind, s.reserve(), n, how)
	err = s.fanOut(m, c, build)
	return c.All, c.Answers, err
}

// fanOut runs the children, or takes up what was decided about them.
func (s *Strand) fanOut(m *replayState, c *await.Children, build func(i int) (*store.Enqueue, error)) error {
	m.visit(c.Path)
	if err := s.recall(m); err != nil {
		return err
	}
	if m.At(c.Path) != nil {
		return s.recallChildren(m, c)
	}
	for {
		c.Collect(&m.Memory)
		if c.IsEnough() {
			c.Decide(&m.Memory)
			return nil
		}
		if err := s.startMore(m, c, build); err != nil {
			return err
		}
		if c.Collect(&m.Memory) > 0 {
			continue
		}
		if err := s.await(m, func() bool { return c.IsReady(&m.Memory) }, c.Blocked); err != nil {
			return err
		}
	}
}

// startMore enqueues as many of the children as may run.
func (s *Strand) startMore(m *replayState, c *await.Children, build func(i int) (*store.Enqueue, error)) error {
	for batch := 1; ; batch++ {
		i, may := c.Next()
		if !may {
			break
		}
		child, err := s.child(m, c.PathOf(i), c.Kind, func() (*store.Enqueue, error) { return build(i) })
		if err != nil {
			return err
		}
		c.Start(child)
		if batch%fanOutBatch == 0 {
			m.flush()
		}
	}
	m.flush()
	return nil
}

// recallChildren takes up the children that were started when the waiting for them ended.
func (s *Strand) recallChildren(m *replayState, c *await.Children) error {
	for i := range c.All {
		path := c.PathOf(i)
		if m.At(path) == nil {
			return nil
		}
		child, err := s.child(m, path, c.Kind, nil)
		if err != nil {
			return err
		}
		c.Recall(&m.Memory, i, child)
	}
	return nil
}
