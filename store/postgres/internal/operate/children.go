package operate

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// closedParent is a finished job some of whose children may be left.
type closedParent struct {
	id       store.ID
	at       int64
	finished bool
	last     store.ID // of the children that were found
	found    int
}

// closedWords are what children are told that end because their parent did.
const closedWords = "its parent has finished"

// CloseChildren is that of store.Maintenance, without the class of its error.
func (s *Store) CloseChildren(ctx context.Context, limit int) (closed store.Closed, err error) {
	if limit = min(limit, jobsAtOnce); limit <= 0 {
		return closed, nil
	}
	told, err := s.tellParents(ctx, limit, &closed)
	if err != nil {
		return closed, err
	}
	closed, err = s.closeChildren(ctx, limit, closed)
	closed.More = closed.More || told >= limit
	return closed, err
}

// closeChildren closes children, after what has happened already.
func (s *Store) closeChildren(ctx context.Context, limit int, before store.Closed) (closed store.Closed, err error) {
	closed = before
	var parents []*closedParent
	var children []store.ID
	policies, parentOf := map[store.ID]store.ClosePolicy{}, map[store.ID]store.ID{}
	rows := 0
	err = s.Send(ctx, pg.Statement{Name: "children_to_close", Args: []any{int32(limit)}, Each: func(r pg.Row) error {
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
	var list []pg.Statement
	if full && last.found > 0 {
		if !kept[last.id] {
			list = append(list, pg.Statement{Name: "parent_closing", Args: []any{pg.UUIDOf(last.id), last.at, pg.UUIDOf(last.last)}})
		}
		parents = parents[:len(parents)-1]
	}
	parents = slices.DeleteFunc(parents, func(p *closedParent) bool { return kept[p.id] })
	ids, times := make([]pgtype.UUID, len(parents)), make([]int64, len(parents))
	for i, p := range parents {
		ids[i], times[i] = pg.UUIDOf(p.id), p.at
	}
	return closed, s.Send(ctx, append(list, pg.Statement{Name: "parents_closed", Args: []any{ids, times}})...)
}

// closeEach does what the policies of children say, in the order given: those together that are
// next to each other and have one policy. It returns those that are to be terminated and that a
// caller's transaction has.
func (s *Store) closeEach(
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
		closed.Wakes = append(closed.Wakes, c.wakes...)
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
