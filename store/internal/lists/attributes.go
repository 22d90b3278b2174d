package lists

import (
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// top is above all values: no text in UTF-8 begins so, and numbers are shorter.
var top = strings.Repeat("\xff", 9)

// anyValue are all values.
var anyValue = Values{Below: top}

// attribute is what a filter wants of one search attribute: all that it says of it.
type attribute struct {
	Declared

	in Values
	// equal tells that there is one value, which is in.From.
	equal bool
}

// attributesOf brings together what a filter says of each of its search attributes, those that must
// be equal first. The error is ErrInvalid.
func attributesOf(t Tables, f *store.Filter) (wanted []attribute, err error) {
	if len(f.Attributes) == 0 {
		return nil, nil
	}
	declared, err := t.Declared()
	if err != nil {
		return nil, err
	}
	all, err := f.DeclaredAttributes(func(name string) (store.AttributeType, bool) {
		d, is := declared[name]
		return d.Type, is
	})
	if err != nil {
		return nil, err
	}
	at := map[int64]int{}
	for i := range all {
		m := &all[i]
		d := declared[m.Name]
		place, seen := at[d.ID]
		if !seen {
			place = len(wanted)
			at[d.ID] = place
			wanted = append(wanted, attribute{Declared: d, in: anyValue})
		}
		wanted[place].narrow(m)
	}
	slices.SortStableFunc(wanted, func(a, b attribute) int {
		switch {
		case a.equal == b.equal:
			return 0
		case a.equal:
			return -1
		}
		return 1
	})
	return wanted, nil
}

// narrow takes in a match. What is next after a value is the value and a zero byte.
func (a *attribute) narrow(m *store.AttributeMatch) {
	v := m.Value.Data
	next := v + "\x00"
	switch m.Op {
	case store.AttributeIs:
		a.equal = true
		a.in = Values{max(a.in.From, v), min(a.in.Below, next)}
	case store.AttributeBelow:
		a.in.Below = min(a.in.Below, v)
	case store.AttributeUpTo:
		a.in.Below = min(a.in.Below, next)
	case store.AttributeAbove:
		a.in.From = max(a.in.From, next)
	case store.AttributeFrom:
		a.in.From = max(a.in.From, v)
	case store.AttributeIsThere: // every value is
	}
}

// has reports whether a value, "" if there is none, is wanted.
func (a *attribute) has(v string) bool { return v != "" && a.in.From <= v && v < a.in.Below }

// isEmpty reports whether no value is wanted.
func (a *attribute) isEmpty() bool { return a.in.From >= a.in.Below }
