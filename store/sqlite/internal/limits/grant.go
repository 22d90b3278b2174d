package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// held is what nodes hold of a limit.
type held struct {
	limit, version   int64
	capacity, others int
	unit             int // of a fair limit, else 0
	own              int
	called           bool
	call             int64 // of the node
}

// Grant implements store.Limits.
func (v Verbs) Grant(ctx context.Context, params store.GrantParams) (granted []store.Grant, err error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	err = v.d.Write(ctx, "ask for slots of limits", func(t *core.Tx) error {
		granted = nil
		if _, err := t.NodeAlive(params.Node); err != nil || len(params.Asks) == 0 {
			return err
		}
		now, err := holdings(t, &params)
		if err != nil {
			return err
		}
		var changes [][3]int64
		var wanted []int64
		for _, h := range now {
			i := slices.IndexFunc(params.Asks, func(a store.LimitAsk) bool { return a.Limit == h.limit })
			a := &params.Asks[i]
			if a.Version != h.version || h.called && h.call > params.Call {
				continue
			}
			part, err := partOf(t, params.Node, h)
			if err != nil {
				return err
			}
			if !h.called || h.call < params.Call {
				changes = append(changes, h.give(a, part))
				if h.own < a.Want {
					wanted = append(wanted, h.limit)
				}
			}
			granted = append(granted, store.Grant{Limit: h.limit, Slots: h.own, Capacity: h.capacity, Held: h.others + h.own, Part: part})
		}
		if len(wanted) > 0 {
			if err := want(t, wanted...); err != nil {
				return err
			}
		}
		return put(t, &params, changes)
	})
	if err != nil {
		return nil, err
	}
	return granted, nil
}

// give gives the node what it wants as far as there is some, of a fair limit within its part. It
// returns the limit, what the node holds then, and what it wishes for.
func (h *held) give(a *store.LimitAsk, part int) [3]int64 {
	if h.unit == 0 {
		h.own = a.Share(h.capacity, h.others)
		return [3]int64{h.limit, int64(h.own), 0}
	}
	within := store.LimitAsk{Keep: a.Keep, Want: min(a.Want, part)}
	h.own = within.Share(h.capacity, h.others)
	return [3]int64{h.limit, int64(h.own), int64(a.Want)}
}

// holdings reads what nodes hold of the limits that are asked about.
func holdings(t *core.Tx, params *store.GrantParams) (now []held, err error) {
	ids := make([]int64, len(params.Asks))
	for i, a := range params.Asks {
		ids[i] = a.Limit
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	s := t.Stmt("grants")
	s.BindText(string(text))
	s.BindInt(params.Node)
	return now, db.Each(s, func() error {
		h := held{limit: s.ReadInt(), version: s.ReadInt(), capacity: int(s.ReadInt()), unit: int(db.ReadOptInt(s))}
		h.others, h.own = int(s.ReadInt()), int(s.ReadInt())
		if h.called = !s.ReadNull(); h.called {
			h.call = s.ReadInt()
		}
		now = append(now, h)
		return nil
	})
}

// partOf is the part of a node in a fair limit, 0 of another one.
func partOf(t *core.Tx, node int64, now held) (part int, err error) {
	if now.unit == 0 {
		return 0, nil
	}
	var others []store.Holder
	err = stakes(t, now.limit, func(h store.Holder, want int) {
		others = append(others, store.Holder{Node: h.Node, Slots: max(h.Slots, want)})
	})
	return store.Part(now.capacity, now.unit, node, others), err
}

// put writes how many slots of limits the node holds, and wishes for.
func put(t *core.Tx, params *store.GrantParams, changes [][3]int64) error {
	if len(changes) == 0 {
		return nil
	}
	text, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	s := t.Stmt("grants_put")
	s.BindInt(params.Node)
	s.BindInt(params.Call)
	s.BindInt(t.Now)
	s.BindText(string(text))
	return db.Exec(s)
}

// Left reports whether nodes hold slots that do not live and have no claim record.
func Left(t *core.Tx) (bool, error) { return db.Exists(t.Stmt("grants_left")) }

// Sweep takes back what such nodes hold, and notes whom that wakes. It is the last thing that a
// transaction does with claim records.
func Sweep(t *core.Tx) error {
	if err := t.WriteRecords(); err != nil {
		return err
	}
	var freed []int64
	s := t.Stmt("grants_sweep")
	err := db.Each(s, func() error {
		if rule, n := s.ReadInt(), s.ReadInt(); n > 0 {
			freed = append(freed, rule)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(freed)
	for _, rule := range slices.Compact(freed) {
		s := t.Stmt("limit_name")
		s.BindInt(rule)
		if err := db.Each(s, func() error {
			t.Woken = store.AddWake(t.Woken, store.Wake{Kind: store.WakeSlotsFree, Namespace: s.ReadText(), Queue: s.ReadText()})
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
