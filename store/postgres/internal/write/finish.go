package write

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/gating"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// runOf turns an outcome into a run.
func runOf(o *store.Outcome, now int64) *Run {
	r := &Run{
		Lease: o.Lease, outcome: o, State: o.State, Reason: string(o.Reason), Error: o.Error, trace: o.Trace,
		startedAt: pg.OptMicros(o.StartedAt), version: o.Version, Answers: o.Answers, Parent: o.Parent,
	}
	if o.Durable {
		r.Traits |= pg.TraitDurable
	}
	if o.HasChildren {
		r.Traits |= pg.TraitChildren
	}
	if o.CancelSeen {
		r.Traits |= pg.TraitCancelSeen
	}
	if o.State == store.Waiting && o.Reason == store.ReasonNondeterminism && o.Wait != nil && o.Wait.Held {
		r.Traits |= pg.TraitContradicts
	}
	switch o.State {
	case store.Completed:
		r.result, r.Reason, r.Error = o.Result, "", ""
	case store.Failed:
	case store.Cancelled:
		r.Reason = string(store.ReasonCancelled)
	case store.Available:
		r.RunAt = now
		if o.KeepsPlace {
			r.Traits |= pg.TraitKeepsPlace
		}
		if r.next = o.Continue; r.next != nil {
			r.Traits |= pg.TraitContinues | pg.TraitDurable
		}
	case store.Retryable, store.Scheduled:
		r.RunAt = now + max(o.Delay, 0).Microseconds()
		if !o.RunAt.IsZero() {
			r.RunAt = o.RunAt.UnixMicro()
		}
	case store.Waiting:
		r.park(o.Wait)
	default: // refused
	}
	r.invalid = o.Check()
	return r
}

// codec is that of the result, nil for JSON.
func (r *Run) codec() *int32 {
	if r.outcome == nil || r.outcome.Codec == 0 {
		return nil
	}
	codec := int32(r.outcome.Codec)
	return &codec
}

// fingerprint is that of the failure, nil if it has none.
func (r *Run) fingerprint() *int64 {
	if r.outcome == nil || r.outcome.Fingerprint == 0 {
		return nil
	}
	return &r.outcome.Fingerprint
}

// isPlain reports whether a run ends on the fast path: nothing but its claim record and the
// finished row is written.
func (r *Run) isPlain() bool {
	return r.completes() && !r.Answers && r.outcome.Meta.IsEmpty() && !r.outcome.HasSuccessors
}

// completes reports whether that is all that the end of a run writes for its own job; it may answer
// a parent besides.
func (r *Run) completes() bool {
	o := r.outcome
	return r.State == store.Completed && o != nil && !o.HasUnique && !o.HasOrdering && !o.HasChildren && !o.InTx
}

// leavesNothing reports whether the run leaves neither an attempt nor a finished row if it is
// applied as asked.
func (r *Run) leavesNothing() bool { return r.State == store.Waiting || r.next != nil }

// needsBody reports whether the end of the run needs the body of its own job locked: because it
// changes the body, or looks at messages, or the run says something of its job. The end of a job
// with a journal also waits for what its run is still writing to it in a caller's transaction. To
// answer takes the body of the parent, and of the child's no more than what never changes.
func (r *Run) needsBody() bool {
	o := r.outcome
	return !r.State.Finished() || r.Traits&pg.TraitDurable != 0 || o != nil && (o.InTx || !o.Meta.IsEmpty())
}

// frees reports whether the run may have freed the turn of an ordering key.
func (r *Run) frees() bool { return r.Final.Finished() && (r.outcome == nil || r.outcome.HasOrdering) }

// settle passes what became of the run to its outcome.
func (r *Run) settle() {
	if r.outcome == nil {
		return
	}
	o := r.outcome
	o.Final, o.Err, o.Due = r.Final, nil, time.Time{}
	if r.Final == 0 {
		o.Err = store.LostLease(o.Lease.Job)
	}
	switch r.Final {
	case store.Scheduled, store.Retryable, store.Waiting:
		if !r.known && r.FinalRunAt != pg.Never {
			o.Due = pg.TimeOf(r.FinalRunAt)
		}
	default:
	}
}

// IsPossible reports whether a lease can be one of ours at all: what is not cannot be asked about
// in a statement.
func IsPossible(l store.Lease) bool { return l.Slot >= 0 && l.Slot < store.MaxClaimSlots }

// groups are leases by their claim records, as the statements of finish.sql want them.
type groups struct {
	nodes, records, masks []int64
	first, last           []int32 // from 1
	slots, place          []int32
	ids                   []pgtype.UUID
	leases                []int64
}

