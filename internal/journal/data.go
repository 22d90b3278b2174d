package journal

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Encode makes the data of an entry.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are structs of plain fields
	}
	return data
}

// Decode reads the data of an entry.
func Decode(e *store.Entry, v any) error {
	data, err := Unpack(e.Data, e.Codec)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("cannot read entry %d of the journal: %w", e.Seq, err)
	}
	return nil
}

// Retry is the data of an EntryStepRetry.
type Retry struct {
	Failure usercode.StepError `json:"failure"`
	Until   time.Time          `json:"until"`
}

// FailureOf returns the failure of a step that an entry remembers.
func FailureOf(e *store.Entry) error {
	failure := &usercode.StepError{}
	if err := Decode(e, failure); err != nil {
		return err
	}
	return failure
}

// Continued is the data of an EntryContinued.
type Continued struct {
	Times    int  `json:"times"`
	Children bool `json:"children,omitempty"` // of an earlier generation, which may be open
	Awaits   bool `json:"awaits,omitempty"`   // of those, some with store.CancelAndWait
}

// All yields entries.
func All(entries []store.Entry) iter.Seq[*store.Entry] {
	return func(yield func(*store.Entry) bool) {
		for i := range entries {
			if !yield(&entries[i]) {
				return
			}
		}
	}
}

// Next returns the data of the EntryContinued with which a job starts over that has these entries.
// Those that cannot be read count as if they said nothing.
func Next(entries iter.Seq[*store.Entry]) Continued {
	next := Continued{Times: 1}
	for e := range entries {
		switch e.Kind {
		case store.EntryChild:
			next.Children = true
		case store.EntryContinued:
			var c Continued
			if Decode(e, &c) == nil {
				next.Times, next.Children = c.Times+1, next.Children || c.Children
			}
		default:
		}
		next.Awaits = next.Awaits || awaits(e)
	}
	return next
}

// Awaits reports whether there may be children that a run which fails cancels and waits for.
func Awaits(entries iter.Seq[*store.Entry]) bool {
	for e := range entries {
		if awaits(e) {
			return true
		}
	}
	return false
}

func awaits(e *store.Entry) bool {
	switch e.Kind {
	case store.EntryChild:
		var c Child
		return Decode(e, &c) == nil && c.OnClose == store.CancelAndWait
	case store.EntryContinued:
		var c Continued
		return Decode(e, &c) == nil && c.Awaits
	default:
		return false
	}
}

// Timer is the data of an EntryTimer.
type Timer struct {
	Until time.Time `json:"until"`
}

// Child is the data of an EntryChild.
type Child struct {
	ID      string            `json:"id"`
	OnClose store.ClosePolicy `json:"on_close,omitempty"`
	Answers bool              `json:"answers,omitempty"`
}

// Callback is the data of an EntryCallback.
type Callback struct {
	Name  string `json:"name"`
	Rules *Rules `json:"rules,omitempty"` // nil: none
}

// Rules decide what becomes of a callback by what its outside system sends: expressions of package
// rules, and what is done if they do not decide.
type Rules struct {
	Filter     string `json:"filter,omitempty"`
	OnComplete string `json:"on_complete,omitempty"`
	OnFail     string `json:"on_fail,omitempty"`
	Transform  string `json:"transform,omitempty"`
	Default    string `json:"default,omitempty"`
}

// Closing is the data of an EntryClosing: the end that was decided, and the paths of the
// compensations that were registered by then. A later run may know of more that has happened since,
// and come farther: what it registers there is not to be run.
type Closing struct {
	State  store.State  `json:"state"`
	Reason store.Reason `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
	Undo   []string     `json:"undo"` // nil: all; written from outside, or by a program that did not say
}

// Ended is the data of an EntryEnded: how the job ends.
type Ended struct {
	State  store.State     `json:"state"`
	Reason store.Reason    `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Update is the data of an EntryUpdated: the request that was accepted. Its name is the entry's.
type Update struct {
	Key string          `json:"key"`
	In  json.RawMessage `json:"in,omitempty"`
}

// Awaited is the data of an EntryAwaited, and of the EntryTimeout of a wait for a condition: where
// the other strands of the run were then. Each was in an operation, whose path this is, with the
// number of the requests that were handled in it, if any, such as "3.1" or "2:4".
type Awaited struct {
	Others []string `json:"others,omitempty"`
}

// Problem is the data of an EntryReceived whose message did not decode.
type Problem struct {
	Problem string `json:"problem"`
}

// ProblemOf tells why the message did not decode that an entry has received, or "" if it did.
func ProblemOf(e *store.Entry) (string, error) {
	if e.Kind != store.EntryReceived || len(e.Data) == 0 {
		return "", nil
	}
	var p Problem
	err := Decode(e, &p)
	return p.Problem, err
}

// UndoPrefix begins the paths of entries of compensations.
const UndoPrefix = "~"

// IsCompensation reports whether a path is one of a compensation.
func IsCompensation(path string) bool { return strings.HasPrefix(path, UndoPrefix) }

// Weight is what an entry counts against the limit of its journal.
func Weight(e *store.Entry) int64 { return int64(len(e.Data) + len(e.Name) + len(e.Path)) }
