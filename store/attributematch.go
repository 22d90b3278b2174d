package store

import (
	"fmt"
	"slices"
)

// AttributeOp is how a value of a job is compared with that of an AttributeMatch.
type AttributeOp string

// The comparisons.
const (
	AttributeIs      AttributeOp = "="
	AttributeBelow   AttributeOp = "<"
	AttributeUpTo    AttributeOp = "<="
	AttributeAbove   AttributeOp = ">"
	AttributeFrom    AttributeOp = ">="
	AttributeIsThere AttributeOp = "exists" // the job has any value
)

// AttributeOps are all comparisons.
var AttributeOps = []AttributeOp{AttributeIs, AttributeBelow, AttributeUpTo, AttributeAbove, AttributeFrom, AttributeIsThere}

// AttributeMatch selects jobs by the value that they have for a search attribute. A job that has
// none is not selected.
type AttributeMatch struct {
	Name  string         `json:"name"`
	Op    AttributeOp    `json:"op"`
	Value AttributeValue `json:"value"` // none for AttributeIsThere
}

// Fits reports whether the value of a job, the zero value if it has none, is what is wanted.
func (m *AttributeMatch) Fits(v AttributeValue) bool {
	if v == (AttributeValue{}) || m.Op != AttributeIsThere && v.Type != m.Value.Type {
		return false
	}
	switch m.Op {
	case AttributeIs:
		return v.Data == m.Value.Data
	case AttributeBelow:
		return v.Data < m.Value.Data
	case AttributeUpTo:
		return v.Data <= m.Value.Data
	case AttributeAbove:
		return v.Data > m.Value.Data
	case AttributeFrom:
		return v.Data >= m.Value.Data
	default:
		return true
	}
}

// CheckAttributes reports why no store takes the attributes of the filter, an ErrInvalid.
func (f *Filter) CheckAttributes() error {
	switch {
	case len(f.Attributes) == 0:
		return nil
	case f.Namespace == "":
		return fmt.Errorf("%w: a filter with search attributes needs a namespace", ErrInvalid)
	case len(f.Attributes) > MaxAttributeMatches:
		return fmt.Errorf("%w: the filter has %d search attributes; the limit is %d", ErrInvalid, len(f.Attributes), MaxAttributeMatches)
	}
	for i := range f.Attributes {
		m := &f.Attributes[i]
		if err := CheckAttributeName(m.Name); err != nil {
			return err
		}
		switch {
		case !slices.Contains(AttributeOps, m.Op):
			return fmt.Errorf("%w: the search attribute %q is to be compared by the unknown %.20q", ErrInvalid, m.Name, m.Op)
		case m.Op != AttributeIsThere && m.Value.Type == AttributeText:
			if !isText(m.Value.Data) {
				return fmt.Errorf("%w: the search attribute %q: %.60q is not valid UTF-8 or contains NUL", ErrInvalid, m.Name, m.Value.Data)
			}
		case m.Op != AttributeIsThere:
			if problem := m.Value.problem(); problem != "" {
				return fmt.Errorf("%w: the search attribute %q: %s", ErrInvalid, m.Name, problem)
			}
		case m.Value != AttributeValue{}:
			return fmt.Errorf("%w: whether a job has the search attribute %q is asked without a value", ErrInvalid, m.Name)
		}
	}
	return nil
}

// DeclaredAttributes are the attributes of the filter with values of the types with which they are
// declared, or why they cannot be asked for, an ErrInvalid: one is not declared, or has another
// type.
func (f *Filter) DeclaredAttributes(declared func(name string) (AttributeType, bool)) ([]AttributeMatch, error) {
	all := slices.Clone(f.Attributes)
	for i := range all {
		m := &all[i]
		t, is := declared(m.Name)
		if !is {
			return nil, UndeclaredAttribute(f.Namespace, m.Name, m.Value.Type)
		}
		if m.Op == AttributeIsThere {
			continue
		}
		var err error
		if m.Value, err = m.Value.As(t); err != nil {
			return nil, fmt.Errorf("%w (of the search attribute %q)", err, m.Name)
		}
		if t != m.Value.Type {
			return nil, OtherAttributeType(f.Namespace, m.Name, t, m.Value.Type)
		}
	}
	return all, nil
}
