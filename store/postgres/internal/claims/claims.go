package claims

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store hands jobs to nodes.
type Store struct {
	*local.Store
	recent atomic.Int32 // about how many jobs the larger ones of the last claims took
}

// maxClaim is the most that one claim takes. The statement's LIMIT says the same.
const maxClaim = 1000

// Claim is that of store.Claims, without the class of its error.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Limit = min(max(params.Limit, 0), maxClaim)
	if !params.Repeat {
		claimed, err := s.claimNext(ctx, params)
		if pg.CodeOf(err) != pg.CodeUnique {
			return claimed, err
		}
		// The number was used: by the same claim, whose answer was lost.
	}
	var claimed []store.Claimed
	err := pg.RetryOnConflict(ctx, func() (err error) {
		claimed, err = s.claimAgain(ctx, params)
		return err
	})
	return claimed, err
}

// claimNext takes what comes next, where the cursors say that there is work. If that is no more
// than half of what was asked for it looks a second time, at everything or near the cursors: lanes
// that were not looked at may have more. Not if a queue gave all that was asked of it: then there
// is enough to do for now, and the engine claims again anyway, of all queues. What Begin returns
// for a claim that is done again is always Enough: then only lanes are looked at once more beside
// which others hold jobs (claimBeside). If a later round fails the claim has failed as a whole,
// although the first part has happened: whether the later one has is not known, and a repeat by the
// first number finds both.
func (s *Store) claimNext(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	var all []store.Claimed
	records := store.ClaimRecords(params.Limit)
	for again := false; ; {
		look := s.Cursors.Begin(&params, again, &s.Lanes)
		claimed, seen, err := s.claimAt(ctx, params, look)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = claimed
		} else {
			all = append(all, claimed...)
		}
		used := store.ClaimRecords(len(claimed))
		records -= used
		params.Seq += int64(used)
		short := params.Limit - len(claimed)
		left := gates.LeftOf(params.Queues, claimed)
		seen.tell(params.Passed)
		if (seen.gaveUp || seen.hides) && short > 0 && !anyUsedUp(params.Queues, left) {
			if seen.hides && records > 0 { // now it is known that there are jobs that have gates
				params.Limit, params.Queues = min(short, records*store.MaxClaimSlots), left
				continue
			}
			if params.Passed != nil {
				params.Passed.More = true
			}
			return all, nil
		}
		again = true
		if anyUsedUp(params.Queues, left) || 2*short < params.Limit || records == 0 {
			return all, nil
		}
		params.Limit, params.Queues = min(short, records*store.MaxClaimSlots), left
		if look.Enough {
			beside, err := s.claimBeside(ctx, params, seen)
			return append(all, beside...), err
		}
	}
}

// mostBeside is how often a claim looks beside lanes that others hold.
const mostBeside = 16

// claimBeside takes what there is beside lanes that gave less than they were to: others hold jobs
// of theirs, and a caller's transaction may do so for long.
func (s *Store) claimBeside(ctx context.Context, params store.ClaimParams, seen sight) (claimed []store.Claimed, err error) {
	for range mostBeside {
		look := seen.beside()
		if look == nil {
			break
		}
		if claimed, seen, err = s.claim(ctx, params, look, map[int32]local.Span{}); err != nil || len(claimed) > 0 {
			break
		}
	}
	return claimed, err
}

// sight is what a claim has seen: lanes with jobs, best first, and those that gave less than they
// were to.
type sight struct {
	work   []local.Work
	short  []int32
	behind int       // jobs that were taken and wait at their gates now
	gaveUp bool      // there may be others: so many that they were not looked for, or they were put into ready
	lookAt time.Time // when one that waits for the rate of its key may start; zero: none is known
	hides  bool      // jobs that have a gate or a fair key were seen, of which the claim did not know
}

// tell adds what the claim has passed over, if anybody asks.
func (s *sight) tell(passed *store.Passed) {
	if passed == nil {
		return
	}
	if passed.Jobs += s.behind; !s.lookAt.IsZero() {
		passed.Waits(s.lookAt)
	}
}

// beside returns a look at the lanes that were seen but for those that gave less; nil if that is
// nothing else.
func (s *sight) beside() *local.Look {
	if len(s.short) == 0 {
		return nil
	}
	l := &local.Look{}
	for _, w := range s.work {
		if !slices.Contains(s.short, w.Lane) {
			l.Add(w.Lane, local.Position{RunAt: w.First}, math.MaxInt64)
		}
	}
	if l.Lanes == nil {
		return nil
	}
	return l
}

