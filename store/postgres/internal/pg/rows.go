package pg

import (
	"encoding/json"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/optiontext"
)

// WaitRow is what is scanned of a pointer in deferred, NULL if there is none.
type WaitRow struct {
	State                  *int32
	held, handedOver       *bool
	since, until           *int64
	reason, words, waitFor *string
}

// Body is what is scanned of a job.
type Body struct {
	Lane                int32
	RunAt, CreatedAt    int64
	Lease               int64
	Attempt             int32
	MaxAttempts, Codec  int32
	Args, Options, Tags []byte
	Metadata            []byte
	OrderingKey         *string
	UniqueKey           []byte
	UniqueStates        *int32
	Parent              pgtype.UUID
	Link                *int32
	Closing             *int64
}

// CheckpointRow is what is scanned of a checkpoint, NULL if there is none.
type CheckpointRow struct {
	Percent   *float64
	Message   *string
	Value     []byte
	UpdatedAt *int64
}

// MessageRow is what is scanned of a message or an entry, which have most of their columns in
// common.
type MessageRow struct {
	Seq, At       int64
	Kind          int16
	Codec         int32
	Name, Path    *string
	Data          []byte
	Lease, Ref    *int64
	Took          *int64
	From          pgtype.UUID
	State         *int16
	Reason, Words *string
	Trace         *string
}

// Message turns the row of a message into one.
func (m *MessageRow) Message() store.Message {
	message := store.Message{
		Seq: m.Seq, Kind: store.MessageKind(m.Kind), Name: TextOf(m.Name), Data: m.Data, Codec: int(m.Codec), Error: TextOf(m.Words),
		From: m.From.Bytes, Reason: store.Reason(TextOf(m.Reason)), At: TimeOf(m.At),
		TraceParent: TextOf(m.Trace),
	}
	if m.State != nil {
		message.State = store.State(*m.State)
	}
	return message
}

// Entry turns the row of an entry into one.
func (m *MessageRow) Entry() store.Entry {
	entry := store.Entry{
		Seq: m.Seq, Kind: store.EntryKind(m.Kind), Path: TextOf(m.Path), Name: TextOf(m.Name),
		Data: m.Data, Codec: int(m.Codec), At: TimeOf(m.At),
	}
	if m.Ref != nil {
		entry.Ref = *m.Ref
	}
	if m.Lease != nil {
		entry.LeaseNumber = *m.Lease
	}
	entry.Took = time.Duration(OptInt(m.Took)) * time.Microsecond
	return entry
}

// EncodeOptions returns options as they are stored: NULL if there are none. Their deadline is
// truncated to microseconds, as every time is.
func EncodeOptions(o store.Options) (*string, error) {
	if !o.Deadline.IsZero() {
		o.Deadline = o.Deadline.UTC().Truncate(time.Microsecond)
	}
	if o == (store.Options{}) {
		return nil, nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	s := string(text)
	return &s, nil
}

// EncodeTags returns tags as they are stored: NULL if there are none.
func EncodeTags(tags []string) (*string, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return nil, err
	}
	s := string(text)
	return &s, nil
}

// LinkOf is what the body of a child keeps of its parent beside its id, and that of a member of a
// batch of this; nil for others.
func LinkOf(job *store.Job) *int32 {
	if KinOf(job) == (store.ID{}) {
		return nil
	}
	link := int32(job.OnParentClose)
	if job.Batch != (store.ID{}) {
		link |= member
	}
	if job.Answers {
		link |= answers
	}
	return &link
}

// KinOf is what the column parent has: the parent of a child, or the batch of a member.
func KinOf(job *store.Job) store.ID {
	if job.Batch != (store.ID{}) {
		return job.Batch
	}
	return job.Parent
}

// WithSuccessors is the link of a job after which others come.
func WithSuccessors(link *int32) *int32 {
	with := int32(successors)
	if link != nil {
		with |= *link
	}
	return &with
}

// HasSuccessors reports whether others may come after the job.
func (b *Body) HasSuccessors() bool { return b.Link != nil && *b.Link&successors != 0 }

// Job turns a body into a job; what its lane says is left out.
func (b *Body) Job(id store.ID) (job store.Job, err error) {
	err = b.Fill(&job, id)
	return job, err
}

// Fill is job for one that is in its place already: they are large.
func (b *Body) Fill(job *store.Job, id store.ID) error {
	*job = store.Job{
		ID: id, Args: b.Args, Codec: int(b.Codec), CreatedAt: TimeOf(b.CreatedAt), RunAt: TimeOf(b.RunAt),
		Attempt: int(b.Attempt), MaxAttempts: int(b.MaxAttempts), Metadata: b.Metadata,
		OrderingKey: TextOf(b.OrderingKey), UniqueKey: b.UniqueKey, LeaseNumber: b.Lease,
		Closing: b.Closing != nil, Parent: b.Parent.Bytes,
	}
	if b.RunAt == math.MaxInt64 {
		job.RunAt = time.Time{} // it waits, and no time will wake it
	}
	if b.Link != nil {
		job.Answers, job.OnParentClose = *b.Link&answers != 0, store.ClosePolicy(*b.Link&policyBits)
		if *b.Link&member != 0 {
			job.Parent, job.Batch = store.ID{}, b.Parent.Bytes
		}
	}
	if b.UniqueStates != nil {
		job.UniqueStates = store.StateSet(*b.UniqueStates)
	}
	if b.Tags != nil {
		if err := json.Unmarshal(b.Tags, &job.Tags); err != nil {
			return err
		}
	}
	return optiontext.Decode(b.Options, &job.Options)
}

// Checkpoint returns the checkpoint, or nil if there is none.
func (c *CheckpointRow) Checkpoint() *store.Checkpoint {
	if c.UpdatedAt == nil {
		return nil
	}
	return &store.Checkpoint{Percent: *c.Percent, Message: TextOf(c.Message), Value: c.Value, UpdatedAt: TimeOf(*c.UpdatedAt)}
}

// Columns are what the row is scanned into.
func (w *WaitRow) Columns() []any {
	return []any{&w.State, &w.held, &w.since, &w.until, &w.reason, &w.words, &w.waitFor, &w.handedOver}
}

// Info says what the job waits for, or nil if it does not.
func (w *WaitRow) Info() *store.WaitInfo {
	if w.State == nil || store.State(*w.State) != store.Waiting {
		return nil
	}
	info := &store.WaitInfo{
		Since: OptTime(w.since), Until: OptTime(w.until), Held: w.held != nil && *w.held, HandedOver: w.handedOver != nil && *w.handedOver,
		Reason: store.Reason(TextOf(w.reason)), Error: TextOf(w.words),
	}
	if w.waitFor != nil {
		info.For = []byte(*w.waitFor)
	}
	return info
}
