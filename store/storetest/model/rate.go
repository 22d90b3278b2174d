package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// TakePermits implements store.Rates.
func (s *Store) TakePermits(ctx context.Context, asks []store.PermitAsk) (taken []store.Permits, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckPermits(asks); err != nil {
		return nil, err
	}
	for i := range asks {
		l := s.limits[asks[i].Limit]
		if l == nil || l.Version != asks[i].Version || l.Together() == nil {
			continue
		}
		p, _ := l.rate.Take(now.UnixMicro(), &asks[i])
		taken = append(taken, p)
	}
	return taken, nil
}

// rateNamed returns the limit with a name, which has to have a rate.
func (s *Store) rateNamed(namespace, name string) (*limit, error) {
	l := s.limitNamed(namespace, name)
	switch {
	case l == nil:
		return nil, store.NoLimit(namespace, name)
	case l.Together() == nil:
		return nil, gcra.NoRate(namespace, name)
	}
	return l, nil
}

// Drain implements store.Rates.
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckDrain(name, until); err != nil {
		return err
	}
	l, err := s.rateNamed(namespace, name)
	if err != nil {
		return err
	}
	was := l.rate.Drained
	if l.rate.Drain(now.UnixMicro(), until.UnixMicro()); l.rate.Drained != was {
		s.audit(now, audited.LimitDrained(namespace, name, until, actor))
	}
	return nil
}

// ResumeLimit implements store.Rates.
func (s *Store) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	l, err := s.rateNamed(params.Namespace, params.Name)
	if err != nil {
		return err
	}
	if l.rate.Resume(now.UnixMicro()) {
		s.audit(now, audited.LimitResumed(&params))
	}
	return nil
}

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, r *store.Reservation) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	l, err := s.rateNamed(r.Namespace, r.Name)
	if err != nil {
		return err
	}
	rate := l.rate
	if _, err := rate.Reserve(now.UnixMicro(), r); err != nil {
		return err
	}
	r.Append.Repeat = false
	r.Say(r)
	s.write(&store.Batch{Appends: []*store.Append{r.Append}}, now)
	if r.Append.Err == nil {
		l.rate = rate
	}
	return r.Append.Err
}
