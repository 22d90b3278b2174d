package limits

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with limits.
type Store struct{ *local.Store }

// into collects the limits of an answer, of which each holder has a row.
func into(found *[]store.Limit) func(pg.Row) error {
	return func(r pg.Row) error {
		var l store.Limit
		var settings string
		var declared *string
		var createdAt, updatedAt int64
		var wantedAt, period, node, slots, want *int64
		var rate gcra.State
		err := r.Scan(&l.ID, &l.Namespace, &l.Name, &settings, &declared, &l.Version, &createdAt, &updatedAt, &wantedAt,
			&period, &rate.Burst, &rate.Tat, &rate.Move, &rate.Drained, &node, &slots, &want)
		if err != nil {
			return err
		}
		if n := len(*found); n == 0 || (*found)[n-1].ID != l.ID {
			l.Declared, l.CreatedAt, l.UpdatedAt = pg.TextOf(declared), pg.TimeOf(createdAt), pg.TimeOf(updatedAt)
			if wantedAt != nil {
				l.WantedAt = pg.TimeOf(*wantedAt)
			}
			if l.LimitSettings, err = store.DecodeLimit(settings); err != nil {
				return err
			}
			if period != nil {
				rate.Period = *period
			}
			rate.Tell(&l)
			*found = append(*found, l)
		}
		if node != nil {
			last := &(*found)[len(*found)-1]
			if *slots > 0 {
				last.Holders = append(last.Holders, store.Holder{Node: *node, Slots: int(*slots)})
			}
			if *want > *slots {
				last.Wishes = append(last.Wishes, store.Holder{Node: *node, Slots: int(*want)})
			}
		}
		return nil
	}
}

// list is the statement that reads limits.
func (s *Store) list(namespace, name string, found *[]store.Limit) pg.Statement {
	return listSince(namespace, name, s.wishes(), found)
}

// listSince is list, with wishes since then.
func listSince(namespace, name string, since int64, found *[]store.Limit) pg.Statement {
	args := []any{pg.OptText(namespace), pg.OptText(name), since}
	return pg.Statement{Name: "limits", Args: args, Each: into(found)}
}

// Limits is that of store.Limits, without the class of its error.
func (s *Store) Limits(ctx context.Context, namespace, name string) (found []store.Limit, err error) {
	return found, s.Send(ctx, s.list(namespace, name, &found))
}

// SaveLimit is that of store.Limits, without the class of its error.
func (s *Store) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	settings, err := l.Encode()
	if err != nil {
		return store.Limit{}, err
	}
	// A limit that is made has no other rate to go on from.
	made := store.Limit{LimitSettings: l.LimitSettings}
	rate, done := gcra.Of(&made), false
	perKey := keyRateOf(&l)
	args := []any{
		l.Namespace, l.Name, settings, pg.OptText(l.Declared), int64(l.Slots()), unitOf(&l), s.Micros(), perKey.period, perKey.burst,
	}
	save := pg.Statement{Name: "limit_insert", Args: append(slices.Clone(args), periodOf(&l, &rate), rate.Burst)}
	if expect != 0 {
		save = pg.Statement{Name: "limit_update", Args: append(args, expect)}
	}
	save.Each = func(pg.Row) error { done = true; return nil }
	var found []store.Limit
	err = pg.RetryOnConflict(ctx, func() error {
		done, found = false, nil
		if expect != 0 {
			return s.change(ctx, &l, save, &found, actor)
		}
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			err := t.Together(ctx, asking(l.PerKey, save, s.list(l.Namespace, l.Name, &found))...)
			if err != nil || !done {
				return err
			}
			return local.Record(ctx, t, s.Micros(), audited.LimitSaved(nil, &l, actor))
		})
	})
	switch {
	case err != nil:
		return store.Limit{}, err
	case done && len(found) == 1:
		return found[0], nil
	case len(found) == 1:
		return store.Limit{}, store.LimitChanged(l.Namespace, l.Name, expect, found[0].Version)
	case expect == 0:
		return store.Limit{}, store.LimitChanged(l.Namespace, l.Name, expect, 0) // it was there, and is gone again
	}
	return store.Limit{}, store.NoLimit(l.Namespace, l.Name)
}

// change changes a limit, and lets its rate go on as the other one that it may be now.
func (s *Store) change(ctx context.Context, l *store.Limit, save pg.Statement, found *[]store.Limit, actor string) error {
	return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
		r, err := s.lockRate(ctx, t, l.Namespace, l.Name)
		if err != nil {
			return err
		}
		var was []store.Limit
		list := s.list(l.Namespace, l.Name, &was)
		if err := t.Run(ctx, list.Name, list.Each, list.Args...); err != nil {
			return err
		}
		changed := false
		err = t.Run(ctx, save.Name, func(row pg.Row) error { changed = true; return save.Each(row) }, save.Args...)
		if err != nil {
			return err
		}
		if together := l.Together(); changed && (r.has || together != nil) {
			if r.has = together != nil; r.has {
				r.Become(r.now, together)
			}
			if err := r.put(ctx, t); err != nil {
				return err
			}
		}
		if changed && len(was) == 1 {
			if err := s.record(ctx, t, &was[0], l, actor); err != nil {
				return err
			}
		}
		return t.Together(ctx, asking(changed && (r.perKey || l.PerKey), s.list(l.Namespace, l.Name, found))...)
	})
}

