package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// JobBatches keeps batches of jobs: who has ended of them, and what is to be enqueued when all
// have.
//
// A member is an ordinary job whose body names its batch (Job.Batch). What ends it writes nothing
// for the batch. Members are counted once the batch is closed and no member can come any more, in
// the order of their ids, by who calls CountBatches; what is to be enqueued then is decided by the
// caller, and written with a BatchCall, which happens once.
type JobBatches interface {
	// CreateBatch makes a batch that is open, in the caller's transaction unless tx is nil. One
	// that is there already, in the same namespace, is left as it is. The errors are ErrInvalid,
	// and ErrConflict if its id is taken in another namespace.
	CreateBatch(ctx context.Context, tx Tx, b JobBatch) error
	// CloseBatch closes a batch, in the caller's transaction unless tx is nil: it takes no further
	// members. It does not wait for transactions that are adding some. One that is closed stays so.
	// The error is ErrNotFound.
	CloseBatch(ctx context.Context, tx Tx, namespace string, id ID) error
	// Batches returns a page of batches, the newest ids first.
	Batches(ctx context.Context, filter BatchFilter) ([]JobBatch, error)
	// CountBatches counts members of closed batches, of all namespaces. It is for the node that
	// leads; if two call it at once, each counts what the other one leaves alone.
	CountBatches(ctx context.Context, params CountBatchesParams) (CountedBatches, error)
}

// JobBatch is a number of jobs that belong together.
type JobBatch struct {
	ID        ID // no job has it
	Namespace string
	BatchSettings

	CreatedAt time.Time // set by the store
	ClosedAt  time.Time // zero: it is open
	DoneAt    time.Time // when it was called back; zero: it was not

	// Counts are the ends that were counted, Cursor is the last member that was, and Through tells
	// that all were, and that none of them was retried since. One that was is counted by its
	// earlier end until it has finished again.
	Counts  BatchCounts
	Cursor  ID
	Through bool
	Version int64 // grows with every change, but not when a member is retried
}

// BatchSettings is what a batch is for.
type BatchSettings struct {
	Name  string     `json:"name,omitempty"` // for people; it need not be unique
	Calls []BatchJob `json:"calls,omitempty"`
}

// BatchJob is a job that is enqueued when a batch has ended.
type BatchJob struct {
	When BatchEnd     `json:"when"`
	ID   ID           `json:"id"` // that it will have
	Job  ScheduledJob `json:"job"`
}

// BatchEnd says how a batch has ended. The numbers are stored in databases and never change their
// meaning.
type BatchEnd uint8

// The ends.
const (
	BatchEnded     BatchEnd = 0 // all members have finished
	BatchSucceeded BatchEnd = 1 // all members have completed
	BatchFailed    BatchEnd = 2 // all members have finished, and not all of them have completed
)

// BatchCounts are how members have ended.
type BatchCounts struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Total is how many have ended.
func (c BatchCounts) Total() int64 { return c.Completed + c.Failed + c.Cancelled }

// BatchResult is what a job that is enqueued for a batch is told of it.
type BatchResult struct {
	ID ID `json:"id"`
	BatchCounts
}

// MaxBatchCalls is how many jobs a batch may have enqueued when it has ended.
const MaxBatchCalls = 10

// BatchFilter is a page of batches. What is zero selects all.
type BatchFilter struct {
	Namespace string
	ID        ID
	// Undone: only those that were not called back.
	Undone bool
	Before ID  // the last one of the page before
	Limit  int // at least 1
}

// CountBatchesParams is a part of what is to be counted.
type CountBatchesParams struct {
	After   ID  // the last batch of the part before; zero: from the first on
	Limit   int // how many batches are looked at
	Members int // how many members are looked at, about; those that are left are for the next call
}

// CountedBatches is the answer of CountBatches.
type CountedBatches struct {
	// Through are those batches of the part of which all members are counted, and that were not
	// called back.
	Through []JobBatch
	Next    ID   // the last one of this part; zero: it was the last part
	Again   bool // there is more to count now
	Open    bool // there are closed batches that were not called back
}

// BatchCall marks a batch as called back. It is written with the enqueues of its jobs, which belong
// to its Unit, or not at all.
type BatchCall struct {
	Namespace string
	Batch     ID
	Version   int64 // of the batch from which it was decided. Another one is ErrConflict
	Err       error
}

// Member is one of a batch, with its state if it has finished; else that may be 0.
type Member struct {
	ID    ID
	State State
	// Was is how it had ended when it was counted, of one that was retried since; else 0.
	Was State
	// Gone tells of such a one that it was deleted when it had finished again. It counts no more.
	Gone bool
}

// Count counts members, up to the first that has not finished: those that come after the cursor, in
// the order of their ids, and then those that were counted and retried since. all tells that there
// are no others. It returns how many it has counted, and whether the batch has changed, but for its
// version. The batch must not be Through.
func (b *JobBatch) Count(members []Member, all bool) (counted int, changed bool) {
	for _, m := range members {
		if !m.Gone && !m.State.Finished() {
			return counted, counted > 0
		}
		if m.Was == 0 {
			b.Cursor = m.ID
		}
		b.tally(m.Was, -1)
		if !m.Gone {
			b.tally(m.State, 1)
		}
		counted++
	}
	b.Through = all
	return counted, counted > 0 || all
}

