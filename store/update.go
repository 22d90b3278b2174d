package store

import "time"

// Update is a request to the run of a job, with an answer. It is sent as a message of the kind
// MessageUpdate, and is no part of the inbox or of the journal: one that is refused leaves nothing
// there, and an answer outlives both. It stays until its job is removed, unless it was refused.
//
// A request without an answer is open, whether or not a run has begun to handle it: which ones a
// run has accepted is told by the entries of its journal (EntryUpdated). The end of a job leaves
// those that are open as they are, without an answer; they are removed when a person lets the job
// run again, since their callers were told by then that they are not handled.
type Update struct {
	Seq   int64  // given by the store; a later request to the same job has a greater one
	Key   string // names it among the requests to its job
	Name  string // what of its run it is for
	Data  []byte // the payload, or nil
	Codec int    // of Data; 0: JSON
	At    time.Time
	// Answer is nil while the request is open.
	Answer *UpdateAnswer
}

// UpdateAnswer is what a run has made of a request.
type UpdateAnswer struct {
	Seq     int64 // of the request
	Verdict UpdateVerdict
	Data    []byte // of UpdateDone: the result, or nil
	Codec   int    // of Data; 0: JSON
	Error   string // of the others: why
	At      time.Time
}

// UpdateVerdict says what became of a request. The numbers are stored in databases and never change
// their meaning.
type UpdateVerdict uint8

// The verdicts.
const (
	UpdateDone    UpdateVerdict = 1 // it was accepted, and its handler returned a result
	UpdateFailed  UpdateVerdict = 2 // it was accepted, and its handler returned an error
	UpdateRefused UpdateVerdict = 3 // it was not accepted, and has changed nothing
)

// UpdatesAfter are the requests to a job with a greater Seq.
type UpdatesAfter struct {
	Job ID
	Seq int64
}

// UpdateBound is how many open requests to one job are returned at once, the first to have arrived.
const UpdateBound = 1000

// RefusedKept is how long it is known at the least that a request was refused, unless it is
// forgotten before.
const RefusedKept = time.Minute