// record records that a limit is another one than it was, if it is.
func (s *Store) record(ctx context.Context, t pg.Runner, was, is *store.Limit, actor string) error {
	before, err := was.Encode()
	if err != nil {
		return err
	}
	if after, err := is.Encode(); err != nil || after == before {
		return err
	}
	return local.Record(ctx, t, s.Micros(), audited.LimitSaved(was, is, actor))
}

// asking adds, if a limit per key has changed, that all gates are looked at where jobs wait, a
// portion at a time.
func asking(perKey bool, statements ...pg.Statement) []pg.Statement {
	if perKey {
		statements = append(statements, pg.Statement{Name: "gates_changed"})
	}
	return statements
}

// DeleteLimit is that of store.Limits, without the class of its error.
func (s *Store) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	var held *store.HeldError
	refused := false
	err := pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			id, perKey := int64(0), false
			err := t.Run(ctx, "limit_lock", func(r pg.Row) error { return r.Scan(&id, &perKey) }, pg.CleanText(namespace), pg.CleanText(name))
			switch {
			case err != nil:
				return err
			case id == 0:
				return store.NoLimit(namespace, name)
			}
			held = &store.HeldError{Namespace: namespace, Name: name}
			if err := t.Run(ctx, "limit_holders", func(r pg.Row) error {
				var h store.Holder
				err := r.Scan(&h.Node, &h.Slots)
				held.Holders = append(held.Holders, h)
				return err
			}, id); err != nil {
				return err
			}
			if refused = len(held.Holders) > 0 && !force && !perKey; refused {
				now, before := s.wanted()
				return t.Run(ctx, "limit_wanted", nil, id, now, before)
			}
			var was []store.Limit
			del := pg.Statement{Name: "limit_delete", Args: []any{id}}
			if err := t.Together(ctx, asking(perKey, s.list(namespace, name, &was), del)...); err != nil {
				return err
			}
			return local.Record(ctx, t, s.Micros(), audited.LimitDeleted(&was[0], len(held.Holders) > 0, actor))
		})
	})
	if err == nil && refused {
		return held
	}
	return err
}

// wanted is now, and before when slots must have been noted as wanted for that to be noted again.
func (s *Store) wanted() (now, before int64) {
	now = s.Micros()
	return now, now - store.WantedEvery.Microseconds()
}

// wishes is after when a node must have said what it wishes for to count.
func (s *Store) wishes() int64 { return s.Micros() - store.WishFor.Microseconds() }

// unitOf is the unit of a limit, nil if it is not fair.
func unitOf(l *store.Limit) *int64 {
	if !l.Fair {
		return nil
	}
	unit := int64(l.Unit())
	return &unit
}

// Grant is that of store.Limits, without the class of its error.
func (s *Store) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	granted, err := s.grant(ctx, &params)
	if params.Tell && pg.CodeOf(err) == codeTooMuch {
		params.Tell = false
		granted, err = s.grant(ctx, &params)
	}
	return granted, err
}

// codeTooMuch is PostgreSQL's code for a notification for which there is no room, as some session
// has listened for long and not read any. Slots are given back all the same.
const codeTooMuch = "54000"

func (s *Store) grant(ctx context.Context, params *store.GrantParams) ([]store.Grant, error) {
	n := len(params.Asks)
	limits, versions, keeps, wants := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, a := range params.Asks {
		limits[i], versions[i], keeps[i], wants[i] = a.Limit, a.Version, int64(a.Keep), int64(a.Want)
	}
	var alive bool
	var granted []store.Grant
	now, before := s.wanted()
	channel, origin := "", ""
	if params.Tell {
		channel, origin = s.Channel(), s.Origin()
	}
	lock := pg.Statement{Name: "limits_lock", Args: []any{params.Node, limits}}
	give := pg.Statement{
		Name: "grant", Args: []any{params.Node, params.Call, limits, versions, keeps, wants, now, before, s.wishes(), channel, origin},
		Each: func(r pg.Row) error {
			alive = true
			var id, capacity, others, held, part *int64
			var told *bool
			if err := r.Scan(&id, &capacity, &others, &held, &part, &told); err != nil || id == nil {
				return err
			}
			g := store.Grant{Limit: *id, Slots: int(*held), Capacity: int(*capacity), Held: int(*others + *held), Told: told != nil}
			if part != nil {
				g.Part = int(*part)
			}
			granted = append(granted, g)
			return nil
		},
	}
	err := pg.RetryOnConflict(ctx, func() error {
		alive, granted = false, nil
		return s.SendSticky(ctx, &s.Granting, lock, give)
	})
	switch {
	case err != nil:
		return nil, err
	case !alive:
		return nil, refusal.DeadNode(params.Node)
	}
	return granted, nil
}

// Sweep is the statement that deletes what dead nodes hold of limits once they have no claim
// record. It adds whom that wakes.
func Sweep(wakes *[]store.Wake) pg.Statement {
	return pg.Statement{Name: "grants_sweep", Each: func(r pg.Row) error {
		w := store.Wake{Kind: store.WakeSlotsFree}
		err := r.Scan(&w.Namespace, &w.Queue)
		*wakes = store.AddWake(*wakes, w)
		return err
	}}
}

// RunningOf is that of store.Limits, without the class of its error.
func (s *Store) RunningOf(ctx context.Context, namespace, limit, key string, most int) (ids []store.ID, err error) {
	gate := store.GateOf(namespace, limit, key)
	return ids, s.Read(ctx, pg.Statement{Name: "gate_running", Args: []any{gate, int64(most)}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		ids = append(ids, id.Bytes)
		return err
	}})
}
