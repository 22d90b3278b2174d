package entries

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// shape is which fields an entry of a kind has.
type shape struct {
	name    string // what its name is of; "": it has none
	unnamed bool   // it may be without
	nowhere bool   // it has no path
	also    []string
}

// The fields that only some kinds have.
const (
	ofMessage = "message"
	ofTook    = "took"
	ofFor     = "for"
	ofJob     = "job"
	ofOnClose = "on_close"
	ofSignal  = "signal"
)

// shapes are those of the kinds that workers write. What is not here is written by runs that
// compensate, handle requests, or start over, which runs of workers do not.
var shapes = map[store.EntryKind]shape{
	store.EntryStep:       {name: "step", also: []string{ofTook, ofSignal}},
	store.EntryStepFailed: {name: "step", also: []string{ofTook}},
	store.EntryStepRetry:  {name: "step", also: []string{ofTook, ofFor}},
	store.EntryTimer:      {name: "condition", unnamed: true, also: []string{ofFor}},
	store.EntryTimeout:    {name: "wait", unnamed: true},
	store.EntryReceived:   {name: "signal", unnamed: true, also: []string{ofMessage}},
	store.EntryChild:      {name: "kind", also: []string{ofJob, ofOnClose}},
	store.EntryCallback:   {},
	store.EntrySelected:   {},
	store.EntryValue:      {},
	store.EntryPatched:    {name: "change", nowhere: true},
	store.EntryPublished:  {name: "key"},
	store.EntryStreamed:   {name: "stream"},
	store.EntryAwaited:    {name: "condition"},
}

// check refuses an entry with fields that its kind does not have, and one that lacks some.
func (s *shape) check(at string, e *RunEntry) error {
	if why := wrongPath(e.Path, !s.nowhere); why != "" {
		return problem.Invalid(at+"/path", why)
	}
	switch {
	case s.name == "" && e.Name != "":
		return problem.Invalid(at+"/name", "an entry of this kind has no name")
	case s.name != "" && (e.Name != "" || !s.unnamed):
		if err := valid.Name(s.name, e.Name); err != nil {
			return problem.At(at+"/name", err)
		}
	}
	for _, f := range []struct {
		name          string
		given, wanted bool
	}{
		{ofMessage, e.Message != 0, true},
		{ofTook, e.Took != 0, false},
		{ofFor, e.For != nil, false},
		{ofJob, e.Job != nil, true},
		{ofOnClose, e.OnClose != "", false},
		{ofSignal, e.Signal != nil, false},
	} {
		has := slices.Contains(s.also, f.name)
		switch {
		case f.given && !has:
			return problem.Invalid(at+"/"+f.name, "an entry of this kind has no such field")
		case !f.given && has && f.wanted:
			return problem.Invalid(at+"/"+f.name, "it is missing")
		}
	}
	return nil
}
