package events

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// mark tells elements of a list apart that have the same number at different times.
type mark struct {
	seq, at int64
	// of is the lease of the run that wrote an entry, and the entry from which on the numbers of
	// messages are counted: many messages may be sent in the same microsecond.
	of         int64
	kind, name string
}

// sum is the mark in short, for a Place, or 0 for the zero mark. Readers keep it: if it is computed
// in another way they read all again.
func (m mark) sum() uint64 {
	if m == (mark{}) {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %q %q", m.seq, m.at, m.of, m.kind, m.name)
	return max(h.Sum64(), 1)
}

// list is a list that grows, and of which the end may be dropped, after which it grows again with
// the same numbers. It keeps marks of what was read.
type list[T any] struct {
	after int64  // what comes up to this number was read before, and is not known
	sum   uint64 // of the mark of the element with this number; 0: it is not known either
	marks []mark
	mark  func(*T) mark
}

// change is what has become of a list.
type change[T any] struct {
	fresh   []T
	dropped int64 // what comes from this number on is gone, but for what is fresh; 0: nothing
	marks   []mark
}

// kept is the mark of the last element that was known and is still there, or the zero mark.
func (c *change[T]) kept() mark {
	n := len(c.marks) - len(c.fresh)
	if n == 0 {
		return mark{}
	}
	return c.marks[n-1]
}

// look reads what has come. It begins with the last element that is known: if that has changed or
// is gone it reads all. The list stays as it was until take.
func (l *list[T]) look(read func(after int64) ([]T, error)) (c change[T], err error) {
	last := l.after
	if len(l.marks) > 0 {
		last = l.marks[len(l.marks)-1].seq
	}
	if last > 0 {
		got, err := readAll(last-1, l.mark, read)
		if err != nil {
			return c, err
		}
		if len(got) > 0 && l.isLast(&got[0], last) {
			c.fresh, c.marks = got[1:], slices.Clip(l.marks)
			if len(l.marks) == 0 {
				c.marks = []mark{l.mark(&got[0])}
			}
			c.add(l.mark, c.fresh)
			return c, nil
		}
	}
	all, err := readAll(0, l.mark, read)
	if err != nil {
		return c, err
	}
	c.compare(l, all)
	if last == 0 {
		c.dropped = 0
	}
	return c, nil
}

// take takes over what look has read.
func (l *list[T]) take(c change[T]) { l.marks, l.after, l.sum = c.marks, 0, 0 }

// isLast reports whether an element is the last one that is known.
func (l *list[T]) isLast(e *T, last int64) bool {
	m := l.mark(e)
	if len(l.marks) > 0 {
		return m == l.marks[len(l.marks)-1]
	}
	return m.seq == last && (l.sum == 0 || m.sum() == l.sum)
}

// compare finds what is new of all there is. If nothing is as it was known all is new.
func (c *change[T]) compare(l *list[T], all []T) {
	first := 0
	if len(l.marks) > 0 {
		first = max(slices.IndexFunc(all, func(e T) bool { return l.mark(&e).seq >= l.marks[0].seq }), 0)
	}
	same := 0
	for same < len(l.marks) && first+same < len(all) && l.mark(&all[first+same]) == l.marks[same] {
		same++
	}
	switch same {
	case 0:
		c.fresh, c.dropped = all, 1
	default:
		c.fresh, c.marks = all[first+same:], slices.Clip(l.marks[:same])
		if same < len(l.marks) {
			c.dropped = l.marks[same].seq
		}
	}
	c.add(l.mark, c.fresh)
}

func (c *change[T]) add(markOf func(*T) mark, some []T) {
	for i := range some {
		c.marks = append(c.marks, markOf(&some[i]))
	}
}

// readAll reads the elements after a number, page by page. Each page starts with the last element
// of the one before: if that has changed meanwhile it begins again.
func readAll[T any](from int64, markOf func(*T) mark, read func(after int64) ([]T, error)) (all []T, err error) {
	for after := from; ; {
		got, err := read(after)
		switch {
		case err != nil:
			return nil, err
		case len(all) == 0:
			all = got
		case len(got) == 0 || markOf(&got[0]) != markOf(&all[len(all)-1]):
			all, after = nil, from
			continue
		default:
			all = append(slices.Clip(all), got[1:]...)
		}
		if len(got) < page {
			return all, nil
		}
		after = markOf(&all[len(all)-1]).seq - 1
	}
}
