package limits

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are what is done with limits.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// scan reads the columns of a limit.
func scan(s db.Stmt) (l store.Limit, err error) {
	l.ID, l.Namespace, l.Name = s.ReadInt(), s.ReadText(), s.ReadText()
	settings := s.ReadText()
	l.Declared = db.ReadOptText(s)
	l.Version, l.CreatedAt, l.UpdatedAt, l.WantedAt = s.ReadInt(), db.ReadTime(s), db.ReadTime(s), db.ReadOptTime(s)
	var r gcra.State
	if !s.ReadNull() {
		r.Period = s.ReadInt()
	}
	r.Burst, r.Tat, r.Move, r.Drained = s.ReadInt(), s.ReadInt(), s.ReadInt(), s.ReadInt()
	l.LimitSettings, err = store.DecodeLimit(settings)
	r.Tell(&l)
	return l, err
}

// find returns the limit with a name, with those who hold slots of it; its ID is 0 if there is
// none.
func find(t *core.Tx, namespace, name string) (l store.Limit, err error) {
	s := t.Stmt("limit")
	s.BindText(namespace)
	s.BindText(name)
	err = db.Each(s, func() (err error) {
		l, err = scan(s)
		return err
	})
	if err != nil || l.ID == 0 {
		return l, err
	}
	return l, addHolders(t, &l)
}

// addHolders adds who holds slots of a limit, and who wishes for some.
func addHolders(t *core.Tx, l *store.Limit) error {
	return stakes(t, l.ID, func(h store.Holder, want int) { addHolder(l, h, want) })
}

// addHolder adds what a node holds, and wishes for.
func addHolder(l *store.Limit, h store.Holder, want int) {
	if h.Slots > 0 {
		l.Holders = append(l.Holders, h)
	}
	if l.Fair && want > h.Slots {
		l.Wishes = append(l.Wishes, store.Holder{Node: h.Node, Slots: want})
	}
}

// addAllHolders adds the holders of many limits. Few of thousands have any.
func addAllHolders(t *core.Tx, limits []store.Limit) error {
	of := make(map[int64]*store.Limit, len(limits))
	for i := range limits {
		of[limits[i].ID] = &limits[i]
	}
	s := t.Stmt("limits_wishes")
	return db.Each(s, func() error {
		l := of[s.ReadInt()]
		h, want := readStake(t, s)
		if l != nil {
			addHolder(l, h, want)
		}
		return nil
	})
}

// readStake reads what a node holds, and what it wishes for if it has said so lately.
func readStake(t *core.Tx, s db.Stmt) (h store.Holder, want int) {
	h, want = store.Holder{Node: s.ReadInt(), Slots: int(s.ReadInt())}, int(s.ReadInt())
	if s.ReadInt() <= t.Now-store.WishFor.Microseconds() {
		want = 0
	}
	return h, want
}

// stakes reads what nodes hold of a fair limit, and what they wish for.
func stakes(t *core.Tx, limit int64, each func(h store.Holder, want int)) error {
	s := t.Stmt("limit_wishes")
	s.BindInt(limit)
	return db.Each(s, func() error {
		each(readStake(t, s))
		return nil
	})
}

// bindUnit binds the unit of a limit, NULL if it is not fair.
func bindUnit(s db.Stmt, l *store.Limit) {
	if !l.Fair {
		s.BindNull()
		return
	}
	s.BindInt(int64(l.Unit()))
}

// SaveLimit implements store.Limits.
func (v Verbs) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (saved store.Limit, err error) {
	settings, err := l.Encode()
	if err != nil {
		return store.Limit{}, err
	}
	err = v.d.Write(ctx, fmt.Sprintf("save limit %q", l.Name), func(t *core.Tx) error {
		old, err := find(t, l.Namespace, l.Name)
		switch {
		case err != nil:
			return err
		case old.ID == 0 && expect != 0:
			return store.NoLimit(l.Namespace, l.Name)
		case old.ID != 0 && old.Version != expect:
			return store.LimitChanged(l.Namespace, l.Name, expect, old.Version)
		}
		if err := save(t, &l, settings, old.ID); err != nil {
			return err
		}
		if old.PerKey || l.PerKey {
			if err := t.WantGates(); err != nil {
				return err
			}
		}
		if err := record(t, &old, &l, settings, actor); err != nil {
			return err
		}
		if saved, err = find(t, l.Namespace, l.Name); err != nil || old.Rate == nil && l.Rate == nil {
			return err
		}
		if err := setRate(t, saved.ID, l.Together()); err != nil {
			return err
		}
		saved, err = find(t, l.Namespace, l.Name)
		return err
	})
	if err != nil {
		return store.Limit{}, err
	}
	return saved, nil
}

