package env

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What changes a limit cannot be repeated blindly: its version tells whether it was done. A
// persistent caller is the only one who changes limits. A call for slots has a number, and is
// answered alike when it is repeated.

func (p persistent) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	return persistFor(func() ([]store.Limit, error) { return p.Store.Limits(ctx, namespace, name) })
}

func (p persistent) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	return persistFor(func() ([]store.Grant, error) { return p.Store.Grant(ctx, params) })
}

// untilLimit changes a limit until there is an answer, or it is another one than before.
func (p persistent) untilLimit(ctx context.Context, namespace, name string, change func() error) (now store.Limit, done bool, err error) {
	find := func() (store.Limit, error) {
		found, err := p.Limits(ctx, namespace, name)
		if err != nil || len(found) == 0 {
			return store.Limit{}, err
		}
		return found[0], nil
	}
	before, err := find()
	for err == nil {
		if err = change(); !errors.Is(err, store.ErrUnavailable) {
			return now, false, err
		}
		if now, err = find(); now.Version != before.Version {
			return now, true, err
		}
	}
	return now, false, err
}

func (p persistent) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (saved store.Limit, err error) {
	now, done, err := p.untilLimit(ctx, l.Namespace, l.Name, func() (err error) {
		saved, err = p.Store.SaveLimit(ctx, l, expect, actor)
		return err
	})
	if done {
		return now, err
	}
	return saved, err
}

func (p persistent) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	_, _, err := p.untilLimit(ctx, namespace, name, func() error { return p.Store.DeleteLimit(ctx, namespace, name, force, actor) })
	return err
}

func (p persistent) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	return persistFor(func() ([]store.ID, error) { return p.Store.RunningOf(ctx, namespace, limit, key, most) })
}

func (p persistent) NextOf(ctx context.Context, namespace, limit, key string) (time.Time, error) {
	return persistFor(func() (time.Time, error) { return p.Store.NextOf(ctx, namespace, limit, key) })
}

// A call for permits that is repeated takes others; those of the first are lost.
func (p persistent) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	return persistFor(func() ([]store.Permits, error) { return p.Store.TakePermits(ctx, asks) })
}

func (p persistent) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	_, err := persistFor(func() (struct{}, error) { return struct{}{}, p.Store.Drain(ctx, namespace, name, until, actor) })
	return err
}

func (p persistent) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	_, err := persistFor(func() (struct{}, error) { return struct{}{}, p.Store.ResumeLimit(ctx, params) })
	return err
}

// Whether a reservation was made the journal tells.
func (p persistent) Reserve(ctx context.Context, r *store.Reservation) error {
	for {
		err := p.Store.Reserve(ctx, r)
		if !errors.Is(err, store.ErrUnavailable) || len(r.Append.Entries) == 0 {
			return err
		}
		seq := r.Append.Entries[0].Seq
		found, err := p.Entries(ctx, store.JournalParams{Job: r.Append.Lease.Job, After: seq - 1, Limit: 1})
		if err != nil || len(found) > 0 && found[0].Seq == seq {
			return err
		}
	}
}
