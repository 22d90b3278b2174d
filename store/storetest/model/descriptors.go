package model

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// Describe implements store.Descriptors.
func (s *Store) Describe(ctx context.Context, list []store.Descriptor, actor string) (changed int, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if err := store.CheckDescriptors(list); err != nil {
		return 0, err
	}
	next, gone := maps.Clone(s.descriptors), []store.Descriptor(nil)
	for _, d := range list {
		of := described{d.Namespace, d.Subject, d.Name}
		was, known := next[of]
		switch {
		case bytes.Equal(was.Data, d.Data):
			continue
		case len(d.Data) == 0:
			delete(next, of)
			gone = append(gone, d)
		default:
			same := 0
			for other := range next {
				if other.namespace == d.Namespace && other.subject == d.Subject {
					same++
				}
			}
			if !known && same >= store.MostDescriptors {
				return 0, store.TooManyDescriptors(&d)
			}
			d.Data, d.At = bytes.Clone(d.Data), now.Truncate(time.Microsecond)
			next[of] = d
		}
		changed++
	}
	for i := range gone {
		if actor != "" {
			s.audit(now, audited.Forgotten(&gone[i], actor))
		}
	}
	s.descriptors = next
	return changed, nil
}

// Descriptors implements store.Descriptors.
func (s *Store) Descriptors(ctx context.Context, params store.DescriptorParams) (all []store.Descriptor, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	for of, d := range s.descriptors {
		is := of.name == params.Name || params.Name == "" && of.name > params.After
		if of.namespace == params.Namespace && of.subject == params.Subject && is {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b store.Descriptor) int { return strings.Compare(a.Name, b.Name) })
	return all[:min(len(all), params.Limit)], nil
}
