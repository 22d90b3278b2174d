package replay

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Child is a job that a run has enqueued.
type Child struct {
	ID   store.ID
	Kind string
	run  *Run
	path string
}

// StartChild enqueues a child, in the transaction that remembers it, unless the journal knows it.
func (s *Strand) StartChild(kind string, build func() (*store.Enqueue, error)) (*Child, error) {
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
	return child, m.flush()
}

// child returns the child at a path; a new one is enqueued with the next write.
func (s *Strand) child(m *replayState, path, kind string, build func() (*store.Enqueue, error)) (*Child, error) {
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
		return &Child{ID: id, Kind: kind, run: s.run, path: path}, nil
	}
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	e, err := unlockedBuild(m, build)
	if err == nil {
		err = s.ruined()
	}
	if err != nil {
		return nil, err
	}
	e.Job.Parent = s.run.claimed.Job.ID
	if err := e.Job.Check(); err != nil {
		return nil, err
	}
	m.add(store.Entry{Kind: store.EntryChild, Path: path, Name: kind, Data: journal.Encode(journal.Child{
		ID: e.Job.ID.String(), OnClose: e.Job.OnParentClose, Answers: e.Job.Answers,
	})})
	m.enqueues = append(m.enqueues, e)
	return &Child{ID: e.Job.ID, Kind: kind, run: s.run, path: path}, nil
}

// unlockedBuild makes a child's enqueue without the state's lock: its args encode as the user's
// code says.
func unlockedBuild(m *replayState, build func() (*store.Enqueue, error)) (*store.Enqueue, error) {
	e, err := func() (*store.Enqueue, error) {
		m.mu.Unlock()
		defer m.mu.Lock() // also if it panics
		return build()
	}()
	if m.exiting {
		m.exit()
	}
	return e, err
}

func (c *Child) madeBy(r *Run) bool { return c != nil && c.run == r }

func (c *Child) describe() string {
	if c == nil {
		return "a child"
	}
	return "child " + c.ID.String()
}

func (c *Child) ready(m *replayState, _ time.Time) bool { return m.answers[c.ID] != nil }

func (c *Child) pause(*replayState) blockedOn {
	return blockedOn{kinds: store.MessagesOf(store.MessageChild), what: "child " + c.ID.String() + " (" + c.Kind + ")"}
}

