package store

import (
	"cmp"
	"slices"
	"time"
)

// WishFor is how long a node counts as one that wishes for slots after it has said so. It says so
// again while that lasts.
const WishFor = 15 * time.Second

// Unit is in how many slots a fair limit is divided: those that its heaviest job takes, so that a
// part is for whole jobs. 0: the limit is not fair.
func (s *LimitSettings) Unit() int {
	if !s.Fair {
		return 0
	}
	unit := 1
	for _, weight := range s.Kinds {
		unit = max(unit, weight)
	}
	return unit
}

// Part is the most slots that a node may hold of a fair limit with so many, if the others hold so
// many, or wish for so many; what is said of the node itself is not looked at, as it may want any
// number. The slots are dealt out in rounds, to the node and to those that have not got yet what
// they wish for, in the order of their ids, a unit each, until none is left. So the parts of two
// nodes that want more differ by no more than a unit, no slot is left that anyone wants, and a node
// alone may hold all.
func Part(capacity, unit int, node int64, others []Holder) int {
	all := []Holder{{Node: node, Slots: capacity}}
	for _, o := range others {
		if o.Node != node && o.Slots > 0 {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.Slots, b.Slots) })
	// Those that wish for least get it, as long as that is no more than an even part of what is
	// left. So the even part of the others is the most that any has.
	even, left := 0, capacity
	for i, h := range all {
		even = max(even, left/((len(all)-i)*unit)*unit)
		left -= h.Slots
	}
	left = capacity
	for _, h := range all {
		left -= min(h.Slots, even)
	}
	for _, h := range all { // the last round, for those that are before the node
		if h.Node < node {
			left -= min(max(h.Slots-even, 0), unit)
		}
	}
	return min(even+min(max(left, 0), unit), capacity)
}

// PartOf is the Part of a node as the limit was read; of one that is not fair all that there are.
func (l *Limit) PartOf(node int64) int {
	if !l.Fair {
		return l.Slots()
	}
	others := slices.Clone(l.Wishes)
	for _, h := range l.Holders {
		if !slices.ContainsFunc(l.Wishes, func(w Holder) bool { return w.Node == h.Node }) {
			others = append(others, h)
		}
	}
	return Part(l.Capacity, l.Unit(), node, others)
}
