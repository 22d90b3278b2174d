package claims

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// gated is a claim that may take jobs that count in limits per key.
type gated struct {
	store   *Store
	params  *store.ClaimParams
	now     int64
	answer  *claimAnswer
	taking  func(store.ClaimParams) pg.Statement
	through map[int64]int   // how many it has let through, by gate
	behind  int             // how many it has put behind their gates
	handed  map[int32]int64 // the earliest place in each lane at which one was put into ready
	claimed []store.Claimed
	gates   []int64        // of claimed
	keys    map[int64]*key // those that have a rate, as they were when the rules had been locked
	lookAt  time.Time      // when the first that waits for its rate may start

	locked []string // limits whose rules it has locked, and no others
	others bool     // jobs of others were put back: there may be some to claim
	held   bool     // another process has held the rules for too long
}

// gate is one as the claim finds it.
type gate struct {
	gates.Gate
	waiting []waiting // what Heads has
	wants   int32     // jobs of the claim
	other   bool      // it is of a limit whose rules are not locked
}

// add adds a job that waits there.
func (g *gate) add(priority int, w waiting) {
	g.Heads = append(g.Heads, gates.Place{Priority: priority, RunAt: w.runAt, ID: w.id})
	g.waiting = append(g.waiting, w)
}

type waiting struct {
	lane  int32
	runAt int64
	id    store.ID
}

// over is a job that is to wait at its gate.
type over struct {
	gate  int64
	place gates.Place
	lane  int32
}

// roundGrowth is how many times as many jobs a claim takes in each round as in the one before, up
// to maxRound. One of few jobs may meet thousands that do not run, and others wait for the rules
// meanwhile, which they do not do for long.
const (
	roundGrowth = 4
	maxRound    = 256
)

// ofSize returns a claim that takes so many jobs, of each queue as well.
func ofSize(left store.ClaimParams, size int) store.ClaimParams {
	if left.Limit >= size {
		return left
	}
	left.Limit, left.Queues = size, slices.Clone(left.Queues)
	for i := range left.Queues {
		if q := &left.Queues[i]; q.Limit > 0 {
			q.Limit = max(q.Limit, size)
		}
	}
	return left
}

// rulesPatience is how long a claim waits for the rules of limits. Claims hold them for some
// milliseconds; a process that has stopped meanwhile does until the server ends its transaction.
const rulesPatience = "250ms"

// run takes jobs, decides which of them run, takes others in the place of those that do not, and
// writes the records, all in one transaction. The rules are locked after the first jobs were taken,
// and until the commit: claims of one limit follow one another for that long. No others are locked
// later, as another claim might have them and wait for these.
func (g *gated) run(ctx context.Context, s *Store, t pg.Session) error {
	g.through, g.behind, g.handed = map[int64]int{}, 0, nil
	g.claimed, g.gates, g.locked, g.others = nil, nil, nil, false
	g.keys, g.lookAt = map[int64]*key{}, time.Time{}
	left := *g.params
	for size := left.Limit; ; size = min(roundGrowth*size, maxRound) {
		g.answer.empty() // of the round before
		if err := g.taking(ofSize(left, size)).On(ctx, t); err != nil {
			return err
		}
		claimed, lanes, err := s.describedIn(ctx, t, left.Node, g.answer)
		if err != nil {
			return err
		}
		through, behind, err := g.judge(ctx, t, &left, claimed, lanes)
		if err != nil {
			return err
		}
		if g.claimed == nil {
			g.claimed = through // nearly always these are all: jobs are large
		} else {
			g.claimed = append(g.claimed, through...)
		}
		if left.Limit -= len(through); left.Limit == 0 || behind == 0 || g.behind >= gates.Most || g.others {
			break
		}
		if left.Repeat { // the node has noted the number, and takes no other claim with it
			left.Repeat = false
			left.Seq++
		}
		left.Queues = gates.LeftOf(left.Queues, through)
	}
	for n := range g.claimed {
		g.claimed[n].Lease.Claim = g.params.Seq + int64(n/store.MaxClaimSlots)
		g.claimed[n].Lease.Slot = n % store.MaxClaimSlots
	}
	return t.Last(ctx, append(g.records(), g.keep()...)...)
}

