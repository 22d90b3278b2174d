package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// JournalEntry is one line of what a durable run remembers.
type JournalEntry struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"` // step, step failed, timer, received, child, …
	Path    string          `json:"path"` // the operation's place in the run
	Name    string          `json:"name,omitempty"`
	Message int64           `json:"message,omitempty"` // the message that was received
	Lease   int64           `json:"lease,omitempty"`   // of the run that wrote it
	Data    json.RawMessage `json:"data,omitempty"`
}

// JournalMessage is one message that was sent to a run.
type JournalMessage struct {
	Seq    int64           `json:"seq"`
	At     time.Time       `json:"at"`
	Kind   string          `json:"kind"` // signal, callback, callback failed, heartbeat, child
	Name   string          `json:"name,omitempty"`
	From   ID              `json:"from,omitzero"`
	State  State           `json:"state,omitzero"`
	Reason Reason          `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	Unread bool            `json:"unread"` // no entry has received it; answers of children and callbacks need none
}

// Journal is all that a run remembers and all that was sent to it.
type Journal struct {
	Job      ID               `json:"job"`
	Kind     string           `json:"kind"`
	Args     json.RawMessage  `json:"args"`
	Entries  []JournalEntry   `json:"entries"`
	Messages []JournalMessage `json:"messages"`
}

var entryKinds = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step failed", store.EntryStepRetry: "step retry", store.EntryTimer: "timer",
	store.EntryTimeout: "timeout", store.EntryReceived: "received", store.EntryChild: "child", store.EntryCallback: "callback",
	store.EntrySelected: "selected", store.EntryValue: "value", store.EntryPatched: "patched", store.EntryPublished: "published",
	store.EntryStreamed: "streamed", store.EntryClosing: "closing", store.EntryCompensated: "compensated", store.EntryContinued: "continued",
}

var messageKinds = map[store.MessageKind]string{
	store.MessageSignal: "signal", store.MessageCallback: "callback", store.MessageCallbackFailed: "callback failed",
	store.MessageHeartbeat: "heartbeat", store.MessageChild: "child",
}

// Journal returns what a job remembers. One that is not durable has an empty one. ErrNotFound: there is no such job.
func (c *Client) Journal(ctx context.Context, id ID) (Journal, error) {
	record, err := c.Get(ctx, id)
	if err != nil {
		return Journal{}, err
	}
	raw, err := c.journal(ctx, id)
	if err != nil {
		return Journal{}, err
	}
	j := Journal{
		Job: id, Kind: record.Kind, Args: record.Args,
		Entries: make([]JournalEntry, len(raw.Entries)), Messages: make([]JournalMessage, len(raw.Messages)),
	}
	received := map[int64]bool{}
	for i, e := range raw.Entries {
		data, err := engine.Unpack(e.Data, e.Codec)
		if err != nil {
			return Journal{}, fmt.Errorf("entry %d of job %s: %w", e.Seq, id, err)
		}
		kind := entryKinds[e.Kind]
		if kind == "" {
			kind = strconv.FormatUint(uint64(e.Kind), 10)
		}
		received[e.Ref] = true
		j.Entries[i] = JournalEntry{
			Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Message: e.Ref, Lease: e.LeaseNumber, Data: data,
		}
	}
	for i, m := range raw.Messages {
		data, err := engine.Unpack(m.Data, m.Codec)
		if err != nil {
			return Journal{}, fmt.Errorf("message %d of job %s: %w", m.Seq, id, err)
		}
		j.Messages[i] = JournalMessage{
			Seq: m.Seq, At: m.At, Kind: messageKinds[m.Kind], Name: m.Name, From: m.From,
			State: m.State, Reason: m.Reason, Error: m.Error, Data: data,
			Unread: m.Kind == store.MessageSignal && !received[m.Seq],
		}
	}
	return j, nil
}

func (c *Client) journal(ctx context.Context, id ID) (store.Journal, error) {
	journals, err := c.engine.Store.Journals(ctx, []ID{id})
	if err != nil {
		return store.Journal{}, err
	}
	return journals[0], nil
}

// Stored is the inverse of Client.Journal: the journal as a store keeps it. holdfasttest replays with it.
func (j *Journal) Stored() (store.Journal, error) {
	raw := store.Journal{Job: j.Job}
	for _, e := range j.Entries {
		kind, ok := kindOf(entryKinds, e.Kind)
		if !ok {
			return raw, invalid("journal", "entry %d is of kind %q, which this program does not know", e.Seq, e.Kind)
		}
		raw.Entries = append(raw.Entries, store.Entry{
			Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Ref: e.Message, LeaseNumber: e.Lease, Data: e.Data,
		})
	}
	for _, m := range j.Messages {
		kind, ok := kindOf(messageKinds, m.Kind)
		if !ok {
			return raw, invalid("journal", "message %d is of kind %q, which this program does not know", m.Seq, m.Kind)
		}
		raw.Messages = append(raw.Messages, store.Message{
			Seq: m.Seq, At: m.At, Kind: kind, Name: m.Name, From: m.From, State: m.State, Reason: m.Reason, Error: m.Error, Data: m.Data,
		})
	}
	return raw, nil
}

func kindOf[K comparable](names map[K]string, name string) (K, bool) {
	for k, n := range names {
		if n == name {
			return k, true
		}
	}
	var none K
	return none, false
}

// PauseJobs pauses jobs until ResumeJob: those that do not run at once, durable ones that run at their next operation,
// and others never, if they complete. It answers for each in the order given.
func (c *Client) PauseJobs(ctx context.Context, reason string, ids ...ID) ([]PauseResult, error) {
	return c.engine.PauseJobs(ctx, store.PauseJobsParams{Jobs: ids, Reason: reason, Actor: c.actor})
}

// ResumeJob lets a job go on: one that is paused, one that waits for a person because its code and its journal do not
// fit, and a durable one that has failed or was cancelled. The latter goes on from its last step that succeeded: what
// failed after it is forgotten. Once compensations have begun that is an ErrConflict; fork it instead. It returns the
// state in which the job is then.
func (c *Client) ResumeJob(ctx context.Context, id ID, reason string) (State, error) {
	record, err := c.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	params := store.ResumeParams{Job: id, Keep: -1, Expect: -1, Reason: reason, Actor: c.actor}
	if record.State.Finished() {
		raw, err := c.journal(ctx, id)
		if err != nil {
			return record.State, err
		}
		if params.Keep, err = lastSuccess(raw.Entries); err != nil {
			return record.State, fmt.Errorf("job %s: %w", id, err)
		}
		params.Expect = int64(len(raw.Entries))
	}
	state, err := c.engine.Resume(ctx, params)
	if err != nil {
		return state, fmt.Errorf("resuming job %s: %w", id, err)
	}
	return state, nil
}

// lastSuccess is how many entries to keep so that what failed at the end is done again.
func lastSuccess(entries []store.Entry) (int64, error) {
	keep := int64(len(entries))
	for ; keep > 0; keep-- {
		switch entries[keep-1].Kind {
		case store.EntryCompensated:
			return 0, fmt.Errorf("%w: its compensations have run, so its steps are undone; fork it from a step", ErrConflict)
		case store.EntryStep, store.EntryTimer, store.EntryChild, store.EntryCallback, store.EntryPublished, store.EntryStreamed,
			store.EntryContinued:
			if !strings.HasPrefix(entries[keep-1].Path, "~") {
				return keep, nil
			}
		default: // decided or failed after the last success
		}
	}
	return 0, nil
}

// ForkOption is a setting of ForkJob.
type ForkOption func(*fork) error

type fork struct {
	from string
	args []byte
	id   ID
}

// ForkFrom says which step the fork is to do anew: the first step or operation of that name, or the entry at that path.
// Default: the beginning.
func ForkFrom(step string) ForkOption {
	return func(f *fork) error { f.from = step; return nil }
}

// ForkArgs gives the fork other args.
func ForkArgs(args json.RawMessage) ForkOption {
	return func(f *fork) error {
		f.args = args
		return checkJSON("args", args, MaxPayload)
	}
}

// ForkJob makes a new job that remembers what the given one did before a step, and goes on from there. The old job
// stays as it is. It returns the new job's id. ErrConflict: what it would remember waits for children or callbacks that
// answer to the old job alone.
func (c *Client) ForkJob(ctx context.Context, id ID, reason string, opts ...ForkOption) (ID, error) {
	f := fork{id: NewID()}
	for _, opt := range opts {
		if err := opt(&f); err != nil {
			return uuid.Nil, err
		}
	}
	record, err := c.Get(ctx, id)
	if err != nil {
		return uuid.Nil, err
	}
	raw, err := c.journal(ctx, id)
	if err != nil {
		return uuid.Nil, err
	}
	keep, err := f.keep(raw)
	if err != nil {
		return uuid.Nil, fmt.Errorf("forking job %s: %w", id, err)
	}
	job := record.Job
	job.ID, job.UniqueKey, job.UniqueStates, job.RunAt, job.Closing = f.id, nil, 0, time.Time{}, false
	job.Parent, job.Answers, job.Options.Deadline = uuid.Nil, false, time.Time{}
	if f.args != nil {
		job.Args, job.Codec = f.args, 0
	}
	if err := c.engine.Fork(ctx, store.ForkParams{From: id, Keep: keep, Job: job, Reason: reason, Actor: c.actor}); err != nil {
		return uuid.Nil, fmt.Errorf("forking job %s: %w", id, err)
	}
	return f.id, nil
}

// keep is how many entries the fork keeps.
func (f *fork) keep(j store.Journal) (int64, error) {
	if f.from == "" {
		return 0, nil
	}
	keep := int64(-1)
	for _, e := range j.Entries {
		if e.Name == f.from || e.Path == f.from {
			keep = e.Seq - 1
			break
		}
	}
	if keep < 0 {
		return 0, fmt.Errorf("%w: its journal holds no step %q", ErrNotFound, f.from)
	}
	answered := map[string]bool{}
	for _, m := range j.Messages {
		answered[m.From.String()] = true
		answered[m.Name] = true
	}
	for _, e := range j.Entries[:keep] {
		switch e.Kind {
		case store.EntryChild:
			var child struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(e.Data, &child); err == nil && !answered[child.ID] {
				return 0, fmt.Errorf("%w: child %s, of entry %d, has not answered, and answers to the old job alone", ErrConflict, child.ID, e.Seq)
			}
		case store.EntryCallback:
			if !answered[e.Name] {
				return 0, fmt.Errorf("%w: the callback of entry %d was not answered, and answers to the old job alone", ErrConflict, e.Seq)
			}
		default:
		}
	}
	return keep, nil
}

// Terminate ends jobs at once: handlers lose their lease, and compensations do not run. It answers for each in the order given.
func (c *Client) Terminate(ctx context.Context, reason string, ids ...ID) ([]CancelResult, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Jobs: ids, Reason: reason, Actor: c.actor, Terminate: true})
}