// groupLeases groups leases, which must be sorted.
func groupLeases(n int, lease func(int) store.Lease) *groups {
	g := &groups{slots: make([]int32, n), place: make([]int32, n), ids: make([]pgtype.UUID, n), leases: make([]int64, n)}
	for i := range n {
		l := lease(i)
		last := len(g.nodes) - 1
		if last < 0 || g.nodes[last] != l.Node || g.records[last] != l.Claim {
			g.nodes, g.records, g.masks = append(g.nodes, l.Node), append(g.records, l.Claim), append(g.masks, 0)
			g.first, g.last = append(g.first, int32(i+1)), append(g.last, 0)
			last++
		}
		g.masks[last] |= 1 << l.Slot
		g.last[last] = int32(i + 1)
		g.slots[i], g.place[i], g.ids[i], g.leases[i] = int32(l.Slot), int32(last+1), pg.UUIDOf(l.Job), l.Number
	}
	return g
}

func (g *groups) args() []any {
	return []any{g.nodes, g.records, g.masks, g.first, g.last, g.slots, g.ids, g.leases}
}

// groupRuns sorts runs by their leases, in place, and groups these. What a statement answers by the
// place of a run is by this order.
func groupRuns(runs []*Run) *groups {
	slices.SortFunc(runs, func(a, b *Run) int { return pg.CompareLeases(a.Lease, b.Lease) })
	return groupLeases(len(runs), func(i int) store.Lease { return runs[i].Lease })
}

// complete is the statement that ends plain completions. It fails with pg.CodeRefused if not all of
// their leases live.
func complete(runs []*Run, now int64) pg.Statement {
	g := groupRuns(runs)
	results, codecs, startedAt := make([][]byte, len(runs)), make([]*int32, len(runs)), make([]*int64, len(runs))
	for i, r := range runs {
		results[i], codecs[i], startedAt[i] = r.result, r.codec(), r.startedAt
	}
	// What is found is set here, before the statement ran: it is all or nothing.
	for _, r := range runs {
		r.Final = store.Completed
	}
	return pg.Statement{Name: "complete", Args: append(g.args(), pg.IfAnyBytes(results), pg.IfSet(codecs), pg.IfSet(startedAt), g.place, now)}
}

// conclude is the statement that ends all other runs, in the same way. It finds out what became of
// each, by a rule that is a copy in SQL of store.Ending.Meet: what changes in one changes in the
// other. endingTable in store/storetest/durable holds both to one table of all combinations.
func conclude(runs []*Run, reported bool, now int64) pg.Statement {
	g := groupRuns(runs) // from now on runs have the order of the answer
	n := len(runs)
	states, runAt, startedAt := make([]int32, n), make([]int64, n), make([]*int64, n)
	reasons, errors, traces, results := make([]*string, n), make([]*string, n), make([]*string, n), make([][]byte, n)
	traits, versions := make([]int32, n), make([]*string, n)
	codecs, fingerprints := make([]*int32, n), make([]*int64, n)
	for i, r := range runs {
		codecs[i], fingerprints[i] = r.codec(), r.fingerprint()
		states[i], runAt[i], startedAt[i] = int32(r.State), r.RunAt, r.startedAt
		reasons[i], errors[i], traces[i], results[i] = pg.OptText(r.Reason), pg.OptText(r.Error), pg.OptText(r.trace), r.result
		traits[i], versions[i] = r.Traits, pg.OptText(r.version)
		r.Final = 0
	}
	args := append(g.args(), g.place, states, runAt,
		pg.IfAny(reasons), pg.IfAny(errors), pg.IfAny(traces), pg.IfAnyBytes(results), pg.IfSet(codecs), pg.IfSet(fingerprints),
		pg.IfSet(startedAt),
		reported, now, traits, pg.IfAny(versions))
	args = append(args, waitArgs(runs)...)
	return pg.Statement{Name: "conclude", Args: args, Each: func(row pg.Row) error {
		var (
			place  int64
			final  int32
			reason *string
			runAt  int64
			lane   int32
		)
		if err := row.Scan(&place, &final, &reason, &runAt, &lane); err != nil {
			return err
		}
		r := runs[place-1]
		r.Final, r.FinalReason, r.FinalRunAt, r.Lane = store.State(final), store.Reason(pg.TextOf(reason)), runAt, lane
		return nil
	}}
}

// liveRuns locks the claim records of runs and splits them into those whose lease lives and those
// whose does not.
func liveRuns(ctx context.Context, t pg.Runner, runs []*Run) (live, lost []*Run, err error) {
	places, err := liveLeases(ctx, t, len(runs), func(i int) store.Lease { return runs[i].Lease })
	for i, r := range runs {
		if places[i] {
			live = append(live, r)
		} else {
			lost = append(lost, r)
		}
	}
	return live, lost, err
}

// liveLeases tells which leases live, and locks their claim records.
func liveLeases(ctx context.Context, t pg.Runner, n int, lease func(int) store.Lease) ([]bool, error) {
	live := make([]bool, n)
	nodes, records, slots, ids, numbers := LeaseArgs(n, lease)
	err := t.Run(ctx, "live_leases", func(r pg.Row) error {
		var place int64
		if err := r.Scan(&place); err != nil {
			return err
		}
		live[place-1] = true
		return nil
	}, nodes, records, slots, ids, numbers)
	return live, err
}

