// Package blocked is what the strands of a run wait for, and what a run waits for all of whose
// strands do.
//
// # Imports
//
// Of ours, store.
package blocked

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// On is what a strand waits for.
type On struct {
	Until    time.Time // zero: no time limit
	Kinds    store.MessageSet
	Count    int64
	Failures bool
	Strand   bool     // another strand may end it
	What     string   // for people, such as "signal approved"
	Updates  []string // names of the requests that may be handled meanwhile
}

// EndsWithin reports whether only another strand of the run can end it.
func (o *On) EndsWithin() bool {
	return o.Strand && o.Until.IsZero() && o.Kinds == 0 && o.Count == 0 && !o.Failures
}

// earlier returns the earlier of two time limits.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Any is what a strand waits for that waits for the first of several things.
func Any(all []On) On {
	var first On
	var what []string
	for _, o := range all {
		first.Until = earlier(first.Until, o.Until)
		first.Kinds |= o.Kinds
		first.Failures = first.Failures || o.Failures
		first.Strand = first.Strand || o.Strand
		what = append(what, o.What)
	}
	first.What = "the first of: " + strings.Join(what, ", ")
	return first
}

// Wait is what a run waits for all of whose strands wait.
func Wait(strands []On) *store.Wait {
	w := &store.Wait{}
	var what []string
	for _, o := range strands {
		w.Until = earlier(w.Until, o.Until)
		w.Kinds |= o.Kinds
		w.Failures = w.Failures || o.Failures
		if o.Count > 0 && (w.Count == 0 || o.Count < w.Count) {
			w.Count = o.Count
		}
		what = append(what, o.What)
		for _, name := range o.Updates {
			what = append(what, "update "+name)
		}
	}
	slices.Sort(what)
	w.For = Text(slices.Compact(what))
	return w
}

// Text is what people read of a wait.
func Text(what []string) []byte {
	data, err := json.Marshal(map[string][]string{"waits_for": what})
	if err != nil {
		return nil
	}
	return data
}

// Deadlock tells, if every one of the strands can be ended only by another of them, what they wait
// for: nothing would ever wake the run. It is "" otherwise.
func Deadlock(strands []On) string {
	var what []string
	for _, o := range strands {
		if !o.EndsWithin() {
			return ""
		}
		what = append(what, o.What)
	}
	slices.Sort(what)
	return strings.Join(what, "; ")
}
