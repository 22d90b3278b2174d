package model

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// factKey is a key that is equal to those that are the same.
func factKey(k store.FactKey) store.FactKey {
	k.At = k.At.UTC().Round(0)
	return k
}

// compareFacts is the order of facts.
func compareFacts(a, b store.FactKey) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Number, b.Number))
}

// putFact writes a fact.
func (s *Store) putFact(f store.Fact) {
	if s.facts == nil {
		s.facts = map[store.FactKey]store.Fact{}
	}
	f.FactKey, f.Jobs, f.Gauges = factKey(f.FactKey), bytes.Clone(f.Jobs), bytes.Clone(f.Gauges)
	s.facts[f.FactKey] = f
}

// KeepFacts implements store.Facts.
func (s *Store) KeepFacts(ctx context.Context, facts []store.Fact) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckFacts(facts, store.FactMinute); err != nil {
		return err
	}
	for _, f := range facts {
		was, there := s.facts[factKey(f.FactKey)]
		if f.At.After(now.Add(-store.FactsLate)) && (!there || f.Version >= was.Version) {
			s.putFact(f)
		}
	}
	return nil
}

// MergeFacts implements store.Facts.
func (s *Store) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckFacts(merged, 0); err != nil {
		return err
	}
	removed := map[store.FactKey]bool{}
	for _, k := range gone {
		if _, there := s.facts[factKey(k)]; !there || removed[factKey(k)] {
			return store.FactsMissing()
		}
		removed[factKey(k)] = true
	}
	added := map[store.FactKey]bool{}
	for i := range merged {
		k := factKey(merged[i].FactKey)
		if _, there := s.facts[k]; there && !removed[k] || added[k] {
			return store.FactsMissing()
		}
		added[k] = true
	}
	for k := range removed {
		delete(s.facts, k)
	}
	for _, f := range merged {
		s.putFact(f)
	}
	return nil
}

// Facts implements store.Facts.
func (s *Store) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return nil, err
	}
	var page []store.Fact
	for k, f := range s.facts {
		if k.Span != params.Span || k.At.Before(params.From) || !k.At.Before(params.To) || !params.All && k.Namespace != params.Namespace {
			continue
		}
		if params.After == (store.FactKey{}) || compareFacts(k, params.After) > 0 {
			f.Jobs, f.Gauges = bytes.Clone(f.Jobs), bytes.Clone(f.Gauges)
			page = append(page, f)
		}
	}
	slices.SortFunc(page, func(a, b store.Fact) int { return compareFacts(a.FactKey, b.FactKey) })
	return page[:min(len(page), params.Limit)], nil
}

// Measure implements store.Facts. There is nothing to measure.
func (s *Store) Measure(ctx context.Context) (store.Measured, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Measured{}, err
	}
	defer s.mu.Unlock()
	return store.Measured{}, nil
}