// tally counts n ends more.
func (b *JobBatch) tally(end State, n int64) {
	switch end {
	case Completed:
		b.Counts.Completed += n
	case Failed:
		b.Counts.Failed += n
	case Cancelled:
		b.Counts.Cancelled += n
	case Available, Scheduled, Retryable, Waiting, Running:
	}
}

// Call is the unit that enqueues what a batch says whose members are counted.
func (b *JobBatch) Call() *Unit {
	u := &Unit{Call: &BatchCall{Namespace: b.Namespace, Batch: b.ID, Version: b.Version}}
	succeeded := b.Counts.Failed+b.Counts.Cancelled == 0
	for _, c := range b.Calls {
		if c.When == BatchSucceeded && !succeeded || c.When == BatchFailed && succeeded {
			continue
		}
		job := c.Job.Job(b.Namespace, c.ID, time.Time{})
		job.Options.Called = BatchResult{ID: b.ID, BatchCounts: b.Counts}
		u.Enqueues = append(u.Enqueues, &Enqueue{Job: job})
	}
	return u
}

// Judge reports why the call of a batch, or of none, does not happen.
func (c *BatchCall) Judge(b *JobBatch) error {
	switch {
	case b == nil || b.Namespace != c.Namespace:
		return NoBatch(c.Batch)
	case b.Version != c.Version || !b.Through || !b.DoneAt.IsZero():
		return fmt.Errorf("%w: the batch %s was called back, or changed, meanwhile", ErrConflict, c.Batch)
	}
	return nil
}

// NoBatch is the ErrNotFound of a batch that is not there.
func NoBatch(id ID) error { return fmt.Errorf("%w: batch %s", ErrNotFound, id) }

// BatchClosedError is returned for a job that cannot be added to its batch: it is closed, or
// Missing. It is an ErrConflict, or an ErrNotFound.
type BatchClosedError struct {
	Job, Batch ID
	Missing    bool
}

func (e *BatchClosedError) Error() string {
	if e.Missing {
		return fmt.Sprintf("%v: batch %s, to which job %s was to be added", ErrNotFound, e.Batch, e.Job)
	}
	return fmt.Sprintf("%v: the batch %s is closed; job %s was not added", ErrConflict, e.Batch, e.Job)
}

// Unwrap returns the class of the error.
func (e *BatchClosedError) Unwrap() error {
	if e.Missing {
		return ErrNotFound
	}
	return ErrConflict
}

// Check reports why no store takes the batch, an ErrInvalid.
func (b *JobBatch) Check() error {
	switch {
	case b.ID == ID{} || b.Namespace == "":
		return fmt.Errorf("%w: a batch lacks an id or a namespace", ErrInvalid)
	case len(b.Calls) > MaxBatchCalls:
		return fmt.Errorf("%w: batch %s has %d jobs for its end; at most %d are allowed", ErrInvalid, b.ID, len(b.Calls), MaxBatchCalls)
	case !isText(b.Namespace) || !isText(b.Name):
		return fmt.Errorf("%w: batch %s: its namespace or its name is not valid UTF-8 or contains NUL", ErrInvalid, b.ID)
	}
	seen := map[ID]bool{b.ID: true}
	for _, c := range b.Calls {
		if c.When > BatchFailed || seen[c.ID] {
			return fmt.Errorf("%w: batch %s: a job for its end has an unknown condition %d, or an id that is taken", ErrInvalid, b.ID, c.When)
		}
		seen[c.ID] = true
		job := c.Job.Job(b.Namespace, c.ID, time.Time{})
		if err := job.Check(); err != nil {
			return fmt.Errorf("%w (it is for the end of batch %s)", err, b.ID)
		}
		if job.Options.Key != "" {
			return fmt.Errorf("%w: batch %s: a job for its end has a business key", ErrInvalid, b.ID)
		}
	}
	return nil
}

// Encode writes what a batch is for, as stores keep it. It checks the batch first.
func (b *JobBatch) Encode() (string, error) {
	if err := b.Check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(b.BatchSettings)
	if err != nil {
		return "", fmt.Errorf("%w: batch %s: %w", ErrInvalid, b.ID, err)
	}
	return string(text), nil
}

// DecodeBatch reads what Encode has written.
func DecodeBatch(text string) (s BatchSettings, err error) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("%w: what a batch is for: %w", ErrInvalid, err)
	}
	return s, nil
}

// CompareBatches is the order of Batches.
func CompareBatches(a, b *JobBatch) int { return bytes.Compare(b.ID[:], a.ID[:]) }

// Size is about how many bytes the batch takes.
func (b *JobBatch) Size() int {
	n := 300 + len(b.Name)
	for _, c := range b.Calls {
		n += 300 + len(c.Job.Args) + len(c.Job.Metadata)
	}
	return n
}
