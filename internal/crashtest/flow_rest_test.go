package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// restLimit is how long a storm may take to come to rest. It is for tests that hang.
const restLimit = 3 * time.Minute

// settle lets everything come to its end, once the faults are over. First nobody asks for anything
// any more: then whatever has not finished must be held, or wait for what will not come, and the
// plan must say so. Then what is held is resumed, and what has no end is cancelled. It reports
// whether everything has finished; if not, what is known of the rest tells why.
func (s *storm) settle() bool {
	s.t.Helper()
	resting := s.wait(restLimit, "all is at rest", func() bool {
		s.load.sendRest(s.t.Context())
		return s.spins() || s.atRest()
	})
	return resting && !s.spins() && s.wait(restLimit, "all has finished", func() bool {
		s.load.sendRest(s.t.Context())
		return s.finishAll()
	})
}

// spins reports whether a job runs again and again: then there is no use in waiting.
func (s *storm) spins() bool {
	s.t.Helper()
	return slices.ContainsFunc(s.list(unfinished, 0), func(r holdfast.Record) bool { return r.LeaseNumber > spinning })
}

// atRest reports whether nothing moves or ought to.
func (s *storm) atRest() bool {
	s.t.Helper()
	v := s.glance()
	var waiting []*flowJob
	for _, r := range s.list(unfinished, 0) {
		j := &flowJob{Record: r}
		if err := json.Unmarshal(r.Args, &j.task); err != nil {
			s.t.Fatal(err)
		}
		if r.State == holdfast.Waiting {
			waiting = append(waiting, j)
		} else if v.restless(j) != "" {
			return false
		}
	}
	return !slices.ContainsFunc(waiting, func(j *flowJob) bool {
		j.journal = s.journal(j.ID)
		return v.restless(j) != ""
	})
}

// glance is a verifier that knows what was asked, and looks everything else up.
func (s *storm) glance() *flowVerifier {
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	v := newFlowVerifier(flowHistory{asks: s.load.asks})
	v.find = func(id holdfast.ID) (holdfast.Record, bool) { return s.record(id), true }
	v.glances = true
	return v
}

// finishAll asks for what lets jobs end that do not end by themselves, and reports whether all
// have.
func (s *storm) finishAll() bool {
	s.t.Helper()
	open := s.list(unfinished, 0)
	for i := range open {
		if action := s.lastWord(&open[i]); action != "" {
			s.load.ask(s.t.Context(), s.client, action, &open[i], s.random)
		}
	}
	return len(open) == 0
}

// lastWord is what is to be asked for a job that does not end by itself, if that was not done
// before.
func (s *storm) lastWord(r *holdfast.Record) (action store.ActionKind) {
	var t task
	if err := json.Unmarshal(r.Args, &t); err != nil {
		s.t.Fatal(err)
	}
	switch {
	case r.Wait != nil && r.Wait.Held && r.Wait.Reason == store.ReasonPaused:
		action = store.ActionResume
	case r.Wait != nil && r.Wait.Held:
		action = store.ActionTerminate
	case t.neverEnds() && s.isOnItsOwn(r):
		action = store.ActionCancel
	default:
		return ""
	}
	what := fmt.Sprintf("%s of job %s under lease %d", action, r.ID, r.LeaseNumber)
	if s.said[what] {
		return ""
	}
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[what] = true
	return action
}

// isOnItsOwn reports whether no end of a parent ends a job: it has none, or a person let it run
// again after that.
func (s *storm) isOnItsOwn(r *holdfast.Record) bool {
	if r.Parent == (holdfast.ID{}) {
		return true
	}
	if parent := s.record(r.Parent); !parent.State.Finished() {
		return false
	}
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	for _, a := range s.load.asks {
		if a.job == r.ID && a.reopens() {
			return true
		}
	}
	return false
}

func (s *storm) journal(id holdfast.ID) (j holdfast.Journal) {
	s.t.Helper()
	s.insist(func() (err error) {
		j, err = s.client.Journal(s.t.Context(), id)
		return err
	})
	return j
}
