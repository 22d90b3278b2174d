package replay

import (
	"strings"

	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/unsaid"
	"github.com/holdfastdev/holdfast/store"
)

// Say notes what the strand says of its job, to be stored with the next write. Of strands side by
// side a replay does not know which spoke last, and what handles a request may never come past a
// later operation: only the handler and compensations may.
func (s *Strand) Say(meta *store.Meta) error {
	switch says := (misuse.Operation{Verb: "run.SetMetadata or run.SetTags"}); {
	case s.over.Load():
		return misuse.TooLate(s.run.claimed.Job.ID, says)
	case s.prefix != "" && !(s.undo && strings.Count(s.prefix, ".") == 1):
		return s.misuse("%s was called in a function started with holdfast.Go, or in one that handles requests; call it in the handler", says)
	}
	s.run.said.Say(s, meta)
	return nil
}

// Place implements unsaid.Speaker.
func (s *Strand) Place() (prefix string, place int) { return s.prefix, s.place }

// Unsaid is what a write outside of the journal carries; Said is told when it is durable.
func (r *Run) Unsaid() *unsaid.Words {
	if m := r.state.Load(); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		return r.said.Words(&m.Memory)
	} else if !r.claimed.Durable {
		return r.said.Words(nil)
	}
	return nil // it has not come to anything that the journal holds
}

// Said notes that words are durable.
func (r *Run) Said(w *unsaid.Words) { r.said.Stored(w) }
