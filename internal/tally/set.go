package tally

import (
	"cmp"
	"maps"
	"slices"
)

// What happened to a run. Every run that has started ends in one of the others but Lost, or is
// Lost, unless its job was taken away from it by a termination.
const (
	Started   = iota // a handler began to run
	Completed        // the job completed
	Failed           // the job failed, with no attempt left; one that was lost for good counts, too
	Retried          // the attempt failed, and another one follows
	Cancelled        // the job was cancelled
	Parked           // the run was put aside: a durable function that waits, or a job that asked to run later
	Released         // the job was given back and not counted: its node stopped, or it was paused
	Lost             // the run was taken from a node that is dead, or that had lost track of it
	Things           // how many of these there are
)

// Counts is how often each thing happened.
type Counts [Things]uint64

// Ended is how many runs have ended at their node.
func (c *Counts) Ended() uint64 {
	return c[Completed] + c[Failed] + c[Retried] + c[Cancelled] + c[Parked] + c[Released]
}

// Name is of which jobs something is told. The zero value stands for all that are more than
// MaxEntries.
type Name struct{ Queue, Kind string }

// Compare orders names by their queue, and then by their kind.
func (n Name) Compare(m Name) int {
	return cmp.Or(cmp.Compare(n.Queue, m.Queue), cmp.Compare(n.Kind, m.Kind))
}

// Entry is what happened to the runs of the jobs of a queue and kind.
type Entry struct {
	Counts

	Wait Hist // how long jobs waited in their queue before they started
	Run  Hist // how long runs took
}

// Merge adds what another one has.
func (e *Entry) Merge(other *Entry) {
	for i, n := range other.Counts {
		e.Counts[i] = sum(e.Counts[i], n)
	}
	e.Wait.Merge(&other.Wait)
	e.Run.Merge(&other.Run)
}

// MaxEntries is how many queues and kinds a set tells apart. What others do counts under the zero
// Name.
const MaxEntries = 1000

// Set is what happened in some time. It is not for several goroutines at once.
type Set struct{ entries map[Name]*Entry }

// Of returns the entry of a name, which is made if there is none, or that of all others.
func (s *Set) Of(name Name) *Entry {
	e := s.entries[name]
	if e != nil {
		return e
	}
	if s.entries == nil {
		s.entries = map[Name]*Entry{}
	}
	others := s.entries[Name{}]
	named := len(s.entries)
	if others != nil {
		named--
	}
	if named == MaxEntries-1 {
		if name = (Name{}); others != nil {
			return others
		}
	}
	e = &Entry{}
	s.entries[name] = e
	return e
}

// Len is how many entries there are.
func (s *Set) Len() int { return len(s.entries) }

// Names are those of the entries, in order.
func (s *Set) Names() []Name { return slices.SortedFunc(maps.Keys(s.entries), Name.Compare) }

// Merge adds what another set has, in the order of its names.
func (s *Set) Merge(other *Set) {
	for _, name := range other.Names() {
		s.Of(name).Merge(other.entries[name])
	}
}