// AwaitChild waits until a child has finished, and returns its answer. That a child failed is
// remembered, since an person may let it run again.
func (s *Strand) AwaitChild(c *Child) (*store.Message, error) {
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
func (s *Strand) answer(m *replayState, c *Child) (*store.Message, error) {
	if msg := m.settled(c); msg != nil {
		return msg, nil
	}
	if err := s.waitFor(m, c); err != nil {
		return nil, err
	}
	msg := m.answers[c.ID]
	if msg.State != store.Completed {
		m.add(store.Entry{Kind: store.EntryReceived, Path: c.path, Ref: msg.Seq})
	}
	return msg, nil
}

// FanOut says how many children run at once, and when waiting for them ends.
type FanOut struct {
	AtOnce int // 0: all
	// Enough reports, after the given numbers of children have completed and failed, whether
	// waiting ends before all have.
	Enough func(completed, failed int) bool
	// Failures: a failure may be enough.
	Failures bool
}

// fanOutBatch is how many children are enqueued in one write.
const fanOutBatch = 500

// StartChildren enqueues n children of a kind and waits for them. The answers are in the order of
// the children; nil: it was not waited for. The run sleeps meanwhile: it is woken when half of
// those that may run at once have finished, or all, and not for each.
func (s *Strand) StartChildren(
	kind string, n int, build func(i int) (*store.Enqueue, error), out FanOut,
) ([]*Child, []*store.Message, error) {
	m, err := s.begin(verbCallAll, kind)
	if err != nil {
		return nil, nil, err
	}
	defer s.end(m)
	path := s.reserve()
	f := &fan{s: s, m: m, path: path, kind: kind, build: build, children: make([]*Child, n), answers: make([]*store.Message, n), out: out}
	if out.AtOnce <= 0 || out.AtOnce > n {
		f.out.AtOnce = max(n, 1)
	}
	err = f.run()
	return f.children, f.answers, err
}

// fan is a fan-out under way.
type fan struct {
	s        *Strand
	m        *replayState
	path     string
	kind     string
	build    func(i int) (*store.Enqueue, error)
	children []*Child
	answers  []*store.Message
	out      FanOut

	started, completed, failed int
	open                       []int // started and not answered
}

func (f *fan) run() error {
	f.m.visit(f.path)
	if f.m.byPath[f.path] != nil {
		return f.recall()
	}
	for {
		f.collect()
		if f.completed+f.failed == len(f.children) || f.out.Enough != nil && f.out.Enough(f.completed, f.failed) {
			return f.decide()
		}
		if err := f.start(); err != nil {
			return err
		}
		if f.collect() > 0 {
			continue
		}
		if err := f.s.await(f.m, func() bool { return f.arrived() }, f.pause); err != nil {
			return err
		}
	}
}

// start enqueues as many children as may run.
func (f *fan) start() error {
	batch := 0
	for len(f.open) < f.out.AtOnce && f.started < len(f.children) {
		i := f.started
		child, err := f.s.child(f.m, f.path+"."+strconv.Itoa(i+1), f.kind, func() (*store.Enqueue, error) { return f.build(i) })
		if err != nil {
			return err
		}
		f.children[i] = child
		f.started++
		f.open = append(f.open, i)
		if batch++; batch == fanOutBatch {
			batch = 0
			if err := f.m.flush(); err != nil {
				return err
			}
		}
	}
	return f.m.flush()
}

// collect takes the answers that have arrived, and returns how many.
func (f *fan) collect() int {
	left := f.open[:0]
	found := 0
	for _, i := range f.open {
		msg := f.m.settled(f.children[i])
		if msg == nil {
			msg = f.m.answers[f.children[i].ID]
		}
		if msg == nil {
			left = append(left, i)
			continue
		}
		found++
		f.answers[i] = msg
		if msg.State == store.Completed {
			f.completed++
		} else {
			f.failed++
		}
	}
	f.open = left
	return found
}

func (f *fan) arrived() bool {
	for _, i := range f.open {
		if f.m.answers[f.children[i].ID] != nil {
			return true
		}
	}
	return false
}

func (f *fan) pause() blockedOn {
	p := blockedOn{failures: f.out.Failures, what: fmt.Sprintf("%d of %d children of kind %s", len(f.open), len(f.children), f.kind)}
	switch {
	case f.out.Enough != nil && !f.out.Failures:
		p.kinds = store.MessagesOf(store.MessageChild)
	case f.started < len(f.children):
		p.count = int64(max(1, len(f.open)/2))
	default:
		p.count = int64(max(1, len(f.open)))
	}
	return p
}

// decide remembers what the end of the waiting rests on: failures, and, if it may end before all
// have answered, which had.
func (f *fan) decide() error {
	for i, msg := range f.answers {
		if msg != nil && (f.out.Enough != nil || msg.State != store.Completed) && f.m.settled(f.children[i]) == nil {
			f.m.add(store.Entry{Kind: store.EntryReceived, Path: f.children[i].path, Ref: msg.Seq})
		}
	}
	if f.out.Enough != nil {
		f.m.add(store.Entry{Kind: store.EntrySelected, Path: f.path, Data: journal.Encode(f.completed + f.failed)})
	}
	return nil
}

// recall takes up what was decided.
func (f *fan) recall() error {
	for i := range f.children {
		path := f.path + "." + strconv.Itoa(i+1)
		if f.m.byPath[path] == nil {
			return nil
		}
		child, err := f.s.child(f.m, path, f.kind, nil)
		if err != nil {
			return err
		}
		f.children[i], f.answers[i] = child, f.m.settled(child)
	}
	return nil
}
