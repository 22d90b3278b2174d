package store

import "time"

// MessageKind says what a message is. The numbers are stored in databases and never change their
// meaning.
type MessageKind uint8

// The kinds of messages.
const (
	MessageSignal         MessageKind = 1 // Name is the signal's
	MessageCallback       MessageKind = 2 // a callback was completed; Name is its token
	MessageCallbackFailed MessageKind = 3 // a callback was failed; Name is its token, Error says why
	MessageHeartbeat      MessageKind = 4 // a callback is still worked on; Name is its token
	MessageChild          MessageKind = 5 // a child finished; written by the store in the transaction that finishes it
	MessageUpdate         MessageKind = 6 // a request that its run answers; Name says what of the run it is for. See Update
)

// MessageSet is a set of kinds of messages: bit 1<<kind.
type MessageSet uint16

// MessagesOf returns the set of the given kinds.
func MessagesOf(kinds ...MessageKind) MessageSet {
	var set MessageSet
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// Has reports whether the set contains k.
func (set MessageSet) Has(k MessageKind) bool { return set&(1<<k) != 0 }

// Message is something that was sent to a job. Messages are kept in the order in which their
// transactions took the job, and stay until the job is removed or continues as new.
type Message struct {
	Seq  int64 // 1, 2, 3, … without gaps, given by the store
	Kind MessageKind
	Name string
	Data []byte // the payload, or the result of a child; or nil
	// Codec of Data. 0: JSON.
	Codec int
	Error string // of MessageCallbackFailed, and of a child that did not complete

	// Of MessageChild.
	From   ID
	State  State
	Reason Reason

	// TraceParent is the header traceparent of W3C Trace Context, of the span in which it was sent;
	// "": it was in none. A MessageUpdate and a MessageChild carry none. See CheckTrace.
	TraceParent string `json:",omitempty"` //nolint:tagliatelle // as its other fields

	At time.Time // set by the store
}

// Send delivers a message to a job, and wakes the job if it waits for such a message.
//
// A job that has finished takes none: the error is ErrConflict. A callback's message needs the
// job's EntryCallback with the token as its name, else the error is ErrNotFound; once a callback
// was completed or failed, further messages for it are ErrConflict.
//
// A MessageUpdate is kept as an Update, and not as a message of the inbox: it has no Seq there, and
// no Wait.Count counts it. It needs a Key.
type Send struct {
	Namespace string // of the job; "": any
	Job       ID
	Message   Message // its Kind, Name, Data, Codec, Error and TraceParent; not MessageChild
	// Key makes a repeated send do nothing: of one job and key only the first message is stored,
	// for as long as it is kept, and so of updates. "": none. It is looked at before everything
	// else.
	Key string

	// Required makes the send refuse its batch if it has an Err, so that all happens or nothing;
	// see Unit.
	Required bool

	// Result is set by the store.
	Result SendResult
	// Err is this send's own failure: ErrNotFound, ErrConflict, ErrInvalid or ErrBusy.
	Err error
}

// SendResult tells what a send did.
type SendResult struct {
	Seq       int64 // of the message, or of the update; of the first one if it is a duplicate
	Duplicate bool  // a message with the same key was there before
	Woken     bool  // the job became available
}

// InboxParams selects messages of one job.
type InboxParams struct {
	Namespace string // of the job; "": any
	Job       ID
	After     int64 // messages with a greater Seq
	Limit     int   // 1 to 1000
}

// Wait says what a parked run waits for. It is woken by whatever comes first.
type Wait struct {
	// Until is when it is woken at the latest. Zero: no time limit. A deadline of the job that is
	// sooner wakes it too, unless the job is closing.
	Until time.Time
	// Seen is the Seq of the last message that the run knows: later ones may wake it at once.
	Seen int64
	// Kinds are the kinds of messages of which any one with a Seq greater than Seen wakes it.
	Kinds MessageSet
	// SeenUpdate is the Seq of the last update that the run knows. If MessageUpdate is among Kinds,
	// a later one that is open may wake it at once.
	SeenUpdate int64
	// Count, if positive, wakes it when the last message, of whatever kind, has a Seq of Seen +
	// Count or more. So a parent of ten thousand children is woken once.
	Count int64
	// Failures: a MessageChild of a child that did not complete wakes it, whatever Kinds says.
	Failures bool
	// Held: nothing wakes it but a person's Resume. Until, Kinds, SeenUpdate, Count and Failures
	// are not looked at.
	Held bool
	// HandedOver: the run has handed its job over to an outside system, which ends it (Finish).
	// Until that time wakes it; Kinds, Count and Failures are not looked at. One that a person
	// pauses stays handed over until it is resumed.
	HandedOver bool
	// Compensates, of one that is HandedOver, tells that the run has registered compensations,
	// which a failure has to run: see End.
	Compensates bool
	// For says in JSON what it waits for, for people; or nil.
	For []byte
}

// Wakes reports whether the message wakes a run that waits like this.
func (w *Wait) Wakes(m *Message) bool {
	if w.Held || w.HandedOver || m.Seq <= w.Seen {
		return false
	}
	return w.Kinds.Has(m.Kind) || w.Count > 0 && m.Seq >= w.Seen+w.Count ||
		w.Failures && m.Kind == MessageChild && m.State != Completed
}

// WaitInfo is what a Record tells of a job that is parked.
type WaitInfo struct {
	Since time.Time // when it was parked
	Until time.Time // zero: no time limit
	Held  bool
	For   []byte
	// HandedOver: an outside system is to end it.
	HandedOver bool
	// Reason and Error say why it waits: ReasonPaused with the words of who asked, or those of the
	// outcome that parked it, if that has said so.
	Reason Reason
	Error  string
}
