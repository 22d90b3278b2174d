package replay

import (
	"strings"

	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/unsaid"
	"github.com/holdfastdev/holdfast/store"
)

// Say notes what the strand says of its job, to be stored with the next write. Of strands side by
// side a replay does not know which spoke last, and what handles a request may never come past a
// later operation: only the handler and compensations may.
func (s *Strand) Say(meta *store.Meta) error {
	switch says := (misuse.Operation{Verb: "run.SetMetadata, run.SetTags or search.Set"}); {
	case s.over.Load():
		return misuse.TooLate(s.run.claimed.Job.ID, says)
	case s.prefix != "" && !(s.undo && strings.Count(s.prefix, ".") == 1):
		return s.misuse("%s was called in a function started with holdfast.Go, or in one that handles requests; call it in the handler", says)
	}
	s.run.said.Say(s, meta)
	return nil
}

// Position implements unsaid.Speaker.
func (s *Strand) Position() (string, int64) {
	return s.prefix, memory.Position(int(s.place), int(s.unplaced))
}

// Unsaid is what a checkpoint of the strand carries: what it has said itself, which is to be stored
// after what is on its way with the journal, for which it waits until over at the latest. Said is
// told when it is durable.
func (s *Strand) Unsaid(over <-chan struct{}) *unsaid.Words {
	s.run.said.Await(over)
	if m := s.run.state.Load(); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		return s.run.said.Words(&m.Memory).Of(s)
	} else if !s.run.claimed.Durable {
		return s.run.said.Words(nil).Of(s)
	}
	return nil // it has not come to anything that the journal holds
}

// Said notes that words are durable.
func (r *Run) Said(w *unsaid.Words) { r.said.Stored(w) }