// saw returns what was claimed, and adds to what was seen. Of what the claim has put into ready no
// other node is told.
func (g *gated) saw(seen sight) ([]store.Claimed, sight) {
	seen.work, seen.behind, seen.gaveUp = onceEach(seen.work), g.behind, g.behind >= gates.Most || len(g.handed) > 0
	if seen.lookAt = g.lookAt; g.behind > 0 {
		g.store.Gates.PutBehind()
	}
	return clipped(g.claimed), seen
}

// onceEach leaves each lane once, where a claim that has looked several times saw it first. Ranges
// of one lane that overlap would give each of its jobs twice.
func onceEach(work []local.Work) []local.Work {
	seen := make(map[int32]bool, len(work))
	return slices.DeleteFunc(work, func(w local.Work) bool {
		twice := seen[w.Lane]
		seen[w.Lane] = true
		return twice
	})
}

// judge returns those of the jobs that run, as many as there is room for, and how many wait at
// their gates now. Those for which there is no room go back to ready, as does the first of a limit
// whose rules are not locked, and all that come after it: none overtakes it.
func (g *gated) judge(
	ctx context.Context, t pg.Session, left *store.ClaimParams, claimed []store.Claimed, lanes []int32,
) ([]store.Claimed, int, error) {
	of := make([]int64, len(claimed))
	for i := range claimed {
		of[i] = claimed[i].Job.Gate()
	}
	found, err := g.look(ctx, t, claimed, of)
	if err != nil {
		return nil, 0, err
	}
	var behind []over
	var back []waiting
	var noted []int64 // gates that nothing bounds, at which jobs wait for others
	through, room, stopped := claimed[:0], newRoom(left), false
	for i := range claimed {
		c := &claimed[i]
		o := over{of[i], gates.Place{Priority: c.Job.Priority, RunAt: c.Job.RunAt.UnixMicro(), ID: c.Job.ID}, lanes[i]}
		stopped = stopped || o.gate != 0 && found[o.gate].other
		switch {
		case !room.has(&c.Job) || stopped:
			back = append(back, waiting{o.lane, o.place.RunAt, o.place.ID})
		case o.gate != 0 && !found[o.gate].Admit(o.place):
			behind = append(behind, o)
			g.keys[o.gate].wait()
			if found[o.gate].Unbounded && !slices.Contains(noted, o.gate) {
				noted = append(noted, o.gate)
			}
		default:
			room.take(&c.Job)
			g.through[o.gate]++
			through = append(through, *c)
			g.gates = append(g.gates, o.gate)
		}
	}
	g.behind += len(behind)
	if moving := append(append(putting(behind), g.back(back)...), g.handing(found)...); moving != nil {
		if noted != nil {
			moving = append(moving, pg.Statement{Name: "gates_freed", Args: []any{noted}, Each: func(pg.Row) error { return nil }})
		}
		err = t.Together(ctx, moving...)
	}
	return through, len(behind), err
}

// inquiry is what a claim asks of gates. A place is that of the gate's limit, from 1 on.
type inquiry struct {
	ids    []int64
	places []int32
	limits []string
}

// add asks about a gate.
func (q *inquiry) add(id int64, limit string) {
	place := slices.Index(q.limits, limit)
	if place < 0 {
		place, q.limits = len(q.limits), append(q.limits, limit)
	}
	q.ids, q.places = append(q.ids, id), append(q.places, int32(place+1))
}

// gatesOf returns the gates of the jobs, and what is to be asked of them.
func (g *gated) gatesOf(claimed []store.Claimed, of []int64) (map[int64]*gate, *inquiry) {
	found, all := make(map[int64]*gate, len(of)), make([]gate, 0, len(of))
	q := &inquiry{ids: make([]int64, 0, len(of)), places: make([]int32, 0, len(of))}
	for i, id := range of {
		if id == 0 {
			continue
		}
		if at := found[id]; at != nil {
			at.wants++
			continue
		}
		all = append(all, gate{Gate: gates.Gate{Unbounded: true}, wants: 1}) // for this claim, if nothing else is said
		found[id] = &all[len(all)-1]
		limit := claimed[i].Job.Options.Limit
		if g.locked != nil && !slices.Contains(g.locked, limit) {
			found[id].other, g.others = true, true
			continue
		}
		q.add(id, limit)
	}
	return found, q
}

