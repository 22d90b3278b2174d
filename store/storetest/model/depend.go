package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// edges are the predecessors that a job waits for.
type edges map[store.ID]edge

type edge struct {
	policy store.FailurePolicy
	told   State // how the predecessor ended, as the job was told; 0: it was not
}

// awaits is one of the edges of a job.
type awaits struct {
	on, job store.ID
	edge
}

// lacks returns the *DependencyError of a job if one of its predecessors is not there.
func (s *Store) lacks(namespace string, id store.ID, after []store.Dependency) error {
	for _, d := range after {
		if s.in(namespace, d.On) == nil {
			return &store.DependencyError{Job: id, On: d.On, Fault: store.MissingPredecessor}
		}
	}
	return nil
}

// unfinished are those of the dependencies that a job has to wait for. An edge that is there gets
// the policy that is given now, and its job is told again.
func (s *Store) unfinished(id store.ID, after []store.Dependency) (open []store.Dependency) {
	for _, d := range store.Distinct(after) {
		if _, waits := s.after[id][d.On]; waits || !d.IfFailed.Lets(s.jobs[d.On].state) {
			open = append(open, d)
		}
	}
	return open
}

// await makes a job wait for others that is in a state, or would be.
func (s *Store) await(j *job, on []store.Dependency, was State, runAt, now time.Time) {
	if s.after[j.ID] == nil {
		s.after[j.ID] = edges{}
	}
	for _, d := range on {
		s.after[j.ID][d.On] = edge{policy: d.IfFailed}
	}
	if j.held() {
		return // for others already, or for a person
	}
	j.wait = &waiting{Wait: store.Wait{Held: true}, since: now, reason: store.ReasonDependency, was: was, wasRunAt: runAt}
	j.RunAt, j.state = runAt, store.Waiting
	s.feedState(j, store.Waiting, "", now)
	if s.turns[j.keyName()] == j.ID { // which others may need that it waits for
		delete(s.turns, j.keyName())
		s.tellTurn(j.keyName())
	}
}

// depends reports whether a job waits for others.
func (j *job) depends() bool { return j.held() && j.wait.reason == store.ReasonDependency }

// toTell are the edges whose job is to be told of the end of its predecessor, by these. One that a
// transaction has is told later.
func (s *Store) toTell() []awaits {
	return slices.DeleteFunc(s.untold(), func(e awaits) bool { return s.isKept(e.job) || s.holder(e.job) != nil })
}

// untold are the edges whose job has not been told of the end of its predecessor.
func (s *Store) untold() (list []awaits) {
	for id, on := range s.after {
		for before, e := range on {
			if p := s.jobs[before]; p != nil && p.state.Finished() && e.told != p.state {
				list = append(list, awaits{before, id, e})
			}
		}
	}
	slices.SortFunc(list, func(a, b awaits) int {
		if c := compareIDs(a.on, b.on); c != 0 {
			return c
		}
		return compareIDs(a.job, b.job)
	})
	return list
}

// hasSuccessors reports whether others wait for a job.
func (s *Store) hasSuccessors(id store.ID) bool {
	for _, on := range s.after {
		if _, waits := on[id]; waits {
			return true
		}
	}
	return false
}

// isWatching reports whether a job runs that others began to wait for meanwhile, as far as is
// known.
func (s *Store) isWatching() bool {
	return len(s.selected(func(j *job) bool { return j.state == store.Running && s.hasSuccessors(j.ID) })) > 0
}

// tellSuccessor tells a job of the end of a predecessor.
func (s *Store) tellSuccessor(e awaits, answer *store.Closed, now time.Time) {
	j, state := s.jobs[e.job], s.jobs[e.on].state
	on := s.after[e.job]
	if on == nil {
		return // it was cancelled for the sake of another one
	}
	switch {
	case e.policy.Lets(state):
		if delete(on, e.on); len(on) > 0 {
			return
		}
		delete(s.after, e.job)
		if j.depends() {
			s.letGo(j, now)
		}
	case e.policy == store.HoldIfFailed:
		on[e.on] = edge{e.policy, state}
	default:
		s.cancel(j, e.policy.UnmetWords(e.on, state), "job "+e.on.String(), now)
		if j.state.Finished() {
			answer.Ended = append(answer.Ended, j.ID)
		}
	}
}

// letGo makes a job what it was before it was held.
func (s *Store) letGo(j *job, now time.Time) {
	if j.wait.was != store.Available && j.wait.wasRunAt.After(now) {
		j.RunAt = j.wait.wasRunAt
		s.enter(j, j.wait.was)
		return
	}
	j.RunAt = now
	s.enter(j, store.Available)
}

// isUntold reports whether jobs wait to be told how a job ended.
func (s *Store) isUntold(id store.ID) bool {
	return slices.ContainsFunc(s.untold(), func(e awaits) bool { return e.on == id })
}

func (s *Store) predecessors(id store.ID) (list []store.Predecessor) {
	for _, on := range slices.SortedFunc(maps.Keys(s.after[id]), compareIDs) {
		p := store.Predecessor{Dependency: store.Dependency{On: on, IfFailed: s.after[id][on].policy}}
		if j := s.jobs[on]; j != nil {
			p.State = j.state
		}
		list = append(list, p)
	}
	return list
}

// Depend implements store.Editors.
func (s *Store) Depend(ctx context.Context, params store.DependParams) (State, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	j := s.in(params.Namespace, params.Job)
	switch {
	case j == nil:
		return 0, nil, store.NoJob(params.Job)
	case s.isKept(j.ID), s.holder(j.ID) != nil:
		return 0, nil, store.ErrBusy
	case j.Parent != store.ID{}:
		return 0, nil, refusal.ChildAfter(j.ID)
	case j.LeaseNumber > 0 || j.state != store.Available && j.state != store.Scheduled && !j.held():
		return 0, nil, store.JobIs(j.ID, j.state)
	}
	if err := s.lacks(j.Namespace, j.ID, params.On); err != nil {
		return 0, nil, err
	}
	open, more := s.unfinished(j.ID, params.On), 0
	for _, d := range open {
		if _, waits := s.after[j.ID][d.On]; !waits {
			more++
		}
		if s.comesAfter(d.On, j.ID) {
			return 0, nil, &store.DependencyError{Job: j.ID, On: d.On, Fault: store.CyclicDependency}
		}
	}
	if len(s.after[j.ID])+more > store.MaxDependencies {
		return 0, nil, &store.DependencyError{Job: j.ID, Fault: store.TooManyDependencies}
	}
	if len(open) > 0 {
		s.await(j, open, j.state, j.RunAt, now)
	}
	return j.state, s.woken, nil
}

// comesAfter reports whether a job waits for another one, or for one that does, and so on.
func (s *Store) comesAfter(id, other store.ID) bool {
	for on := range s.after[id] {
		if on == other || s.comesAfter(on, other) {
			return true
		}
	}
	return false
}
