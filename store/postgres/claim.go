package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// maxClaim is the most that one claim takes. The statement's LIMIT says the same.
const maxClaim = 1000

// Claim implements store.Claims. It takes at most 1000 jobs at once. Among claims that run at the same moment each passes
// over what the others are taking, so that order holds within each claim and, for one claimer, across them.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Limit = min(max(params.Limit, 0), maxClaim)
	var claimed []store.Claimed
	err := patiently(ctx, func() (err error) {
		if params.Repeat {
			claimed, err = s.claimAgain(ctx, params)
		} else {
			claimed, err = s.claim(ctx, params)
		}
		return err
	})
	if codeOf(err) == codeUnique {
		// The number was used: by the same claim, whose answer was lost.
		claimed, err = s.claimAgain(ctx, params)
	}
	if err != nil {
		return nil, classify(ctx, "claim", err)
	}
	return claimed, nil
}

// claimRow is what is scanned of a claimed job.
type claimRow struct {
	seq, slot *int64
	claimedAt int64
	id        pgtype.UUID
	lane      *int32
	runAt     *int64
	createdAt *int64
	lease     *int64
	attempt   *int32
	max       *int32
	codec     *int32
	body      body
	journal   *bool
	asked     *bool
	why       *string
	check     checkpointRow
}

// columns are the places of the columns that both statements answer with, from lane to the end.
func (c *claimRow) columns() []any {
	return []any{
		&c.lane, &c.runAt, &c.id, &c.createdAt, &c.lease, &c.attempt, &c.max, &c.codec, &c.body.args, &c.body.options, &c.body.tags,
		&c.body.metadata, &c.body.orderingKey, &c.body.uniqueKey, &c.body.uniqueStates, &c.body.parent, &c.body.link, &c.body.closing,
		&c.journal, &c.asked, &c.why,
		&c.check.percent, &c.check.message, &c.check.value, &c.check.updatedAt,
	}
}

// claimed turns the row of a job into what a claim answers. What its lane says is left out.
func (c *claimRow) claimed(node int64) (store.Claimed, error) {
	c.body.lane, c.body.runAt, c.body.createdAt = *c.lane, *c.runAt, *c.createdAt
	c.body.lease, c.body.attempt, c.body.maxAttempts, c.body.codec = *c.lease+1, *c.attempt+1, *c.max, *c.codec
	job, err := c.body.job(c.id.Bytes)
	return store.Claimed{
		Job:             job,
		Lease:           store.Lease{Job: job.ID, Number: job.LeaseNumber, Node: node, Claim: *c.seq, Slot: int(*c.slot)},
		ClaimedAt:       timeOf(c.claimedAt),
		CancelRequested: c.asked != nil,
		CancelReason:    textOf(c.why),
		Durable:         c.journal != nil && *c.journal,
		Checkpoint:      c.check.checkpoint(),
	}, err
}

// claimAnswer collects the rows of a claim.
type claimAnswer struct {
	node    int64
	alive   bool
	lanes   []int32
	claimed []store.Claimed
}

func (a *claimAnswer) add(c *claimRow) error {
	claimed, err := c.claimed(a.node)
	a.claimed = append(a.claimed, claimed)
	a.lanes = append(a.lanes, *c.lane)
	return err
}

// named returns the jobs with what their lanes say, in the order of their slots.
func (s *Store) named(ctx context.Context, a *claimAnswer) ([]store.Claimed, error) {
	if !a.alive {
		return nil, store.ErrNodeDead
	}
	if err := s.knowLanes(ctx, a.lanes); err != nil {
		return nil, err
	}
	for i := range a.claimed {
		if err := s.describe(&a.claimed[i].Job, a.lanes[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(a.claimed, func(x, y store.Claimed) int { return compareLeases(x.Lease, y.Lease) })
	return a.claimed, nil
}

// leeway is how far ahead of our clock the run time of a pointer may be. Whoever put it into ready found it due, by a clock
// that may be a little ahead of ours: were it left alone, the wake-up that came with it would be in vain.
func (s *Store) leeway() int64 {
	if s.config.Clock != nil {
		return 0 // there is one clock
	}
	return time.Second.Microseconds()
}

func (s *Store) claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	now := s.now()
	answer := &claimAnswer{node: params.Node}
	var queues []string
	var limits []int32
	if params.Queues != nil {
		queues, limits = []string{}, []int32{}
		for _, q := range params.Queues {
			queues, limits = append(queues, q.Name), append(limits, int32(min(max(q.Limit, 0), maxClaim)))
		}
	}
	kinds := params.Kinds
	if kinds == nil {
		kinds = []string{}
	}
	err := s.send(ctx, statement{
		name: "claim",
		args: []any{
			params.Node, params.Seq, params.Namespace, queues, limits, kinds, int32(params.Limit), now, params.Aging.Microseconds(), params.Repeat,
			now + s.leeway(),
		},
		each: func(r row) error {
			answer.alive = true
			var n *int64
			c := claimRow{claimedAt: now}
			if err := r.Scan(append([]any{&n}, c.columns()...)...); err != nil || n == nil {
				return err
			}
			seq, slot := params.Seq+*n/store.MaxClaimSlots, *n%store.MaxClaimSlots
			c.seq, c.slot = &seq, &slot
			return answer.add(&c)
		},
	})
	if err != nil {
		return nil, err
	}
	return s.named(ctx, answer)
}

// claimAgain returns what the claim with these parameters took, if it happened; otherwise it happens now.
func (s *Store) claimAgain(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Repeat = true
	answer, lastSeq, err := s.claimsFrom(ctx, params)
	if err != nil {
		return nil, err
	}
	if !answer.alive || lastSeq >= params.Seq {
		return s.named(ctx, answer)
	}
	claimed, err := s.claim(ctx, params)
	if len(claimed) > 0 || err != nil {
		return claimed, err
	}
	// Either there is nothing to claim, or the lost claim was still on its way and has come through just now.
	if answer, _, err = s.claimsFrom(ctx, params); err != nil {
		return nil, err
	}
	return s.named(ctx, answer)
}

// claimsFrom reads the claim records from params.Seq on.
func (s *Store) claimsFrom(ctx context.Context, params store.ClaimParams) (answer *claimAnswer, lastSeq int64, err error) {
	answer = &claimAnswer{node: params.Node}
	records := int64((params.Limit + store.MaxClaimSlots - 1) / store.MaxClaimSlots)
	err = s.send(ctx, statement{
		name: "claim_again",
		args: []any{params.Node, params.Seq, params.Seq + records},
		each: func(r row) error {
			answer.alive = true
			var c claimRow
			var at *int64
			if err := r.Scan(append([]any{&lastSeq, &c.seq, &c.slot, &at}, c.columns()...)...); err != nil {
				return err
			}
			if c.seq == nil || c.createdAt == nil {
				return nil
			}
			c.claimedAt = *at
			return answer.add(&c)
		},
	})
	return answer, lastSeq, err
}
