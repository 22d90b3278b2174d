package bulk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// Kind is the kind of the jobs that are operations.
	Kind = "holdfast.operation"
	// Queue is their queue, which every node serves.
	Queue = "holdfast"
	// Turn is their ordering key: in a namespace one operation runs at a time, in the order in
	// which they were started. So two of them over the same jobs do not mix, and all of them
	// together take one slot of one node.
	Turn = "operations"
	// PageSize is how many jobs are changed between two looks at what was asked meanwhile, and
	// pageOfEdits the same of those of which each is a transaction of its own.
	PageSize    = 500
	pageOfEdits = 100
)

// Spec is an operation, as it is stored in the args of its job.
type Spec struct {
	Action Action `json:"action"`
	Filter Filter `json:"filter"`
	Actor  string `json:"actor"`          // who started it, under whose name the changes are recorded
	Note   string `json:"note,omitempty"` // for people
	// Expected is how many jobs the caller had been told of; 0: it does not matter.
	Expected int `json:"expected,omitempty"`
}

// Most is how many jobs may match: an eighth more than expected, and 100 in any case, since jobs
// come and go. If more do, the filter is not what it was taken for. 0: any number.
func (s *Spec) Most() int {
	if s.Expected == 0 {
		return 0
	}
	return s.Expected + max(s.Expected/8, 100)
}

// mark is how the reason of each change begins. It tells a later run of the operation that the
// change was made.
func mark(operation store.ID) string { return "operation " + operation.String() }

// reason is what is recorded with each change. Without an id there is no operation that could go
// on, and only the note.
func (s *Spec) reason(operation store.ID) string {
	switch {
	case operation == store.ID{}:
		return s.Note
	case s.Note == "":
		return mark(operation)
	}
	return mark(operation) + ": " + s.Note
}

// isMarked reports whether an action was one of the operation.
func isMarked(actions []store.Action, operation store.ID) bool {
	return slices.ContainsFunc(actions, func(a store.Action) bool { return strings.HasPrefix(a.Reason, mark(operation)) })
}

// Filter is a store.Filter that is stored as JSON.
type Filter store.Filter

// filterJSON has the fields of a store.Filter, which the conversion checks.
type filterJSON struct {
	Namespace string         `json:"namespace,omitempty"`
	Queues    []string       `json:"queues,omitempty"`
	Kinds     []string       `json:"kinds,omitempty"`
	IDs       []store.ID     `json:"ids,omitempty"`
	States    []store.State  `json:"states,omitempty"`
	Reasons   []store.Reason `json:"reasons,omitempty"`

	Fingerprints []int64 `json:"-"` // as texts, see writtenFilter

	Tags      []string `json:"tags,omitempty"`
	UniqueKey []byte   `json:"unique_key,omitempty"`
	Key       string   `json:"key,omitempty"`
	Parent    store.ID `json:"parent,omitzero"`
	Batch     store.ID `json:"batch,omitzero"`
	NoParent  bool     `json:"no_parent,omitempty"`
	Root      store.ID `json:"root,omitzero"`
	LostFrom  int64    `json:"lost_from,omitempty"`

	CreatedAfter   time.Time `json:"created_after,omitzero"`
	CreatedBefore  time.Time `json:"created_before,omitzero"`
	RunAfter       time.Time `json:"run_after,omitzero"`
	RunBefore      time.Time `json:"run_before,omitzero"`
	FinishedAfter  time.Time `json:"finished_after,omitzero"`
	FinishedBefore time.Time `json:"finished_before,omitzero"`

	Metadata []store.Match `json:"metadata,omitempty"`
	Args     []store.Match `json:"args,omitempty"`

	Attributes []store.AttributeMatch `json:"attributes,omitempty"`
}

// writtenFilter is a filter with what JSON has no type of its own for: many readers of JSON round
// integers of 64 bits.
type writtenFilter struct {
	filterJSON

	Fingerprints []string `json:"fingerprints,omitempty"`
}

// MarshalJSON writes only what selects.
func (f Filter) MarshalJSON() ([]byte, error) {
	v := writtenFilter{filterJSON: filterJSON(f)}
	for _, n := range f.Fingerprints {
		v.Fingerprints = append(v.Fingerprints, store.FingerprintText(n))
	}
	return json.Marshal(v)
}

// UnmarshalJSON is the inverse of MarshalJSON. What it does not know it refuses: without it the
// filter would select more.
func (f *Filter) UnmarshalJSON(data []byte) error {
	var v writtenFilter
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		return err
	}
	for _, text := range v.Fingerprints {
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return fmt.Errorf("fingerprint %q: %w", text, err)
		}
		v.filterJSON.Fingerprints = append(v.filterJSON.Fingerprints, int64(n))
	}
	*f = Filter(v.filterJSON)
	return nil
}

// namesOperations reports whether a filter is about operations: it names their kind, or jobs by
// their ids. Others leave them alone.
func namesOperations(f *store.Filter) bool { return slices.Contains(f.Kinds, Kind) || len(f.IDs) > 0 }
