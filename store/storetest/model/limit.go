package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// limitNamed returns the limit with a name, or nil.
func (s *Store) limitNamed(namespace, name string) *limit {
	for _, l := range s.limits {
		if l.Namespace == namespace && l.Name == name {
			return l
		}
	}
	return nil
}

// told is what is answered of the limit.
func (l *limit) told(now time.Time) store.Limit {
	c := l.Limit
	c.Queues, c.Kinds, c.Holders = slices.Clone(c.Queues), maps.Clone(c.Kinds), l.holders()
	c.Wishes = l.wishes(now)
	if l.Rate != nil {
		rate := *l.Rate
		c.Rate = &rate
	}
	l.rate.Tell(&c)
	return c
}

// SaveLimit implements store.Limits.
func (s *Store) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Limit{}, err
	}
	defer s.mu.Unlock()
	if err := l.Check(); err != nil {
		return store.Limit{}, err
	}
	old := s.limitNamed(l.Namespace, l.Name)
	var was *store.Limit
	if old != nil {
		was = new(old.Limit)
	}
	switch {
	case old == nil && expect != 0:
		return store.Limit{}, store.NoLimit(l.Namespace, l.Name)
	case old != nil && old.Version != expect:
		return store.Limit{}, store.LimitChanged(l.Namespace, l.Name, expect, old.Version)
	case old == nil:
		s.lastLimit++
		old = &limit{grants: map[int64]granted{}, rate: gcra.State{Burst: 1}}
		old.Namespace, old.Name, old.ID, old.Version, old.CreatedAt = l.Namespace, l.Name, s.lastLimit, store.FirstVersion(now), now
		s.limits[old.ID] = old
	default:
		old.Version++
	}
	old.UpdatedAt, old.Capacity, old.Uncapped, old.Declared, old.Rate = now, l.Capacity, l.Uncapped, l.Declared, nil
	old.NoJobs, old.Fair = l.NoJobs, l.Fair
	old.Queues, old.Kinds, old.PerKey = append([]string(nil), l.Queues...), nil, l.PerKey
	if l.Rate != nil {
		old.Rate = new(*l.Rate)
	}
	if together := old.Together(); together != nil {
		old.rate.Become(now.UnixMicro(), together)
	} else {
		old.rate.Period = 0
	}
	if len(l.Kinds) > 0 {
		old.Kinds = maps.Clone(l.Kinds)
	}
	if e := audited.LimitSaved(was, &l, actor); e.Before != e.After {
		s.audit(now, e)
	}
	return old.told(now), nil
}

// DeleteLimit implements store.Limits.
func (s *Store) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.limitNamed(namespace, name)
	if l == nil {
		return store.NoLimit(namespace, name)
	}
	if held := l.holders(); len(held) > 0 && !force && !l.PerKey {
		l.want(now)
		return &store.HeldError{Namespace: namespace, Name: name, Holders: held}
	}
	s.audit(now, audited.LimitDeleted(&l.Limit, len(l.holders()) > 0, actor))
	delete(s.limits, l.ID)
	return nil
}

