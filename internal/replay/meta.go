package replay

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// said is what a strand of a run says of its job, and is not stored yet.
type said struct {
	by   *Strand
	meta *store.Meta
}

// Say notes what the strand says of its job. It is stored with the next thing that the strand
// leaves in the journal, with a checkpoint, or with the outcome. A replay says it again: what was
// stored is dropped there, since the operation after it is answered from the journal.
//
// Only the handler and compensations may, which follow one another: of strands side by side a
// replay does not know who spoke last.
func (s *Strand) Say(meta *store.Meta) error {
	if s.over.Load() {
		return s.tooLate(operation{verb: "run.SetMetadata or run.SetTags"})
	}
	if !s.speaks() {
		return s.misuse("run.SetMetadata or run.SetTags was called in a function started with holdfast.Go; call it in the handler")
	}
	for {
		before := s.run.said.Load()
		now := &said{s, meta}
		if before != nil {
			now.meta = before.meta.Over(meta)
		}
		if s.run.said.CompareAndSwap(before, now) {
			return nil
		}
	}
}

// speaks reports whether no other strand runs beside this one but those that it has begun.
func (s *Strand) speaks() bool {
	return s.prefix == "" || s.undo && strings.Count(s.prefix, ".") == 1
}

// unsaid is what is to be stored with the next write of the run, or nil. A strand that has not come
// past all that the journal holds of it may say what it has said before, and has said otherwise
// since. The lock of the state is held.
func (m *replayState) unsaid() *said {
	w := m.run.said.Load()
	if w == nil || w.by.place < m.last[w.by.prefix] {
		return nil
	}
	return w
}

// saidBefore drops what the strand says, because the operation that it begins was begun before.
func (s *Strand) saidBefore() {
	if w := s.run.said.Load(); w != nil && w.by == s {
		s.run.said.CompareAndSwap(w, nil)
	}
}

// metaOf is what a write carries.
func (w *said) metaOf() *store.Meta {
	if w == nil {
		return nil
	}
	return w.meta
}

// Unsaid is what the run says of its job and has not stored, or nil, for a write outside of the
// journal. stored is called when that is durable.
func (r *Run) Unsaid() (meta *store.Meta, stored func()) {
	w := r.said.Load()
	if w == nil {
		return nil, func() {}
	}
	if m := r.state.Load(); m != nil {
		m.mu.Lock()
		w = m.unsaid()
		m.mu.Unlock()
	} else if r.claimed.Durable {
		w = nil // it has not come to anything that the journal holds
	}
	return w.metaOf(), func() { r.said.CompareAndSwap(w, nil) }
}