// record records that a limit was made, or changed.
func record(t *core.Tx, old, l *store.Limit, settings, actor string) error {
	if old.ID == 0 {
		old = nil
	} else if was, err := old.Encode(); err != nil || was == settings {
		return err
	}
	return core.AuditChange(t, 0, audited.LimitSaved(old, l, actor))
}

// save inserts a limit, or replaces the one with an id.
func save(t *core.Tx, l *store.Limit, settings string, id int64) error {
	if id != 0 {
		s := t.Stmt("limit_update")
		s.BindText(settings)
		db.BindOptText(s, l.Declared)
		s.BindInt(int64(l.Slots()))
		bindUnit(s, l)
		s.BindInt(t.Now)
		bindKeyRate(s, &l.LimitSettings)
		s.BindInt(id)
		return db.Exec(s)
	}
	s := t.Stmt("limit_insert")
	s.BindText(l.Namespace)
	s.BindText(l.Name)
	s.BindText(settings)
	db.BindOptText(s, l.Declared)
	s.BindInt(int64(l.Slots()))
	bindUnit(s, l)
	s.BindInt(store.FirstVersion(db.TimeOf(t.Now)))
	s.BindInt(t.Now)
	s.BindInt(t.Now)
	bindKeyRate(s, &l.LimitSettings)
	return db.Exec(s)
}

// bindKeyRate binds the rate of each key of a limit, as claims read it.
func bindKeyRate(s db.Stmt, l *store.LimitSettings) {
	period, burst, rated := gcra.KeyRate(l)
	if !rated {
		s.BindNull()
		s.BindNull()
		return
	}
	s.BindInt(period)
	s.BindInt(burst)
}

// NextOf implements store.Limits.
func (v Verbs) NextOf(ctx context.Context, namespace, limit, key string) (next time.Time, err error) {
	err = v.d.Read(ctx, "look at the rate of a key", func(t *core.Tx) error {
		rule, err := t.GateRule(namespace, limit)
		if next = (time.Time{}); err != nil || !rule.Rated {
			return err
		}
		k, _, err := t.Key(store.GateOf(namespace, limit, key), rule)
		if wait := k.Wait(); err == nil && k.Period > 0 && wait > 0 {
			next = db.TimeOf(t.Now + wait)
		}
		return err
	})
	return next, err
}

// DeleteLimit implements store.Limits.
func (v Verbs) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	var held error
	err := v.d.Write(ctx, fmt.Sprintf("delete limit %q", name), func(t *core.Tx) error {
		l, err := find(t, namespace, name)
		held = nil
		switch {
		case err != nil:
			return err
		case l.ID == 0:
			return store.NoLimit(namespace, name)
		case len(l.Holders) > 0 && !force && !l.PerKey:
			held = &store.HeldError{Namespace: namespace, Name: name, Holders: l.Holders}
			return want(t, l.ID)
		}
		for _, statement := range []string{"limit_delete", "limit_grants_delete"} {
			s := t.Stmt(statement)
			s.BindInt(l.ID)
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		if err := core.AuditChange(t, 0, audited.LimitDeleted(&l, len(l.Holders) > 0, actor)); err != nil || !l.PerKey {
			return err
		}
		return t.WantGates()
	})
	if err != nil {
		return err
	}
	return held
}

// want notes that slots of limits are wanted.
func want(t *core.Tx, limits ...int64) error {
	text, err := json.Marshal(limits)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	s := t.Stmt("limits_wanted")
	s.BindInt(t.Now)
	s.BindText(string(text))
	s.BindInt(t.Now - store.WantedEvery.Microseconds())
	s.BindInt(t.Now)
	return db.Exec(s)
}

// Limits implements store.Limits.
func (v Verbs) Limits(ctx context.Context, namespace, name string) (found []store.Limit, err error) {
	err = v.d.Read(ctx, "list limits", func(t *core.Tx) error {
		if found, err = all(t, namespace, name); err != nil {
			return err
		}
		if len(found) > 1 {
			return addAllHolders(t, found)
		}
		for i := range found {
			if err := addHolders(t, &found[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// all returns limits without their holders.
func all(t *core.Tx, namespace, name string) (found []store.Limit, err error) {
	s := t.Stmt("limits")
	s.BindInt(db.BoolInt(namespace == ""))
	s.BindText(namespace)
	s.BindInt(db.BoolInt(name == ""))
	s.BindText(name)
	return found, db.Each(s, func() error {
		l, err := scan(s)
		found = append(found, l)
		return err
	})
}

// RunningOf implements store.Limits.
func (v Verbs) RunningOf(ctx context.Context, namespace, limit, key string, most int) (ids []store.ID, err error) {
	err = v.d.Read(ctx, "look who runs under a limit", func(t *core.Tx) error {
		ids, err = t.RunningAt(store.GateOf(namespace, limit, key))
		return err
	})
	slices.SortFunc(ids, func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) })
	if most > 0 {
		ids = ids[:min(len(ids), most)]
	}
	return ids, err
}
