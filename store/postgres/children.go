package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// answering returns the runs that answer the parents of their jobs if they end them, in the order of the batch.
func answering(runs []*run) []*run {
	var list []*run
	for _, r := range runs {
		if r.answers {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *run) int { return cmp.Compare(a.place, b.place) })
	return list
}

// idsOf returns the jobs of runs.
func idsOf(runs []*run) []pgtype.UUID {
	ids := make([]pgtype.UUID, len(runs))
	for i, r := range runs {
		ids[i] = uuidOf(r.lease.Job)
	}
	return ids
}

// answer is the statement that tells the parents of jobs that have just finished; all are the runs of the whole batch. What a parent knows
// depends on whether its own run in the batch comes before that of its child, or after it.
func answer(children, all []*run, now int64) statement {
	places := make([]int32, len(children))
	of := make(map[store.ID]*run, len(children))
	for i, r := range children {
		places[i] = int32(r.place)
		r.told, of[r.lease.Job] = told{}, r
	}
	var parents []pgtype.UUID
	var parentPlaces []int32
	var continues []bool
	for _, r := range all {
		if r.traits&traitDurable != 0 {
			parents, parentPlaces = append(parents, uuidOf(r.lease.Job)), append(parentPlaces, int32(r.place))
			continues = append(continues, r.next != nil)
		}
	}
	args := []any{idsOf(children), now, places, parents, parentPlaces, continues}
	return statement{name: "answer", args: args, each: func(r row) error {
		var parent, child pgtype.UUID
		var seq int64
		err := r.Scan(&parent, &seq, &child)
		if run := of[child.Bytes]; run != nil {
			run.told = told{parent.Bytes, seq}
		}
		return err
	}}
}

// closedWords are what children are told that end because their parent did.
const closedWords = "its parent has finished"

func (s *operateStore) closeChildren(ctx context.Context, limit int) (closed store.Closed, err error) {
	if limit = min(limit, jobsAtOnce); limit <= 0 {
		return closed, nil
	}
	var parents []*closedParent
	var children []store.ID
	policies, parentOf := map[store.ID]store.ClosePolicy{}, map[store.ID]store.ID{}
	rows := 0
	err = s.send(ctx, statement{name: "children_to_close", args: []any{int32(limit)}, each: func(r row) error {
		var (
			id, child pgtype.UUID
			p         closedParent
			policy    *int32
		)
		if err := r.Scan(&id, &p.at, &p.finished, &child, &policy); err != nil {
			return err
		}
		rows++
		if p.id = id.Bytes; len(parents) == 0 || parents[len(parents)-1].id != p.id {
			parents = append(parents, &p)
		}
		if last := parents[len(parents)-1]; policy != nil && p.finished {
			last.last, last.found = child.Bytes, last.found+1
			children = append(children, child.Bytes)
			policies[child.Bytes], parentOf[child.Bytes] = store.ClosePolicy(*policy), last.id
		}
		return nil
	}})
	if err != nil || len(parents) == 0 {
		return closed, err
	}
	closed.More = rows >= limit
	busy, err := s.closeEach(ctx, children, policies, &closed)
	if err != nil {
		return closed, err
	}
	kept := map[store.ID]bool{} // until the next time
	for _, child := range busy {
		kept[parentOf[child]] = true
	}
	full := closed.More
	closed.More = full || len(closed.Ended) > 0 // they may have children themselves
	// Of the last parent there may be more children than were asked for.
	last := parents[len(parents)-1]
	var list []statement
	if full && last.found > 0 {
		if !kept[last.id] {
			list = append(list, statement{name: "parent_closing", args: []any{uuidOf(last.id), last.at, uuidOf(last.last)}})
		}
		parents = parents[:len(parents)-1]
	}
	parents = slices.DeleteFunc(parents, func(p *closedParent) bool { return kept[p.id] })
	ids, times := make([]pgtype.UUID, len(parents)), make([]int64, len(parents))
	for i, p := range parents {
		ids[i], times[i] = uuidOf(p.id), p.at
	}
	return closed, s.send(ctx, append(list, statement{name: "parents_closed", args: []any{ids, times}})...)
}

// closeEach does what the policies of children say, in the order given: those together that are next to each other and have one policy.
// It returns those that are to be terminated and that a caller's transaction has.
func (s *operateStore) closeEach(
	ctx context.Context, children []store.ID, policies map[store.ID]store.ClosePolicy, closed *store.Closed,
) (busy []store.ID, err error) {
	for len(children) > 0 {
		policy := policies[children[0]]
		n := slices.IndexFunc(children, func(id store.ID) bool { return policies[id] != policy })
		if n < 0 {
			n = len(children)
		}
		c, err := s.cancelAll(ctx, store.CancelParams{
			Jobs: children[:n], Reason: closedWords, Actor: "parent", Terminate: policy == store.TerminateChild,
		}, false)
		if err != nil {
			return nil, err
		}
		// What is in no list is available and will end itself, or has finished.
		for _, id := range children[:n] {
			switch {
			case c.busy[id]:
				busy = append(busy, id)
			case c.ended[id]:
				closed.Ended = append(closed.Ended, id)
			case c.states[id] == store.Running:
				closed.Running = append(closed.Running, id)
			}
		}
		children = children[n:]
	}
	return busy, nil
}