// anyUsedUp reports whether by one of the demands nothing is left that might be taken.
func anyUsedUp(all, left []store.QueueDemand) bool {
	for i := range all {
		if all[i].Limit > 0 && left[i].Limit <= 0 {
			return true
		}
	}
	return false
}

// claimAt is one claim of what is looked at.
func (s *Store) claimAt(ctx context.Context, params store.ClaimParams, look *local.Look) ([]store.Claimed, sight, error) {
	taken := map[int32]local.Span{}
	claimed, seen, err := s.claim(ctx, params, look, taken)
	if err != nil {
		s.Cursors.Fail(look)
		return nil, seen, err
	}
	full := len(claimed)+seen.behind >= params.Limit || anyUsedUp(params.Queues, gates.LeftOf(params.Queues, claimed))
	s.Cursors.End(look, taken, seen.work, full, &s.Lanes)
	return claimed, seen, nil
}

// claimRow is what is scanned of a claimed job. One is used for all rows of a claim, so what is
// nearly never NULL is not a pointer: that would be made again for each.
type claimRow struct {
	n, lastSeq           pgtype.Int8 // of the one statement and of the other
	seq, slot, claimedAt pgtype.Int8
	id                   pgtype.UUID
	lane                 pgtype.Int4
	runAt, createdAt     pgtype.Int8
	lease                pgtype.Int8
	attempt, max, codec  pgtype.Int4
	body                 pg.Body
	journal, asked       pgtype.Bool
	why                  *string
	check                pg.CheckpointRow
	work                 pgtype.FlatArray[int64] // lane, run time of its first job, and so on
	short                pgtype.FlatArray[int32] // lanes
}

// columns are the places of the columns that both statements answer with, from lane to the end,
// after those that one of them begins with.
func (c *claimRow) columns(first ...any) []any {
	return append(first,
		&c.lane, &c.runAt, &c.id, &c.createdAt, &c.lease, &c.attempt, &c.max, &c.codec, &c.body.Args, &c.body.Options, &c.body.Tags,
		&c.body.Metadata, &c.body.OrderingKey, &c.body.UniqueKey, &c.body.UniqueStates, &c.body.Parent, &c.body.Link, &c.body.Closing,
		&c.journal, &c.asked, &c.why,
		&c.check.Percent, &c.check.Message, &c.check.Value, &c.check.UpdatedAt,
	)
}

// fill turns the row of a job into what a claim answers. What its lane says is left out.
func (c *claimRow) fill(to *store.Claimed, node int64) (err error) {
	c.body.Lane, c.body.RunAt, c.body.CreatedAt = c.lane.Int32, c.runAt.Int64, c.createdAt.Int64
	c.body.Lease, c.body.Attempt, c.body.MaxAttempts, c.body.Codec = c.lease.Int64+1, c.attempt.Int32+1, c.max.Int32, c.codec.Int32
	err = c.body.Fill(&to.Job, c.id.Bytes)
	to.Lease = store.Lease{Job: to.Job.ID, Number: to.Job.LeaseNumber, Node: node, Claim: c.seq.Int64, Slot: int(c.slot.Int64)}
	to.ClaimedAt = pg.TimeOf(c.claimedAt.Int64)
	to.CancelRequested, to.CancelReason = c.asked.Valid, pg.TextOf(c.why)
	to.Durable, to.HasSuccessors = c.journal.Bool, c.body.HasSuccessors()
	to.Checkpoint = c.check.Checkpoint()
	return err
}

// claimAnswer collects the rows of a claim.
type claimAnswer struct {
	expected int // how many jobs there may be: they are large, and it is dear to move them to a larger place
	alive    bool
	row      claimRow
	lanes    []int32
	claimed  []store.Claimed
}

// empty drops the jobs of the answer, but not the row that is scanned into.
func (a *claimAnswer) empty() { a.alive, a.lanes, a.claimed = false, nil, nil }

func (a *claimAnswer) add(node int64) error {
	if a.claimed == nil {
		a.claimed, a.lanes = make([]store.Claimed, 0, a.expected), make([]int32, 0, a.expected)
	}
	a.claimed, a.lanes = append(a.claimed, store.Claimed{}), append(a.lanes, a.row.lane.Int32)
	return a.row.fill(&a.claimed[len(a.claimed)-1], node)
}

