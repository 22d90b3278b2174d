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
const restLimit = 8 * time.Minute

// settle lets everything come to its end, once the faults are over. First nobody asks for anything
// any more: then whatever has not finished must be held, or wait for what will not come, and the
// plan must say so. Then what is held is resumed, and what has no end is cancelled. It reports
// whether everything has finished; if not, what is known of the rest tells why.
func (s *storm) settle() bool {
	s.t.Helper()
	spins := false
	await := func(what string, come func(open []store.Record) bool) bool {
		return s.wait(restLimit, what, func() bool {
			s.load.sendRest(s.t.Context())
			open := s.list(unfinished, 0)
			spins = slices.ContainsFunc(open, func(r store.Record) bool { return r.LeaseNumber > spinning })
			return spins || come(open) // there is no use in waiting for what runs again and again
		}) && !spins
	}
	return await("all is at rest", s.atRest) && await("all has finished", s.finishAll)
}

// atRest reports whether nothing moves or ought to, of the jobs that have not finished.
func (s *storm) atRest(open []store.Record) bool {
	s.t.Helper()
	v := s.glance()
	var waiting []*flowJob
	for _, r := range open {
		j := &flowJob{Record: r}
		if err := json.Unmarshal(r.Args, &j.task); err != nil {
			s.t.Fatal(err)
		}
		if r.State == store.Waiting {
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
	v.find = func(id holdfast.ID) (store.Record, bool) { return s.record(id), true }
	v.glances = true
	return v
}

// finishAll asks for what lets jobs end that do not end by themselves, and reports whether all
// have.
func (s *storm) finishAll(open []store.Record) bool {
	s.t.Helper()
	for i := range open {
		r := &open[i]
		action := s.lastWord(r)
		what := fmt.Sprintf("%s of job %s under lease %d", action, r.ID, r.LeaseNumber)
		if action != "" && !s.said[what] {
			s.said[what] = s.load.ask(s.t.Context(), s.client, action, r, s.random).accepted
		}
	}
	return len(open) == 0
}

// lastWord is what is to be asked for a job that does not end by itself.
func (s *storm) lastWord(r *store.Record) store.ActionKind {
	var t task
	if err := json.Unmarshal(r.Args, &t); err != nil {
		s.t.Fatal(err)
	}
	switch {
	case r.Wait != nil && r.Wait.Held && r.Wait.Reason == store.ReasonPaused:
		return store.ActionResume
	case r.Wait != nil && r.Wait.Held:
		return store.ActionTerminate
	case t.neverEnds() && s.isOnItsOwn(r):
		return store.ActionCancel
	}
	return ""
}

// isOnItsOwn reports whether no end of a parent ends a job: it has none, or a person let it run
// again after that.
func (s *storm) isOnItsOwn(r *store.Record) bool {
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
