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

// portion is what of the children that are to be closed is looked at together.
type portion struct {
	after    store.ID        // the parent before
	parents  []*closedParent // in the order of their ids
	children []store.ID
	policies map[store.ID]store.ClosePolicy
	parentOf map[store.ID]store.ID
	full     bool // there may be more, also children of the last parent
	moved    bool // which are looked at next
}

// CloseChildren is that of store.Maintenance, without the class of its error.
func (s *Store) CloseChildren(ctx context.Context, limit int) (closed store.Closed, err error) {
	if limit = min(limit, jobsAtOnce); limit <= 0 {
		return closed, nil
	}
	full, err := s.tellParents(ctx, limit, &closed)
	if err != nil {
		return closed, err
	}
	if err := s.closeChildren(ctx, limit, &closed); err != nil {
		return closed, err
	}
	more, err := s.tellSuccessors(ctx, limit-len(closed.Ended)-len(closed.Running), &closed)
	if err != nil {
		return closed, err
	}
	closed.More = s.rounds.goOn() || full || more
	return closed, nil
}

// closeChildren closes the next children of the round. Those that are to be terminated and that a
// caller's transaction has are left to the next round, with the notes of their parents.
func (s *Store) closeChildren(ctx context.Context, limit int, closed *store.Closed) error {
	round := &s.rounds.closing
	p, err := s.childrenToClose(ctx, s.rounds.after(round), limit)
	if err != nil {
		return err
	}
	busy, err := s.closeEach(ctx, p.children, p.policies, closed)
	if err != nil {
		return err
	}
	kept := map[store.ID]bool{}
	for _, child := range busy {
		kept[p.parentOf[child]] = true
	}
	next, err := s.noteClosed(ctx, p, kept)
	if err != nil {
		return err
	}
	s.rounds.pass(round, next, p.moved || len(closed.Ended) > 0) // which may have children themselves
	return nil
}

// childrenToClose reads what is to be closed.
func (s *Store) childrenToClose(ctx context.Context, after store.ID, limit int) (*portion, error) {
	p := &portion{after: after, policies: map[store.ID]store.ClosePolicy{}, parentOf: map[store.ID]store.ID{}}
	rows := 0
	args := []any{pg.UUIDOf(after), int32(limit)}
	err := s.Send(ctx, pg.Statement{Name: "children_to_close", Args: args, Each: func(r pg.Row) error {
		var (
			id, child pgtype.UUID
			parent    closedParent
			policy    *int32
		)
		if err := r.Scan(&id, &parent.at, &parent.finished, &child, &policy); err != nil {
			return err
		}
		rows++
		if parent.id = id.Bytes; len(p.parents) == 0 || p.parents[len(p.parents)-1].id != parent.id {
			p.parents = append(p.parents, &parent)
		}
		if last := p.parents[len(p.parents)-1]; policy != nil && parent.finished {
			last.last, last.found = child.Bytes, last.found+1
			p.children = append(p.children, child.Bytes)
			p.policies[child.Bytes], p.parentOf[child.Bytes] = store.ClosePolicy(*policy), last.id
		}
		return nil
	}})
	p.full = rows >= limit
	return p, err
}

// noteClosed removes the notes of parents whose children are closed, but for those that are kept.
// It returns the parent after which the round goes on, or zero at its end.
func (s *Store) noteClosed(ctx context.Context, p *portion, kept map[store.ID]bool) (next store.ID, err error) {
	if len(p.parents) == 0 {
		return next, nil
	}
	closed, last := p.parents, p.parents[len(p.parents)-1]
	var list []pg.Statement
	if p.full && last.found > 0 {
		if !kept[last.id] {
			list = append(list, pg.Statement{
				Name: "parent_closing", Args: []any{pg.UUIDOf(last.id), last.at, pg.UUIDOf(last.last)},
				Each: func(r pg.Row) error { p.moved = true; return r.Scan(new(pgtype.UUID)) },
			})
		}
		closed = closed[:len(closed)-1]
	}
	var ids []pgtype.UUID
	var times []int64
	for _, parent := range closed {
		if !kept[parent.id] {
			ids, times = append(ids, pg.UUIDOf(parent.id)), append(times, parent.at)
		}
	}
	err = s.Send(ctx, append(list, pg.Statement{Name: "parents_closed", Args: []any{ids, times}})...)
	switch {
	case !p.full:
		return next, err
	case len(p.parents) > 1: // the last is looked at again: what was seen of it may be little
		return p.parents[len(p.parents)-2].id, err
	case p.moved:
		return p.after, err
	}
	return last.id, err
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
