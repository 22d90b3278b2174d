package model

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// Rescue implements store.Maintenance.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Rescued{}, err
	}
	defer s.mu.Unlock()
	if len(params.Lost) > 0 {
		given := s.giveUp(params.Lost, now)
		return store.Rescued{Jobs: given, Wakes: s.woken}, nil
	}
	var died []int64
	for _, silent := range params.Dead {
		// Another beat than the last one that was seen is a sign of life, whatever time it names.
		if s.alive(silent.Node) && s.nodes[silent.Node].BeatAt.Equal(silent.At) && !s.isWriting(silent.Node) {
			s.nodes[silent.Node].DeadAt, s.nodes[silent.Node].Ended = now, store.NodeDied
			died = append(died, silent.Node)
		}
	}
	limit := params.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	var rescued []store.RescuedJob
	records := map[claimName]bool{}
	for _, j := range s.runningOnTheDead() {
		e := s.lost(j, now)
		if s.isBusy(j, &e, now) {
			continue
		}
		record := claimName{j.lease.Node, j.lease.Claim}
		if !records[record] && len(records) == limit {
			break
		}
		records[record] = true
		rescued = append(rescued, s.rescue(j, e, now))
	}
	s.sweepSlots()
	return store.Rescued{Jobs: rescued, Died: died, Wakes: s.woken}, nil
}

// giveUp ends the runs of leases of which their node says that none of its runs has them.
func (s *Store) giveUp(lost []store.Lease, now time.Time) []store.RescuedJob {
	var rescued []store.RescuedJob
	for _, l := range lost {
		j := s.live(l)
		if j == nil {
			continue
		}
		if e := s.lost(j, now); !s.isBusy(j, &e, now) {
			rescued = append(rescued, s.rescue(j, e, now))
		}
	}
	return rescued
}

// rescue ends the run of a job like this, and tells what became of the job.
func (s *Store) rescue(j *job, e ending, now time.Time) store.RescuedJob {
	node := j.lease.Node
	s.end(j, e, now)
	j.lost = append(j.lost, node)
	last := j.attempts[len(j.attempts)-1]
	return store.RescuedJob{
		Job: j.ID, Namespace: j.Namespace, Kind: j.Kind, Node: node, State: j.state, Reason: last.Reason, Queue: j.Queue, RunAt: j.RunAt,
	}
}

// runningOnTheDead are the jobs whose nodes are dead, by their claim records.
func (s *Store) runningOnTheDead() []*job {
	var jobs []*job
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		if !s.alive(node) {
			jobs = append(jobs, s.runningOn(node)...)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.lease.Node, b.lease.Node), cmp.Compare(a.lease.Claim, b.lease.Claim))
	})
	return jobs
}

// lost is how a run ends whose node is dead, by what its node promised of the kind.
func (s *Store) lost(j *job, now time.Time) ending {
	e := ending{state: store.Failed, reason: store.ReasonCrashLoop, uncounted: j.hasGrown(), cancelSeen: true}
	lost := copyof.Job(j.Job)
	if e.uncounted {
		lost.Attempt--
	}
	policy := s.nodes[j.lease.Node].Info.Policies[j.Kind]
	if q := s.queues[queueName{j.Namespace, j.Queue}]; q != nil {
		policy = policy.In(q.Attempts.AttemptSettings)
	}
	delay, retry := policy.Lost(&lost)
	// A requested cancel goes before the decision that no attempt is left, unless the job would
	// have to end itself in one. Reading: a deadline does not, for then there is no next attempt
	// that would come too late.
	if retry || j.cancel != nil && !j.durable() {
		e.state, e.reason, e.runAt = store.Retryable, store.ReasonNodeLost, now.Add(delay).Truncate(time.Microsecond)
	}
	return s.taken(j, e)
}

// hasGrown reports whether the current run has written to the job's journal, or that says how the
// job ends.
func (j *job) hasGrown() bool {
	n := len(j.journal)
	return n > 0 && (j.journal[n-1].LeaseNumber == j.LeaseNumber || j.journal[n-1].Kind == store.EntryEnded)
}
