package workers

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// wait is how a run is parked. at is where it is in the request.
func (said *RunOutcome) wait(at string, job store.ID, now time.Time) (*store.Wait, error) {
	w := &store.Wait{Seen: said.Seen, Count: said.Count, Failures: said.Failures}
	for _, name := range said.Messages {
		kind, known := journal.MessageOf(name)
		if !known {
			return nil, problem.Invalid(at+"/messages", "there are no messages of the kind "+name)
		}
		w.Kinds |= store.MessagesOf(kind)
	}
	switch {
	case said.Until != nil:
		w.Until = said.Until.UTC()
	case said.For != nil:
		w.Until = now.Add(max(time.Duration(*said.For), 0))
	}
	if len(said.WaitsFor) > 0 {
		what := slices.Clone(said.WaitsFor)
		for i := range what {
			what[i] = usercode.Cut(what[i], usercode.MaxMessage)
		}
		w.For = blocked.Text(what)
	}
	return w, problem.At(at+"/until", w.CheckTime(job))
}
