package workers

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/tokens"
	"github.com/holdfastdev/holdfast/store"
)

// worker is what the token of a worker carries.
type worker struct {
	Node      int64    `json:"i"`
	Namespace string   `json:"n"`
	Kinds     []string `json:"k"`
	Queues    []string `json:"q,omitempty"` // names, or patterns; none: all
	Slots     int      `json:"s"`
	// Journal is the version of the format in which it keeps journals; 0: it keeps none.
	Journal int `json:"j,omitempty"`
	// Beat is after how long it beats again.
	Beat time.Duration `json:"b"`

	serves string // what workers have in common that serve the same
}

// run is what the token of a run carries: its lease, and what its outcome has to carry.
type run struct {
	store.Lease

	Namespace, Queue, Kind string
	Attempt                int
	Started                time.Time // in milliseconds
	Parent                 store.ID
	Gate                   int64
	// Durable and the following are as those of store.Outcome.
	Durable, HasSuccessors, Answers, HasKey, HasUnique, HasOrdering bool
	CancelRequested                                                 bool // before it began
	// Remembers tells that the worker keeps journals: the run may have appended to its own.
	Remembers bool
}

func (w *worker) runOf(c *store.Claimed) *run {
	o := c.Outcome(0)
	return &run{
		Lease: c.Lease, Namespace: o.Namespace, Queue: o.Queue, Kind: c.Job.Kind, Attempt: c.Job.Attempt,
		Started: c.ClaimedAt, Parent: o.Parent, Gate: o.Gate, Durable: o.Durable, HasSuccessors: o.HasSuccessors, Answers: o.Answers,
		HasKey: o.HasKey, HasUnique: o.HasUnique, HasOrdering: o.HasOrdering, CancelRequested: c.CancelRequested,
		Remembers: w.Journal > 0,
	}
}

// outcome is one of the run in a state, with all that outcomes carry.
func (r *run) outcome(state store.State) *store.Outcome {
	return &store.Outcome{
		Lease: r.Lease, State: state, Namespace: r.Namespace, Queue: r.Queue, StartedAt: r.Started, Parent: r.Parent, Gate: r.Gate,
		Durable: r.Durable, HasSuccessors: r.HasSuccessors, Answers: r.Answers, HasKey: r.HasKey, HasUnique: r.HasUnique,
		HasOrdering: r.HasOrdering, HasChildren: r.Durable, CancelSeen: r.CancelRequested,
	}
}

// flags are the flags of the run, in an order that never changes.
func (r *run) flags() []*bool {
	return []*bool{&r.Durable, &r.HasSuccessors, &r.Answers, &r.HasKey, &r.HasUnique, &r.HasOrdering, &r.CancelRequested, &r.Remembers}
}

// runForm is the first byte of what the token of a run carries.
const runForm = 1

// bytes is what the token of the run carries.
func (r *run) bytes() []byte {
	b := append([]byte{runForm, 0}, r.Job[:]...)
	for i, f := range r.flags() {
		if *f {
			b[1] |= 1 << i
		}
	}
	for _, n := range [...]int64{r.Number, r.Node, r.Claim, int64(r.Slot), int64(r.Attempt), r.Started.UnixMilli(), r.Gate} {
		b = binary.AppendVarint(b, n)
	}
	b = append(b, r.Parent[:]...)
	for _, text := range [...]string{r.Namespace, r.Queue, r.Kind} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

// parseRun reads what bytes has written. What is behind it is of a later version.
func parseRun(b []byte) (*run, error) {
	const ids = len(store.ID{})
	if len(b) < 2+ids || b[0] != runForm {
		return nil, tokens.ErrForged
	}
	r, flags := &run{}, b[1]
	for i, f := range r.flags() {
		*f = flags&(1<<i) != 0
	}
	copy(r.Job[:], b[2:])
	b = b[2+ids:]
	var slot, attempt, started int64
	for _, n := range [...]*int64{&r.Number, &r.Node, &r.Claim, &slot, &attempt, &started, &r.Gate} {
		v, size := binary.Varint(b)
		if size <= 0 {
			return nil, tokens.ErrForged
		}
		*n, b = v, b[size:]
	}
	r.Slot, r.Attempt, r.Started = int(slot), int(attempt), time.UnixMilli(started)
	if len(b) < ids {
		return nil, tokens.ErrForged
	}
	copy(r.Parent[:], b)
	b = b[ids:]
	for _, text := range [...]*string{&r.Namespace, &r.Queue, &r.Kind} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, tokens.ErrForged
		}
		*text, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	return r, nil
}

// has reports whether a job of a queue is one that the worker serves.
func (w *worker) has(queue, kind string) bool {
	_, ok := store.ServedAs(w.Queues, queue)
	return ok && slices.Contains(w.Kinds, kind)
}