// look locks the rules of the limits, and looks at the gates of the jobs.
func (g *gated) look(ctx context.Context, t pg.Session, claimed []store.Claimed, of []int64) (map[int64]*gate, error) {
	found, q := g.gatesOf(claimed, of)
	if len(q.ids) == 0 {
		return found, nil
	}
	g.locked = append(g.locked, q.limits...)
	wants := make([]int32, len(q.ids))
	for i, id := range q.ids {
		wants[i] = found[id].wants + int32(g.through[id])
	}
	var (
		id          int64
		free, runAt pgtype.Int8
		priority    pgtype.Int4
		job         pgtype.UUID
		lane        pgtype.Int4
		kept        keptKey
	)
	columns := append([]any{&id, &free, &priority, &runAt, &job, &lane}, kept.columns()...)
	err := t.Together(ctx,
		pg.Statement{Name: "wait_at_most", Args: []any{rulesPatience}},
		pg.Statement{Name: "gate_rules_lock", Args: []any{g.params.Namespace, q.limits}},
		pg.Statement{Name: "gates_look", Args: g.looks(q, wants), Each: func(r pg.Row) error {
			if err := r.Scan(columns...); err != nil {
				return err
			}
			at := found[id]
			at.Unbounded, at.Free = !free.Valid, g.freeAt(id, int(free.Int64), &kept)-g.through[id]
			if lane.Valid {
				at.add(int(priority.Int32), waiting{lane.Int32, runAt.Int64, job.Bytes})
			}
			return nil
		}},
		pg.Statement{Name: "wait_at_most", Args: []any{pg.LockTimeout}})
	g.held = pg.CodeOf(err) == pg.CodeLockTimeout
	return found, err
}

// records are the statements that write what runs.
func (g *gated) records() (list []pg.Statement) {
	n := len(g.claimed)
	if n == 0 {
		return nil
	}
	ids, leases, of := make([]pgtype.UUID, n), make([]int64, n), make([]*int64, n)
	var keys [][]byte
	var holders []pgtype.UUID
	var anyLease, anyGate bool
	for i := range g.claimed {
		job := &g.claimed[i].Job
		ids[i], leases[i] = pg.UUIDOf(job.ID), job.LeaseNumber
		anyLease = anyLease || job.LeaseNumber > 1
		if g.gates[i] != 0 {
			of[i], anyGate = &g.gates[i], true
		}
		if len(job.UniqueKey) > 0 && !job.UniqueStates.Has(store.Running) {
			keys, holders = append(keys, job.UniqueKey), append(holders, pg.UUIDOf(job.ID))
		}
	}
	if !anyLease {
		leases = nil
	}
	if !anyGate {
		of = nil
	}
	list = append(list, pg.Statement{Name: "claim_records", Args: []any{g.params.Node, g.params.Seq, g.now, ids, leases, of}})
	if keys != nil {
		list = append(list, pg.Statement{Name: "claim_releases", Args: []any{keys, holders}})
	}
	return list
}

func putting(behind []over) []pg.Statement {
	if len(behind) == 0 {
		return nil
	}
	of, priorities, runAt := make([]int64, len(behind)), make([]int32, len(behind)), make([]int64, len(behind))
	ids, lanes := make([]pgtype.UUID, len(behind)), make([]int32, len(behind))
	for i, o := range behind {
		of[i], priorities[i], runAt[i], ids[i], lanes[i] = o.gate, int32(o.place.Priority), o.place.RunAt, pg.UUIDOf(o.place.ID), o.lane
	}
	return []pg.Statement{{Name: "gated_put", Args: []any{of, priorities, runAt, ids, lanes}}}
}

// back puts jobs into ready again.
func (g *gated) back(list []waiting) []pg.Statement {
	if len(list) == 0 {
		return nil
	}
	return []pg.Statement{{Name: "ready_again", Args: g.pointers(list)}}
}

