package model

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// attributeName names a search attribute.
type attributeName struct{ namespace, name string }

// DeclareAttributes implements store.Attributes.
func (s *Store) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return err
	}
	all := s.declared(params.Namespace)
	n := len(all)
	for _, a := range params.Attributes {
		i := slices.IndexFunc(all, func(b store.DeclaredAttribute) bool { return b.Name == a.Name })
		switch {
		case i < 0:
			a.DeclaredAt, a.Leaving = now.Truncate(time.Microsecond), false
			all = append(all, a)
		case all[i].Leaving:
			return store.LeavingAttribute(params.Namespace, a.Name)
		case all[i].Type != a.Type:
			return store.OtherAttributeType(params.Namespace, a.Name, all[i].Type, a.Type)
		}
	}
	if len(all) > n && len(all) > store.MaxAttributes {
		return store.TooManyAttributes(params.Namespace, len(all))
	}
	for i, a := range all {
		s.attributes[attributeName{params.Namespace, a.Name}] = a
		if i >= n {
			s.audit(now, audited.AttributeDeclared(&params, &a))
		}
	}
	return nil
}

// declared are those of a namespace, by name.
func (s *Store) declared(namespace string) []store.DeclaredAttribute {
	all := []store.DeclaredAttribute{}
	for name, a := range s.attributes {
		if name.namespace == namespace {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b store.DeclaredAttribute) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// DeclaredAttributes implements store.Attributes.
func (s *Store) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.declared(namespace), nil
}

// RemoveAttribute implements store.Attributes. A value that is still to be removed counts, and
// is not shown.
func (s *Store) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (more bool, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return false, err
	}
	name := attributeName{params.Namespace, params.Name}
	a, there := s.attributes[name]
	if !there {
		return false, store.NoAttribute(params.Namespace, params.Name)
	}
	if !a.Leaving {
		s.audit(now, audited.AttributeRemoved(&params, a.Type))
	}
	a.Leaving = true
	s.attributes[name] = a
	removed := 0
	for _, j := range s.selected(func(j *job) bool { return j.Namespace == params.Namespace }) {
		i := slices.IndexFunc(j.Attributes, func(a store.Attribute) bool { return a.Name == params.Name })
		if i < 0 || removed == params.Limit {
			continue
		}
		j.Attributes = slices.Delete(slices.Clone(j.Attributes), i, i+1)
		removed++
	}
	if removed < params.Limit {
		delete(s.attributes, name)
	}
	return removed == params.Limit, nil
}

// search sets values of a job, or takes them away.
func (s *Store) search(j *job, list []store.Attribute) {
	for _, a := range list {
		declared, is := s.attributes[attributeName{j.Namespace, a.Name}]
		if !is || declared.Leaving || a.Value.Type != 0 && a.Value.Type != declared.Type {
			continue
		}
		j.Attributes = slices.DeleteFunc(slices.Clone(j.Attributes), func(b store.Attribute) bool { return a.Name == b.Name })
		if a.Value.Type != 0 {
			j.Attributes = append(j.Attributes, a)
		}
	}
	slices.SortFunc(j.Attributes, func(a, b store.Attribute) int { return cmp.Compare(a.Name, b.Name) })
}

// shown are the values of a job that are seen: not those that are being removed.
func (s *Store) shown(j *job) (list []store.Attribute) {
	for _, a := range j.Attributes {
		if !s.attributes[attributeName{j.Namespace, a.Name}].Leaving {
			list = append(list, a)
		}
	}
	return list
}

// valued reports whether a job has the values that a filter wants.
func (s *Store) valued(j *job, f *store.Filter) bool {
	wanted, err := s.wanted(f)
	for _, m := range wanted {
		if !slices.ContainsFunc(j.Attributes, func(a store.Attribute) bool { return a.Name == m.Name && m.Fits(a.Value) }) {
			return false
		}
	}
	return err == nil
}

// wanted is what a filter wants, or why it cannot be asked for, an ErrInvalid.
func (s *Store) wanted(f *store.Filter) ([]store.AttributeMatch, error) {
	return f.DeclaredAttributes(func(name string) (store.AttributeType, bool) {
		a, is := s.attributes[attributeName{f.Namespace, name}]
		return a.Type, is && !a.Leaving
	})
}
