package model

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
	"github.com/holdfastdev/holdfast/store/storetest/turns"
)

// Claim implements store.Claims: all that may be claimed, sorted, the first of it; and of jobs with
// fair keys those whose turn it is, in the places of as many.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.claim(params, now, true)
}

// ClaimBeside claims for a property test that follows a store. If others would be taken than these,
// but just these if jobs that count in limits per key were left alone, these are.
func (s *Store) ClaimBeside(ctx context.Context, params store.ClaimParams, these []store.ID) ([]store.Claimed, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	takesThese := func(gated bool) bool {
		claimed, err := s.clone().claim(params, now, gated)
		return err != nil || slices.EqualFunc(claimed, these, func(c store.Claimed, id store.ID) bool { return c.Job.ID == id })
	}
	return s.claim(params, now, takesThese(true) || !takesThese(false))
}

// FindsGated reports whether a claim that took all that it finds would take jobs that count in
// limits per key.
func (s *Store) FindsGated(ctx context.Context, params store.ClaimParams) (bool, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	params.Limit, params.Queues = len(s.jobs), nil
	claimed, err := s.clone().claim(params, now, true)
	return slices.ContainsFunc(claimed, func(c store.Claimed) bool { return c.Job.Options.Limit != "" }), err
}

// claim claims, with jobs that count in limits per key or without.
func (s *Store) claim(params store.ClaimParams, now time.Time, gated bool) ([]store.Claimed, error) {
	if !s.alive(params.Node) {
		return nil, refusal.DeadNode(params.Node)
	}
	records := int64(params.Records())
	// Reading: a number that was used is not used for a second batch, whether the caller says
	// Repeat or not. Without it this is a first request that was overtaken by its repetition.
	for seq := params.Seq; seq < params.Seq+records; seq++ {
		if s.claims[claimName{params.Node, seq}] {
			left := slices.DeleteFunc(s.claimedBy(params.Node, params.Seq, params.Seq+records), func(c store.Claimed) bool {
				return !params.After.Before(c.Lease)
			})
			if params.Limit < params.Sent {
				left = left[:min(len(left), params.Limit)]
			}
			return left, nil
		}
	}
	if params.After.Claim != 0 {
		return nil, nil
	}

	// Reading: where limits per key stop whose turn it is, the turn begins again with the others.
	var claimed []store.Claimed
	for left := params; ; {
		before := len(claimed)
		for _, j := range s.best(&left, now, gated) {
			n := int64(len(claimed))
			s.takePermit(j, now)
			s.start(j, params.Node, params.Seq+n/store.MaxClaimSlots, int(n%store.MaxClaimSlots), now)
			claimed = append(claimed, s.claimed(j))
		}
		if len(claimed) == before {
			return claimed, nil
		}
	}
}

// best are jobs that a claim takes, best first, and what it may take after them.
func (s *Store) best(params *store.ClaimParams, now time.Time, gated bool) (chosen []*job) {
	left := slices.Clone(params.Queues)
	live, began := s.liveGates(), map[int64]int{}
	runs := func(j *job) bool {
		capacity, bounded := s.gateCapacity(j)
		free, rated := s.keyFree(j, now)
		return (!bounded || live[j.Gate()] < capacity) && (!rated || began[j.Gate()] < free)
	}
	due := slices.DeleteFunc(s.claimable(*params, now), func(j *job) bool { return !runs(j) || !gated && j.Options.Limit != "" })
	turn := turns.Of(due, func(j *job) *store.Job { return &j.Job }, params)
	for _, j := range turn.Places {
		if len(chosen) >= params.Limit {
			break
		}
		// Nil means every queue. Reading: an empty list that is not nil means none, as a node whose
		// queues are all at their limits would send.
		at := -1
		if params.Queues != nil {
			if at = store.DemandFor(left, j.Queue, j.lane()); at < 0 || left[at].Limit <= 0 {
				continue
			}
		}
		if j, ok := turn.Take(j, runs); ok {
			if at >= 0 {
				left[at].Limit--
			}
			live[j.Gate()]++
			began[j.Gate()]++
			chosen = append(chosen, j)
		}
	}
	params.Limit, params.Queues = params.Limit-len(chosen), left
	return chosen
}

// claimable are the jobs that a claim may take, best first.
func (s *Store) claimable(params store.ClaimParams, now time.Time) []*job {
	due := s.selected(func(j *job) bool {
		return j.Namespace == params.Namespace && j.state == store.Available && s.hasTurn(j) && !s.isKept(j.ID) &&
			slices.Contains(params.Kinds, j.lane()) && !s.isPaused(j.queueName(), now)
	})
	slices.SortFunc(due, func(a, b *job) int {
		return cmp.Or(
			cmp.Compare(effectivePriority(a, params.Aging, now), effectivePriority(b, params.Aging, now)),
			a.RunAt.Compare(b.RunAt),
			compareIDs(a.ID, b.ID))
	})
	return due
}

// effectivePriority is the priority, one more urgent for each time that the job has waited through
// aging. One whose run time is ahead, since the clock went back, has not waited yet.
func effectivePriority(j *job, aging time.Duration, now time.Time) int {
	if aging <= 0 {
		return j.Priority
	}
	return max(1, j.Priority-int(max(0, now.Sub(j.RunAt))/aging))
}

func (s *Store) start(j *job, node, seq int64, slot int, now time.Time) {
	s.claims[claimName{node, seq}] = true
	j.Attempt++
	j.LeaseNumber++
	j.lease = store.Lease{Job: j.ID, Number: j.LeaseNumber, Node: node, Claim: seq, Slot: slot}
	j.claimedAt = now
	s.enter(j, store.Running)
}

// claimedBy returns the running jobs of a range of claim records, in the order in which they were
// claimed.
func (s *Store) claimedBy(node, from, to int64) []store.Claimed {
	running := s.selected(func(j *job) bool {
		return j.state == store.Running && j.lease.Node == node && j.lease.Claim >= from && j.lease.Claim < to
	})
	slices.SortFunc(running, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.lease.Claim, b.lease.Claim), cmp.Compare(a.lease.Slot, b.lease.Slot))
	})
	var claimed []store.Claimed
	for _, j := range running {
		claimed = append(claimed, s.claimed(j))
	}
	return claimed
}

func (s *Store) claimed(j *job) store.Claimed {
	c := store.Claimed{
		Job: copyof.Job(j.Job), Lease: j.lease, ClaimedAt: j.claimedAt,
		Durable: j.durable(), HasSuccessors: s.hasSuccessors(j.ID), Checkpoint: copyof.Checkpoint(j.checkpoint),
	}
	c.Job.Attributes = nil
	if j.cancel != nil {
		c.CancelRequested, c.CancelReason = true, j.cancel.Reason
	}
	return c
}