// named returns the jobs with what their lanes say, in the order of their slots.
func (s *Store) named(ctx context.Context, node int64, a *claimAnswer) ([]store.Claimed, error) {
	if !a.alive {
		return nil, refusal.DeadNode(node)
	}
	if len(a.claimed) == 0 {
		return nil, nil
	}
	if err := s.KnowLanes(ctx, a.lanes); err != nil {
		return nil, err
	}
	for i := range a.claimed {
		if err := s.Describe(&a.claimed[i].Job, a.lanes[i]); err != nil {
			return nil, err
		}
	}
	// Nearly always they come in order, and moving them is not cheap.
	if inOrder := func(x, y store.Claimed) int { return pg.CompareLeases(x.Lease, y.Lease) }; !slices.IsSortedFunc(a.claimed, inOrder) {
		slices.SortStableFunc(a.claimed, inOrder)
	}
	return clipped(a.claimed), nil
}

// clipped are jobs in a place of about their size, which is kept for as long as one of them is.
func clipped(claimed []store.Claimed) []store.Claimed {
	if len(claimed) < cap(claimed)/2 {
		return slices.Clone(claimed)
	}
	return slices.Clip(claimed)
}

// Args are the arguments of the statement claim.
func (s *Store) Args(params store.ClaimParams, now int64, look *local.Look) []any {
	demands, limits := places(params.Queues)
	kinds := params.Kinds
	if kinds == nil {
		kinds = []string{}
	}
	return []any{
		params.Node, params.Seq, params.Namespace, demands, limits, kinds, int32(params.Limit), now, params.Aging.Microseconds(), params.Repeat,
		look.Lanes, look.From, look.IDs, look.Until,
	}
}

// places are the parameters that say what may be taken: a document that has the place of a demand,
// from 1 on, by its queue and kind, NULL without demands; and how many jobs may be taken by each.
func places(demands []store.QueueDemand) (document *string, limits []int32) {
	if demands == nil {
		return nil, nil
	}
	at := make(map[string]map[string]int, len(demands))
	limits = make([]int32, len(demands))
	for i, d := range demands {
		limits[i] = int32(min(max(d.Limit, 0), maxClaim))
		if !pg.IsText(d.Name) || !pg.IsText(d.Kind) {
			continue // nothing is called so
		}
		if at[d.Name] == nil {
			at[d.Name] = make(map[string]int, 1)
		}
		if at[d.Name][d.Kind] == 0 {
			at[d.Name][d.Kind] = i + 1
		}
	}
	text, _ := json.Marshal(at) //nolint:errchkjson // plain texts and numbers cannot fail
	whole := string(text)
	return &whole, limits
}

// sorts are what a claim knows of the jobs that there are: whether some count in limits per key,
// and whether some have fair keys.
type sorts struct{ gates, fair bool }

func (s *Store) sortsOf(namespace string) sorts {
	return sorts{s.Gates.Has(namespace) && !s.Gates.Avoids(namespace), s.Fair.Has(namespace)}
}

// statement is the one that takes jobs of these sorts.
func (o sorts) statement() string {
	switch {
	case o.fair && o.gates:
		return "claim_fair_gated"
	case o.fair:
		return "claim_fair"
	case o.gates:
		return "claim_gated"
	}
	return "claim"
}

// takes are the arguments of the statement of a claim.
func (s *Store) takes(params *store.ClaimParams, now int64, look *local.Look, of sorts) []any {
	args := append(s.Args(*params, now, look), of.gates)
	if of.fair {
		args = append(args, params.Turn())
	}
	return args
}

