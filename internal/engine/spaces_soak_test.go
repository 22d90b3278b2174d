//go:build soak

package engine

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// TestNodesAreToldInTheNamespaceOfTheJob: whatever makes a job available or asks a run to stop, on
// either node, wakes the node of the job's namespace.
func TestNodesAreToldInTheNamespaceOfTheJob(t *testing.T) {
	for name, test := range map[string]func(s *spaces){
		"a job that another node promotes": func(s *spaces) {
			s.doors[1].leavePromotion()
			id := s.add(`""`, func(q *store.Enqueue) { q.Delay = idle })
			time.Sleep(idle)
			s.wantStart(id)
		},
		"a message": func(s *spaces) {
			id := s.old(`"waits"`)
			q := &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
			s.must(nil, s.here.Send(s.t.Context(), []*store.Send{q}))
			s.wantStart(id)
		},
		"a cancel of one that runs": func(s *spaces) {
			s.cancel(s.here, s.old(`"lasts"`), false)
			s.wantEnd(usercode.ErrCancelled)
		},
		"a terminate of one that runs": func(s *spaces) {
			s.cancel(s.here, s.old(`"lasts"`), true)
			s.wantEnd(store.ErrLeaseLost)
		},
		"a pause of one that runs": func(s *spaces) {
			id := s.add(`"goes on"`)
			s.wantStart(id)
			s.must(s.here.PauseJobs(s.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}, Actor: "ada"}))
			time.Sleep(soon)
			if rec, err := s.here.Store.Get(s.t.Context(), "", id); err != nil || rec.State != store.Waiting {
				s.t.Fatalf("the job is %v, %v: nobody told its node", rec.State, err)
			}
		},
		"the end of a parent": func(s *spaces) {
			s.wantStart(s.add(`"bears"`))
			s.next()
			s.wantEnd(usercode.ErrCancelled)
		},
		"a terminate of a parent that waits": func(s *spaces) {
			id := s.add(`"bears and waits"`)
			s.wantStart(id)
			s.next()
			time.Sleep(idle)
			s.cancel(s.there, id, true)
			s.wantEnd(usercode.ErrCancelled)
		},
	} {
		t.Run(name, func(t *testing.T) { inSpaces(t, test) })
	}
}

// TestNodesAreToldByWhoeverMakesAJobAvailable: of the process of the job's node, or of another one.
func TestNodesAreToldByWhoeverMakesAJobAvailable(t *testing.T) {
	for name, test := range map[string]func(s *spaces, by *Engine){
		"a retry": func(s *spaces, by *Engine) {
			id := s.old(`"fails"`)
			s.must(by.Retry(s.t.Context(), store.RetryParams{Jobs: []store.ID{id}, Actor: "ada"}))
			s.wantStart(id)
		},
		"a resume": func(s *spaces, by *Engine) {
			id := s.old(`"waits"`)
			s.must(by.PauseJobs(s.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}, Actor: "ada"}))
			time.Sleep(idle)
			s.must(by.Resume(s.t.Context(), store.ResumeParams{Job: id, Keep: -1, Expect: -1, Actor: "ada"}))
			s.wantStart(id)
		},
		"a resume of one that is due later": func(s *spaces, by *Engine) {
			id := s.store.Add(env.Delay(time.Second))
			s.store.PauseJob(id, store.Waiting)
			s.must(by.Resume(s.t.Context(), store.ResumeParams{Job: id, Keep: -1, Expect: -1, Actor: "ada"}))
			time.Sleep(time.Second)
			s.wantStart(id)
		},
		"a fork": func(s *spaces, by *Engine) {
			from, fork := s.old(`"waits"`), s.job(`""`)
			s.must(nil, by.Fork(s.t.Context(), store.ForkParams{From: from, Job: fork.Job, Actor: "ada"}))
			s.wantStart(fork.Job.ID)
		},
		"a cancel of one that is to end itself": func(s *spaces, by *Engine) {
			id := s.old(`"waits"`)
			s.cancel(by, id, false)
			s.wantStart(id)
		},
		"a cancel of a child for whose end its parent waits": func(s *spaces, by *Engine) {
			parent, child := s.parentOf()
			s.cancel(by, child, false)
			s.wantStart(parent)
		},
		"a terminate of one that has the turn of its key": func(s *spaces, by *Engine) {
			first := s.store.Started(env.Ordered("key"))
			next := s.store.Add(env.Ordered("key"))
			s.cancel(by, first.Job.ID, true)
			s.wantStart(next)
		},
		"a node that leaves": func(s *spaces, by *Engine) {
			stop, ran := make(chan struct{}), make(chan error, 1)
			s.must(nil, by.Runner("third").Handle(&Handler{Kind: "k", Run: s.run}))
			go func() {
				ran <- by.Runner("third").Run(context.Background(), Stop{Soft: stop, Hard: context.Background()})
			}()
			time.Sleep(time.Minute)
			held := s.store.Add()
			for id, n := range s.store.Nodes() {
				if n.Info.Namespace == "third" {
					s.store.ClaimOne(id, held) // the answer is lost
				}
			}
			close(stop)
			s.must(nil, <-ran)
			s.wantStart(held)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSpaces(t, func(s *spaces) { test(s, s.here) })
			inSpaces(t, func(s *spaces) { test(s, s.there) })
		})
	}
}