// LeaseArgs are leases one by one, as the statements live_leases and append_live want them.
func LeaseArgs(n int, lease func(int) store.Lease) (nodes, records []int64, slots []int32, ids []pgtype.UUID, numbers []int64) {
	nodes, records, slots, ids, numbers = make([]int64, n), make([]int64, n), make([]int32, n), make([]pgtype.UUID, n), make([]int64, n)
	for i := range n {
		l := lease(i)
		nodes[i], records[i], slots[i], ids[i], numbers[i] = l.Node, l.Claim, int32(l.Slot), pg.UUIDOf(l.Job), l.Number
	}
	return nodes, records, slots, ids, numbers
}

// recognise finds out which of the outcomes that are repeated, and whose lease is lost, were
// applied the first time.
func recognise(ctx context.Context, t pg.Runner, lost []*Run) error {
	var asked []*Run
	var ids []pgtype.UUID
	var leases, nodes []int64
	var states []int32
	for _, r := range lost {
		if r.outcome.Repeat {
			asked = append(asked, r)
			ids, leases, nodes = append(ids, pg.UUIDOf(r.Lease.Job)), append(leases, r.Lease.Number), append(nodes, r.Lease.Node)
			states = append(states, 0)
			if r.leavesNothing() {
				states[len(states)-1] = int32(r.State)
			}
		}
	}
	if asked == nil {
		return nil
	}
	return t.Run(ctx, "outcomes_applied", func(row pg.Row) error {
		var place int64
		var state int32
		if err := row.Scan(&place, &state); err != nil {
			return err
		}
		asked[place-1].Final, asked[place-1].known = store.State(state), true
		return nil
	}, ids, leases, nodes, states)
}

// Endings are the statements that end runs other than plain completions, and do at once what
// follows from it: jobs start over, parents are told, and children to be closed are noted. The
// bodies that they touch are locked. Waking is left to the end of the transaction. all are the runs
// of the whole batch.
func Endings(runs, all []*Run, reported bool, now int64) []pg.Statement {
	list := append([]pg.Statement{conclude(runs, reported, now)}, continueAsNew(runs, now)...)
	return append(list, following(runs, all, now)...)
}

// fastEndings are the statements that end all runs of a batch on the fast path. One parent may have
// thousands of children, nearly all of which just complete. They end as cheaply as everybody who
// does, since others wait behind them, and only then answer.
func fastEndings(plain, others, all []*Run, now int64) (list []pg.Statement) {
	completed, concluded := slices.Clip(plain), []*Run(nil)
	for _, r := range others {
		if r.completes() {
			completed = append(completed, r)
		} else {
			concluded = append(concluded, r)
		}
	}
	if len(completed) > 0 {
		list = append(list, complete(completed, now))
		list = append(list, noteSucceeded(completed)...)
		list = append(list, noteFreed(completed)...)
	}
	if len(concluded) > 0 {
		list = append(list, conclude(concluded, true, now))
		list = append(list, continueAsNew(concluded, now)...)
	}
	return append(list, following(others, all, now)...)
}

// noteFreed is the statement that notes at which gates runs have completed, if jobs wait there.
func noteFreed(completed []*Run) []pg.Statement {
	var of []int64
	for _, r := range completed {
		if r.outcome.Gate != 0 {
			of = append(of, r.outcome.Gate)
		}
	}
	return gating.Freed(of, func() { completed[0].freed = true })
}

func (r *Run) freesGate() bool { return r.freed || r.outcome.Gate != 0 && !r.completes() }

// noteSucceeded is the statement that notes which runs have completed jobs after which others
// come, if there are any. Those that conclude ends it notes itself.
func noteSucceeded(completed []*Run) []pg.Statement {
	var ids []pgtype.UUID
	for _, r := range completed {
		if r.outcome.HasSuccessors {
			ids = append(ids, pg.UUIDOf(r.Lease.Job))
		}
	}
	if ids == nil {
		return nil
	}
	return []pg.Statement{{Name: "edge_note", Args: []any{ids}}}
}

// following are the statements for what follows from the ends of runs: parents are told, and
// children to be closed are noted.
func following(runs, all []*Run, now int64) []pg.Statement {
	var list []pg.Statement
	if children := answering(runs); len(children) > 0 {
		list = append(list, Answer(children, all, now))
	}
	var parents []pgtype.UUID
	for _, r := range runs {
		if r.Traits&pg.TraitChildren != 0 {
			parents = append(parents, pg.UUIDOf(r.Lease.Job))
		}
	}
	if parents != nil {
		list = append(list, pg.Statement{Name: "close_children", Args: []any{parents, now}})
	}
	return list
}

// EndEach ends runs one by one, each behind a savepoint, after ending them together has failed. A
// run that cannot be ended for a reason that is its own gets the error; the others are not
// affected.
func EndEach(
	ctx context.Context, t pg.Session, runs []*Run, list func(*Run) []pg.Statement, own func(error) bool, failed func(*Run, error),
) error {
	for _, r := range runs {
		err := t.Attempt(ctx, func(t pg.Session) error { return t.RunAll(ctx, list(r)) })
		switch {
		case err == nil:
		case own(err):
			r.Final = 0
			failed(r, err)
		default:
			return err
		}
	}
	return nil
}
