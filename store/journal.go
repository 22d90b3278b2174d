package store

import "time"

// EntryKind says what an entry of a journal records. The numbers are stored in databases and never
// change their meaning. The store itself looks at a few of them only, which say so.
type EntryKind uint8

// The kinds of entries.
const (
	EntryStep        EntryKind = 1  // a step returned; Data is its result
	EntryStepFailed  EntryKind = 2  // a step failed for good; Data is its StepFailure
	EntryStepRetry   EntryKind = 3  // an attempt of a step failed and is repeated; Data is a StepFailure and when
	EntryTimer       EntryKind = 4  // a sleep or a time limit began; Data is when it ends
	EntryTimeout     EntryKind = 5  // a wait ended because its time limit was over
	EntryReceived    EntryKind = 6  // a message was received; Ref is its Seq. Fork looks at it
	EntryChild       EntryKind = 7  // a child was enqueued; Name is its kind, Data its id and place
	EntryCallback    EntryKind = 8  // a callback was opened; Name is its token. Send looks at it
	EntrySelected    EntryKind = 9  // one of several waits was chosen; Data is which
	EntryValue       EntryKind = 10 // a time, a random number or a UUID that was given out
	EntryPatched     EntryKind = 11 // a change of the code that this run takes part in; Name is the change
	EntryPublished   EntryKind = 12 // the value of a key for clients; Name is the key. There is an index for it. See Continue
	EntryStreamed    EntryKind = 13 // an item of a stream for clients; Name is the stream. There is an index for it. See Continue
	EntryClosing     EntryKind = 14 // the end is decided and compensations run; Data says which end
	EntryCompensated EntryKind = 15 // a compensation has run
	EntryContinued   EntryKind = 16 // the first entry after the run continued as new; Data says how often it has
	EntryRegistered  EntryKind = 17 // compensations are registered, and nothing else was to be remembered when the run parked
	EntryEnded       EntryKind = 18 // the run has ended its job in a transaction of the caller; Data says how
	EntryUpdated     EntryKind = 19 // a request was accepted; Ref is its Update.Seq, Name its name, Data the request. Resume looks at it
	EntryAwaited     EntryKind = 20 // a condition has become true; Name is what was waited for, Data where other strands were
)

// Entry is one line of a job's journal: what a run of it has durably done.
type Entry struct {
	Seq   int64 // 1, 2, 3, … without gaps; in a job that continued as new, from its EntryContinued on
	Kind  EntryKind
	Path  string // the operation's place in the run, such as "3" or "2.1"
	Name  string // of the step, child, callback, …
	Ref   int64  // of a message or an update; 0: none
	Data  []byte // as its codec wrote it, or nil
	Codec int    // 0: JSON
	// Took is how long what the entry remembers took, of a step its last try; 0: it took no time,
	// or that is not known.
	Took time.Duration

	// Set by the store, and ignored when it is written.
	At          time.Time
	LeaseNumber int64 // of the run that wrote it; 0: it was copied by a fork
}

// Append adds entries to the journal of a running job, fenced by its lease, enqueues its children
// and answers requests to it in the same fate: all of it happens or nothing.
//
// The caller numbers the entries without gaps, from the journal's last Seq + 1 (it is the only
// writer, by its lease). A Seq that exists is ErrLeaseLost, unless Repeat is set and this very
// lease wrote it: then the whole was done before, and nothing is done again. A gap between the
// entries is ErrInvalid; one before the first may be, but a store need not look.
type Append struct {
	Lease Lease
	// Namespace is that of the job. A store does not look at it.
	Namespace string
	Entries   []Entry
	// Enqueues are children: Job.Parent is the lease's job, and they have no unique key. An Err of
	// one of them fails the whole.
	Enqueues []*Enqueue
	// Answers are those to open requests to the lease's job. One to a request that is not open is
	// passed over: the first answer stays.
	Answers []UpdateAnswer
	// Closing says that the end of the run is decided, see Job.Closing. It is never taken back but
	// by Resume.
	Closing bool
	// Meta is what the run says of its job; nil: nothing. It is written with the entries.
	Meta *Meta
	// Repeat says that it was sent before and its answer was lost.
	Repeat bool
	// Err is this append's own failure: ErrLeaseLost, ErrInvalid, ErrBusy, or that of an enqueue.
	Err error
}

// LastSeq is the number of the append's last entry, 0 if it has none.
func (a *Append) LastSeq() int64 {
	if len(a.Entries) == 0 {
		return 0
	}
	return a.Entries[len(a.Entries)-1].Seq
}

// Journal is what a job remembers, and what was sent to it.
type Journal struct {
	Job      ID
	Entries  []Entry   // by Seq
	Messages []Message // by Seq
}

// LastSeq is the number of the journal's last entry, 0 if it has none.
func (j *Journal) LastSeq() int64 {
	if len(j.Entries) == 0 {
		return 0
	}
	return j.Entries[len(j.Entries)-1].Seq
}

// JournalParams selects entries of one job's journal.
type JournalParams struct {
	Namespace string // of the job; "": any
	Job       ID
	Kinds     []EntryKind // nil: all; empty but not nil: none
	Name      string      // "": any
	After     int64       // entries with a greater Seq; with Newest, 0 means from the end, and else entries with a smaller Seq
	Newest    bool        // newest first
	Limit     int         // 1 to 1000
	// Earlier asks also for what stayed of before the job last continued as new (see Continue): for
	// all entries of the kind EntryStreamed, and of the kind EntryPublished at least for the newest
	// of each name. Without it they are not seen.
	Earlier bool
}
