package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// JournalEntry is one entry of a job's journal.
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

// JournalMessage is one message sent to a job.
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
	// Problem says why the message did not decode when it was received, or is "". It is set only
	// by Client.Journal.
	Problem string `json:"problem,omitempty"`
}

// Journal is everything that a job remembers and every message sent to it.
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
	store.EntryRegistered: "registered",
}

var messageKinds = map[store.MessageKind]string{
	store.MessageSignal: "signal", store.MessageCallback: "callback", store.MessageCallbackFailed: "callback failed",
	store.MessageHeartbeat: "heartbeat", store.MessageChild: "child",
}

// Journal returns the journal of a job. It is empty if the job is not durable. The error is
// ErrNotFound if there is no such job.
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
	received, problems := map[int64]bool{}, map[int64]string{}
	for i := range raw.Entries {
		ref := raw.Entries[i].Ref
		received[ref] = true
		if problems[ref], err = replay.ProblemOf(&raw.Entries[i]); err != nil {
			return Journal{}, fmt.Errorf("journal of job %s: %w", id, err)
		}
		if j.Entries[i], err = journalEntry(id, &raw.Entries[i]); err != nil {
			return Journal{}, err
		}
	}
	for i := range raw.Messages {
		m := &j.Messages[i]
		if *m, err = journalMessage(id, &raw.Messages[i]); err != nil {
			return Journal{}, err
		}
		m.Unread = raw.Messages[i].Kind == store.MessageSignal && !received[m.Seq]
		m.Problem = problems[m.Seq]
	}
	return j, nil
}

// JournalEntries returns the entries of a job's journal that follow the entry after, 0 for the
// beginning, in order: at most limit, which is 1 to 1000. Resuming a finished job takes entries
// back and reuses their numbers; continuing as new forgets them. To notice this, a reader that
// continues reads its last entry again.
func (c *Client) JournalEntries(ctx context.Context, id ID, after int64, limit int) ([]JournalEntry, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	raw, err := c.engine.Store.Entries(ctx, store.JournalParams{Job: id, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	entries := make([]JournalEntry, len(raw))
	for i := range raw {
		if entries[i], err = journalEntry(id, &raw[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// JournalMessages does the same as JournalEntries with the messages sent to a job. It does not set
// Unread, because the receiving entry may be anywhere.
func (c *Client) JournalMessages(ctx context.Context, id ID, after int64, limit int) ([]JournalMessage, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	raw, err := c.engine.Store.Messages(ctx, store.InboxParams{Job: id, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	messages := make([]JournalMessage, len(raw))
	for i := range raw {
		if messages[i], err = journalMessage(id, &raw[i]); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > 1000 {
		return invalid("limit", "%d is not between 1 and 1000", limit)
	}
	return nil
}

func journalEntry(id ID, e *store.Entry) (JournalEntry, error) {
	data, err := replay.Unpack(e.Data, e.Codec)
	if err != nil {
		return JournalEntry{}, fmt.Errorf("entry %d of job %s: %w", e.Seq, id, err)
	}
	kind := entryKinds[e.Kind]
	if kind == "" {
		kind = strconv.FormatUint(uint64(e.Kind), 10)
	}
	return JournalEntry{
		Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Message: e.Ref, Lease: e.LeaseNumber, Data: data,
	}, nil
}

func journalMessage(id ID, m *store.Message) (JournalMessage, error) {
	data, err := replay.Unpack(m.Data, m.Codec)
	if err != nil {
		return JournalMessage{}, fmt.Errorf("message %d of job %s: %w", m.Seq, id, err)
	}
	return JournalMessage{
		Seq: m.Seq, At: m.At, Kind: messageKinds[m.Kind], Name: m.Name, From: m.From,
		State: m.State, Reason: m.Reason, Error: m.Error, Data: data,
	}, nil
}

func (c *Client) journal(ctx context.Context, id ID) (store.Journal, error) {
	journals, err := c.engine.Store.Journals(ctx, []ID{id})
	if err != nil {
		return store.Journal{}, err
	}
	return journals[0], nil
}

// Stored is the inverse of Client.Journal: it returns the journal as a store keeps it. holdfasttest
// replays it.
func (j *Journal) Stored() (store.Journal, error) {
	raw := store.Journal{Job: j.Job}
	for _, e := range j.Entries {
		kind, ok := kindOf(entryKinds, e.Kind)
		if !ok {
			return raw, invalid("journal", "entry %d has the unknown kind %q", e.Seq, e.Kind)
		}
		raw.Entries = append(raw.Entries, store.Entry{
			Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Ref: e.Message, LeaseNumber: e.Lease, Data: e.Data,
		})
	}
	for _, m := range j.Messages {
		kind, ok := kindOf(messageKinds, m.Kind)
		if !ok {
			return raw, invalid("journal", "message %d has the unknown kind %q", m.Seq, m.Kind)
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

// PauseJobs pauses jobs until ResumeJob: jobs that are not running at once, and running durable
// jobs at their next operation. A running job that is not durable keeps running, and is paused only if it
// has to be tried again. It returns a result for each, in the order given.
func (c *Client) PauseJobs(ctx context.Context, reason string, ids ...ID) ([]PauseResult, error) {
	return c.engine.PauseJobs(ctx, store.PauseJobsParams{Jobs: ids, Reason: reason, Actor: c.actor})
}

// ResumeJob resumes a paused job, a job held because its code contradicts its journal, or a failed
// or cancelled job. A finished durable job continues after its last step that succeeded: what
// failed after it is forgotten. Once compensations have begun, the error is ErrConflict; fork the
// job instead. ResumeJob returns the job's new state.
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
			return record.State, store.About(id, "resuming", err)
		}
		params.Expect = raw.LastSeq()
	}
	state, err := c.engine.Resume(ctx, params)
	if err != nil {
		return state, store.About(id, "resuming", err)
	}
	return state, nil
}

// lastSuccess is the last entry to keep so that what failed at the end is done again.
func lastSuccess(entries []store.Entry) (seq int64, err error) {
	for _, e := range slices.Backward(entries) {
		switch e.Kind {
		case store.EntryCompensated:
			return 0, fmt.Errorf("%w: its compensations have run; fork it from the first undone step or an earlier one", ErrConflict)
		case store.EntryStep, store.EntryTimer, store.EntryChild, store.EntryCallback, store.EntryPublished, store.EntryStreamed,
			store.EntryContinued:
			if !strings.HasPrefix(e.Path, "~") {
				return e.Seq, nil
			}
		default: // decided or failed after the last success
		}
	}
	return 0, nil
}

// Terminate ends jobs at once: handlers lose their lease, and compensations do not run. It returns
// a result for each, in the order given.
func (c *Client) Terminate(ctx context.Context, reason string, ids ...ID) ([]CancelResult, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Jobs: ids, Reason: reason, Actor: c.actor, Terminate: true})
}
