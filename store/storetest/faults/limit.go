package faults

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// SaveLimit implements store.Limits.
func (s *Store) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	return once(ctx, s, "SaveLimit", func() (store.Limit, error) { return s.inner.SaveLimit(ctx, l, expect, actor) })
}

// DeleteLimit implements store.Limits.
func (s *Store) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	_, err := once(ctx, s, "DeleteLimit", func() (struct{}, error) {
		return struct{}{}, s.inner.DeleteLimit(ctx, namespace, name, force, actor)
	})
	return err
}

// Limits implements store.Limits.
func (s *Store) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	return answer(ctx, s, "Limits", func() ([]store.Limit, error) { return s.inner.Limits(ctx, namespace, name) })
}

// Grant implements store.Limits.
func (s *Store) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	return answer(ctx, s, "Grant", func() ([]store.Grant, error) { return s.inner.Grant(ctx, params) })
}

// RunningOf implements store.Limits.
func (s *Store) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	return answer(ctx, s, "RunningOf", func() ([]store.ID, error) { return s.inner.RunningOf(ctx, namespace, limit, key, most) })
}

// NextOf implements store.Limits.
func (s *Store) NextOf(ctx context.Context, namespace, limit, key string) (time.Time, error) {
	return answer(ctx, s, "NextOf", func() (time.Time, error) { return s.inner.NextOf(ctx, namespace, limit, key) })
}

// TakePermits implements store.Rates.
func (s *Store) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	return once(ctx, s, "TakePermits", func() ([]store.Permits, error) { return s.inner.TakePermits(ctx, asks) })
}

// Drain implements store.Rates.
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	_, err := once(ctx, s, "Drain", func() (struct{}, error) { return struct{}{}, s.inner.Drain(ctx, namespace, name, until, actor) })
	return err
}

// ResumeLimit implements store.Rates.
func (s *Store) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	_, err := once(ctx, s, "ResumeLimit", func() (struct{}, error) { return struct{}{}, s.inner.ResumeLimit(ctx, params) })
	return err
}

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, r *store.Reservation) error {
	_, err := once(ctx, s, "Reserve", func() (struct{}, error) { return struct{}{}, s.inner.Reserve(ctx, r) })
	return err
}