// handing puts those that wait before jobs of the claim, and for which there is a slot, into ready.
func (g *gated) handing(found map[int64]*gate) []pg.Statement {
	var list []waiting
	for id, at := range found {
		released := at.waiting[:len(at.Released())]
		g.keys[id].release(len(released), len(at.waiting))
		list = append(list, released...)
	}
	if len(list) == 0 {
		return nil
	}
	return []pg.Statement{{Name: "gated_out", Args: g.pointers(list)}}
}

// pointers are the parameters for jobs that are ready, of which it notes where later claims have to
// look.
func (g *gated) pointers(list []waiting) []any {
	runAt, ids, lanes := make([]int64, len(list)), make([]pgtype.UUID, len(list)), make([]int32, len(list))
	for i, w := range list {
		runAt[i], ids[i], lanes[i] = w.runAt, pg.UUIDOf(w.id), w.lane
		if g.handed == nil {
			g.handed = map[int32]int64{}
		}
		if first, ok := g.handed[w.lane]; !ok || w.runAt < first {
			g.handed[w.lane] = w.runAt
		}
	}
	return []any{runAt, ids, lanes}
}

// describedIn returns the jobs of an answer with what their lanes say, and the lanes, in the order
// of the claim. Lanes that are not known are looked up in the transaction.
func (s *Store) describedIn(ctx context.Context, t pg.Session, node int64, a *claimAnswer) ([]store.Claimed, []int32, error) {
	if !a.alive {
		return nil, nil, refusal.DeadNode(node)
	}
	var missing []int32
	for _, id := range a.lanes {
		if _, ok := s.Lanes.Get(id); !ok {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		if err := t.Run(ctx, "lanes_by_id", s.CacheLane, missing); err != nil {
			return nil, nil, err
		}
	}
	claimed, lanes := a.inOrder()
	for n := range claimed {
		job := &claimed[n].Job
		if err := s.Describe(job, lanes[n]); err != nil {
			return nil, nil, err
		}
		if l, _ := s.Lanes.Get(lanes[n]); l.Limit() != job.Options.Limit {
			return nil, nil, fmt.Errorf("%w: the lane of job %s is of the limit %q, and the job of %q",
				store.ErrSchema, job.ID, l.Limit(), job.Options.Limit)
		}
	}
	return claimed, lanes, nil
}

// inOrder returns the jobs and their lanes in the order of the claim, which they nearly always come
// in: moving them is not cheap.
func (a *claimAnswer) inOrder() ([]store.Claimed, []int32) {
	compare := func(x, y store.Claimed) int { return pg.CompareLeases(x.Lease, y.Lease) }
	if slices.IsSortedFunc(a.claimed, compare) {
		return a.claimed, a.lanes
	}
	order := make([]int, len(a.claimed))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return compare(a.claimed[x], a.claimed[y]) })
	claimed, lanes := make([]store.Claimed, len(order)), make([]int32, len(order))
	for n, i := range order {
		claimed[n], lanes[n] = a.claimed[i], a.lanes[i]
	}
	return claimed, lanes
}

// noteSorts notes whether a look has seen jobs that have gates or fair keys, and reports whether it
// has seen some of a sort that it did not know of. One that has looked at everything and has seen
// none that have gates forgets them: claims with gates take several round trips. That there are
// fair keys is not forgotten, as a claim that does not know of them takes all others first.
func (s *Store) noteSorts(of sorts, namespace string, look *local.Look, seen []int32, taken map[int32]local.Span) bool {
	for lane := range taken {
		seen = append(seen, lane)
	}
	var found sorts
	for _, id := range seen {
		if l, ok := s.Lanes.Get(id); ok && l.Namespace == namespace {
			found.gates, found.fair = found.gates || l.Limit() != "", found.fair || l.IsFair()
		}
	}
	if found.gates || look.Whole && len(seen) < pg.ClaimSeen {
		s.Gates.Note(namespace, found.gates)
	}
	if found.fair && !of.fair {
		s.Fair.Note(namespace, true)
	}
	return found.gates && !of.gates || found.fair && !of.fair
}