// Limits implements store.Limits.
func (s *Store) Limits(ctx context.Context, namespace, name string) (found []store.Limit, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, l := range s.limits {
		if (namespace == "" || l.Namespace == namespace) && (name == "" || l.Name == name) {
			found = append(found, l.told(now))
		}
	}
	slices.SortFunc(found, func(a, b store.Limit) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// want notes that slots of the limit are wanted.
func (l *limit) want(now time.Time) {
	if l.WantedAt.IsZero() || now.Sub(l.WantedAt) >= store.WantedEvery || l.WantedAt.After(now) {
		l.WantedAt = now
	}
}

// Grant implements store.Limits.
func (s *Store) Grant(ctx context.Context, params store.GrantParams) (answers []store.Grant, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return nil, err
	}
	if !s.alive(params.Node) {
		return nil, refusal.DeadNode(params.Node)
	}
	for _, a := range params.Asks {
		l := s.limits[a.Limit]
		if l == nil || l.Version != a.Version {
			continue
		}
		last, called := l.grants[params.Node]
		if called && last.call > params.Call {
			continue
		}
		others := 0
		for node, g := range l.grants {
			if node != params.Node {
				others += g.slots
			}
		}
		part := 0
		if l.Fair {
			read := l.told(now)
			part = read.PartOf(params.Node)
		}
		if !called || last.call < params.Call {
			want := a.Want
			if last = (granted{call: params.Call}); l.Fair {
				want, last.want, last.at = min(a.Want, part), a.Want, now
			}
			last.slots = max(a.Keep, min(want, l.Slots()-others), 0)
			l.grants[params.Node] = last
			if last.slots < a.Want {
				l.want(now)
			}
		}
		answers = append(answers, store.Grant{Limit: l.ID, Slots: last.slots, Capacity: l.Slots(), Held: others + last.slots, Part: part})
	}
	return answers, nil
}

// liveGates counts what runs, by gate.
func (s *Store) liveGates() map[int64]int {
	live := map[int64]int{}
	for _, j := range s.jobs {
		if j.state == store.Running {
			live[j.Gate()]++
		}
	}
	return live
}

// gateCapacity is how many jobs of the job's key run at once, if something bounds that.
func (s *Store) gateCapacity(j *job) (capacity int, bounded bool) {
	l := s.limitNamed(j.Namespace, j.Options.Limit)
	if j.Options.Limit == "" || l == nil || !l.PerKey {
		return 0, false
	}
	return l.Slots(), true
}

// key is where the rate of a key stands, if its limit has one.
func (s *Store) key(namespace, name, key string, now time.Time) (k gcra.Key, rated bool) {
	l := s.limitNamed(namespace, name)
	if l == nil {
		return k, false
	}
	period, burst, rated := gcra.KeyRate(&l.LimitSettings)
	if !rated {
		return k, false
	}
	known := s.keyRates[store.GateOf(namespace, name, key)]
	return gcra.Stand(period, burst, known.tat, known.period, l.UpdatedAt.UnixMicro(), now.UnixMicro()), true
}

// keyFree is how many jobs of the job's key may start now, if a rate bounds that.
func (s *Store) keyFree(j *job, now time.Time) (free int, rated bool) {
	k, rated := s.key(j.Namespace, j.Options.Limit, j.Options.LimitKey, now)
	return k.Free(), rated
}

// takePermit takes a permit of the job's key, if its limit has a rate.
func (s *Store) takePermit(j *job, now time.Time) {
	if k, rated := s.key(j.Namespace, j.Options.Limit, j.Options.LimitKey, now); rated {
		k.Take(1)
		s.keyRates[j.Gate()] = keyRate{now.UnixMicro() + k.Ahead, k.Period}
	}
}

// capKeys has keys go on by the clock as it is now, if it was set back.
func (s *Store) capKeys(now time.Time) {
	for _, j := range s.jobs {
		k, rated := s.key(j.Namespace, j.Options.Limit, j.Options.LimitKey, now)
		if known := s.keyRates[j.Gate()]; rated && k.Period > 0 && (known.period != k.Period || known.tat > now.UnixMicro()+k.Ahead) {
			s.keyRates[j.Gate()] = keyRate{now.UnixMicro() + k.Ahead, k.Period}
		}
	}
}

// NextOf implements store.Limits.
func (s *Store) NextOf(ctx context.Context, namespace, limit, key string) (next time.Time, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return next, err
	}
	defer s.mu.Unlock()
	k, rated := s.key(namespace, limit, key, now)
	if wait := k.Wait(); rated && k.Period > 0 && wait > 0 {
		next = now.Add(time.Duration(wait) * time.Microsecond)
	}
	return next, nil
}

// RunningOf implements store.Limits.
func (s *Store) RunningOf(ctx context.Context, namespace, limit, key string, most int) (ids []store.ID, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	gate := store.GateOf(namespace, limit, key)
	for _, j := range s.selected(func(j *job) bool { return j.state == store.Running && j.Gate() == gate }) {
		ids = append(ids, j.ID)
	}
	if most > 0 {
		ids = ids[:min(len(ids), most)]
	}
	return ids, nil
}
