package store

import (
	"encoding/json"
	"time"
)

// Filter selects jobs. Fields that are zero, and lists that are empty, select everything; of the
// others all must fit. The most selective field that has an index is where a list looks, and the
// others are checked on what is found there; each comment says which index that is. Without one a
// list looks at all jobs, in its order, a bounded number for each page.
//
// A range of time begins with its After and ends before its Before, both cut to microseconds. One
// that ends before it begins is an ErrInvalid, and so is a state that is none.
type Filter struct {
	// Namespace, Queues and Kinds: the jobs of one of the lanes that this selects. They are found
	// by lane: those that have not finished, have failed or were cancelled if there are no more
	// than CountBound; by id all of them, of no more than a thousand lanes; and those that
	// completed, in the order of their ends, if there are few of them.
	Namespace string
	Queues    []string
	Kinds     []string
	// IDs are the jobs themselves, MaxFilterIDs at the most. They are found by id.
	IDs []ID
	// States: jobs that are not finished are found by what makes them so, if there are no more than
	// CountBound; failed and cancelled ones by their state. Completed jobs are found by their
	// lanes, or walked through.
	States []State
	// Reasons are those of failed and cancelled jobs, which are found by their state.
	Reasons []Reason
	// Fingerprints are those of failed jobs (Record.Fingerprint); 0: those that have none. The jobs
	// are found by it, if there are no more than CountBound or they are sorted by the time at which
	// they failed.
	Fingerprints []int64
	// Tags: the job has all of them. It is looked for among the others.
	Tags []string
	// UniqueKey: the job holds this unique key. It is found by the key.
	UniqueKey []byte
	// Key is a business key: the job of one of Kinds that has it, or had it last. It needs a
	// Namespace and Kinds, and is found by the key.
	Key string
	// Parent: the children of this job. They are found by it.
	Parent ID
	// Batch: the members of this batch. They are found by it.
	Batch ID
	// NoParent: only jobs that are no children. They are looked for among the others.
	NoParent bool
	// Root: the children of this job, their children, and so on, as far as all between are still
	// there. They are found from parent to child, if there are no more than CountBound; of a larger
	// family the members are looked for among the others.
	Root ID
	// LostFrom is a node: jobs of which a run was lost with it, because it was declared dead or
	// gave the lease up. They are found by the attempts that this has left.
	LostFrom int64
	// CreatedAfter and CreatedBefore bound the time in the id, in milliseconds: when the client
	// made it, by its own clock. That is a moment before Job.CreatedAt, unless the caller made the
	// id earlier. They are found by id.
	CreatedAfter, CreatedBefore time.Time
	// RunAfter and RunBefore bound the run time of jobs that are not finished. One that no time
	// wakes is not selected. They are found by their time.
	RunAfter, RunBefore time.Time
	// FinishedAfter and FinishedBefore bound the time at which finished jobs did so. They are found
	// by it, if there are no more than CountBound or they are sorted by it.
	FinishedAfter, FinishedBefore time.Time
	// Metadata and Args: what these have at a path. They are looked for among the others, and read
	// as a whole. Args that are no JSON, by their codec, do not match.
	Metadata, Args []Match
	// Attributes: what the job has for search attributes, which the namespace has declared; all of
	// them must fit. They need a Namespace. A value that must be equal is found by it, in the order
	// of ids, any number of jobs; a range, and several attributes, by that of which no more than
	// CountBound jobs have a value that fits. Else they are looked for among the others.
	Attributes []AttributeMatch
}

// MaxFilterIDs is how many ids a filter may have.
const MaxFilterIDs = 1000

// Match selects by what a JSON document has at a path.
type Match struct {
	// Path is names of fields, and numbers of elements from 0 on, joined by dots: "customer.city",
	// "items.0.sku". If it begins with a slash it is a JSON pointer (RFC 6901), for names that
	// contain dots: "/app.version".
	Path string `json:"path"`
	// Value is what is there, as JSON. Numbers are equal if they are exactly the same number, such
	// as 1 and 1.0, objects if they have the same fields, in any order. A field that is missing
	// counts as null.
	Value json.RawMessage `json:"value"`
}

// Sort is an order of jobs. Where it says nothing else jobs are in the order of their ids.
type Sort uint8

// The orders.
const (
	// SortNewest is by id, newest first.
	SortNewest Sort = iota
	// SortOldest is by id, oldest first.
	SortOldest
	// SortRunAt is by run time, soonest first, of jobs that are not finished. Those that no time
	// wakes come last.
	SortRunAt
	// SortFinished is by the time at which jobs finished, last first, of finished ones.
	SortFinished
)

var sortNames = []string{"newest", "oldest", "run_at", "finished"}

// Sorts are all orders.
var Sorts = []Sort{SortNewest, SortOldest, SortRunAt, SortFinished}

// String returns the name of the order, as users see it everywhere.
func (s Sort) String() string { return nameOf(sortNames, uint8(s), "sort") }

// ParseSort is the inverse of Sort.String.
func ParseSort(name string) (Sort, error) { return numberOf[Sort](sortNames, name, "order") }

// States are those of the jobs that can be sorted like this.
func (s Sort) States() StateSet {
	switch s {
	case SortRunAt:
		return Unfinished
	case SortFinished:
		return SetOf(States...) &^ Unfinished
	default:
		return SetOf(States...)
	}
}

// ListParams is a page of jobs. A page may be shorter than Limit although there is more: the store
// looks at a bounded number of rows; Next is empty only at the end.
//
// A job that is there from the first page to the last, and keeps its place in the order, is on
// exactly one of them, whatever is enqueued, moved and finished meanwhile. By id, and by the time
// at which a job finished, it keeps its place. By run time one that moves later may come twice, and
// one that moves earlier not at all.
type ListParams struct {
	Filter Filter
	// Sort is the order. States that cannot be sorted like this are ErrInvalid; without States the
	// order selects those that can. SortRunAt is ErrInvalid while more than CountBound jobs wait
	// for the turn of an ordering key, which are in the order of their keys, or run.
	Sort  Sort
	After string // the cursor of the page before, or ""
	Limit int    // 1 to 1000
}

// Page is what List found.
type Page struct {
	Jobs []Record // Attempts, Actions and Result are not filled in
	Next string   // the cursor of the next page; "" at the end
}

// CountParams is a part of a count: a bounded number of rows is looked at.
type CountParams struct {
	Filter Filter
	After  string // the cursor of the part before, or ""
}

// Counted is what a part of a count found.
type Counted struct {
	// N is how many jobs of this part there are. A part ends when there are more than CountBound.
	N    int
	Next string // the cursor of the next part; "" at the end
}

// KeyOfLimit is what a job has as Limit and LimitKey; the limit need not be there.
type KeyOfLimit struct{ Limit, Key string }

// WaitingOfKeysParams ask how many jobs of keys wait in a queue.
type WaitingOfKeysParams struct {
	Namespace, Queue string
	Keys             []KeyOfLimit // each once; the answer has their order
	Most             int          // more of a key are not counted; positive
	Few              int          // how many of all are looked at; 0: CountBound; negative: none
}