// claim takes jobs of what is looked at, and notes which of each lane. It returns what it has seen.
func (s *Store) claim(
	ctx context.Context, params store.ClaimParams, look *local.Look, taken map[int32]local.Span,
) (claimed []store.Claimed, seen sight, err error) {
	now := s.Micros()
	answer := &claimAnswer{expected: min(int(s.recent.Load())*5/4+1, params.Limit)}
	c, of := &answer.row, s.sortsOf(params.Namespace)
	columns := append(c.columns(&c.n), &c.work, &c.short)
	var lanes []int32
	taking := pg.Statement{
		Name: of.statement(), Args: s.takes(&params, now, look, of),
		Each: func(r pg.Row) error {
			answer.alive = true
			if err := r.Scan(columns...); err != nil {
				return err
			}
			for w := range slices.Chunk(c.work, 2) {
				lanes, seen.work = append(lanes, int32(w[0])), append(seen.work, local.Work{Lane: int32(w[0]), First: w[1]})
			}
			seen.short = append(seen.short, c.short...)
			if !c.n.Valid {
				return nil
			}
			local.Note(taken, c.lane.Int32, local.Position{RunAt: c.runAt.Int64, ID: c.id.Bytes})
			c.seq.Int64, c.slot.Int64 = params.Seq+c.n.Int64/store.MaxClaimSlots, c.n.Int64%store.MaxClaimSlots
			c.claimedAt.Int64 = now
			return answer.add(params.Node)
		},
	}
	judged := &gated{store: s, params: &params, now: now, answer: answer}
	judged.taking = func(left store.ClaimParams) pg.Statement { taking.Args = s.takes(&left, now, look, of); return taking }
	// No more is repeated: what was claimed before, and what is asked after it, has happened.
	err = pg.RetryOnConflict(ctx, func() error {
		answer.empty() // a try may fail after its first rows
		clear(taken)
		lanes, seen = nil, sight{}
		if !of.gates {
			return s.SendSticky(ctx, &s.Claiming, taking)
		}
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return judged.run(ctx, s, t) })
	})
	if judged.held {
		s.Gates.Avoid(params.Namespace)
		return s.claim(ctx, params, look, taken)
	}
	if err != nil {
		return nil, sight{}, err
	}
	if of.gates {
		claimed, seen = judged.saw(seen)
	} else if claimed, err = s.named(ctx, params.Node, answer); err != nil {
		return nil, sight{}, err
	}
	s.Hint(judged.handed)
	s.recent.Store(max(int32(len(claimed)), s.recent.Load()*3/4))
	if err := s.KnowLanes(ctx, lanes); err != nil {
		return nil, sight{}, err
	}
	seen.hides = s.noteSorts(of, params.Namespace, look, lanes, taken) && !s.Gates.Avoids(params.Namespace)
	return claimed, seen, nil
}

// claimAgain returns what the claim with these parameters took, if it happened; otherwise it
// happens now.
func (s *Store) claimAgain(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Repeat = true
	until := params.Seq + int64(params.Records())
	ask := func(st pg.Statement) error {
		return s.Send(ctx, pg.Statement{Name: "claim_note", Args: []any{params.Node, params.Seq, until}}, st)
	}
	claimed, happened, err := s.From(ctx, params, ask)
	if err != nil || happened || params.After.Claim != 0 {
		return claimed, err
	}
	claimed, seen, err := s.claim(ctx, params, &local.Look{Whole: true}, map[int32]local.Span{})
	if seen.tell(params.Passed); params.Passed != nil {
		params.Passed.More = (seen.gaveUp || seen.hides) && len(claimed) < params.Limit
	}
	if overtaken := pg.CodeOf(err) == pg.CodeUnique; len(claimed) > 0 || err != nil && !overtaken {
		return claimed, err
	}
	// Either there is nothing to claim, or the lost claim was still on its way and has come through
	// just now: it took all there was, or the number.
	claimed, _, err = s.From(ctx, params, ask)
	return claimed, err
}

// From reads the claim records from params.Seq on, of a claim or of jobs that started as they
// were enqueued.
func (s *Store) From(
	ctx context.Context, params store.ClaimParams, ask func(pg.Statement) error,
) (claimed []store.Claimed, happened bool, err error) {
	most := params.Records() * store.MaxClaimSlots
	if params.Limit < params.Sent {
		most = params.Limit
	}
	answer := &claimAnswer{expected: most}
	c := &answer.row
	columns := c.columns(&c.lastSeq, &c.seq, &c.slot, &c.claimedAt)
	err = ask(pg.Statement{
		Name: "claim_again",
		Args: []any{
			params.Node, params.Seq, params.Seq + int64(params.Records()), params.After.Claim, int64(params.After.Slot), int32(most),
		},
		Each: func(r pg.Row) error {
			answer.alive = true
			if err := r.Scan(columns...); err != nil {
				return err
			}
			happened = happened || c.lastSeq.Int64 >= params.Seq || c.seq.Valid
			if !c.seq.Valid || !c.createdAt.Valid {
				return nil
			}
			return answer.add(params.Node)
		},
	})
	if err != nil {
		return nil, false, err
	}
	claimed, err = s.named(ctx, params.Node, answer)
	return claimed, happened, err
}
