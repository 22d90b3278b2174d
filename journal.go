package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
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
	Took    time.Duration   `json:"took_ns,omitempty"` // of a step: how long its last try took; 0: unknown
	Data    json.RawMessage `json:"data,omitempty"`
}

// JournalMessage is one message sent to a job.
type JournalMessage struct {
	Seq    int64           `json:"seq"`
	At     time.Time       `json:"at"`
	Kind   string          `json:"kind"` // signal, callback, callback failed, heartbeat, child
	Name   string          `json:"name,omitempty"`
	From   ID              `json:"from,omitzero"`
	State  store.State     `json:"state,omitzero"`
	Reason store.Reason    `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	// TraceParent is the header traceparent of the span in which it was sent, see package
	// telemetry; "": it was in none.
	TraceParent string `json:"traceparent,omitempty"`
	Unread      bool   `json:"unread"` // no entry has received it; answers of children and callbacks need none
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
		if problems[ref], err = journal.ProblemOf(&raw.Entries[i]); err != nil {
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
// beginning, in order: at most limit, which is 1 to 1000. Resuming a finished job removes entries
// and reuses their numbers; continuing as new removes all. To notice this, a reader that continues
// reads its last entry again.
func (c *Client) JournalEntries(ctx context.Context, id ID, after int64, limit int) ([]JournalEntry, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	raw, err := c.engine.Store.Entries(ctx, store.JournalParams{Namespace: c.namespace, Job: id, After: after, Limit: limit})
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
	raw, err := c.engine.Store.Messages(ctx, store.InboxParams{Namespace: c.namespace, Job: id, After: after, Limit: limit})
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
	data, err := unpackForPeople(e.Data, e.Codec)
	if err != nil {
		return JournalEntry{}, fmt.Errorf("entry %d of job %s: %w", e.Seq, id, err)
	}
	return JournalEntry{
		Seq: e.Seq, At: e.At, Kind: journal.EntryName(e.Kind), Path: e.Path, Name: e.Name,
		Message: e.Ref, Lease: e.LeaseNumber, Took: e.Took, Data: data,
	}, nil
}

// unpackForPeople is journal.Unpack, but that what this process cannot decode says so.
func unpackForPeople(data []byte, codec int) ([]byte, error) {
	if store.IsSealedCodec(codec) {
		return store.SealedView(data, codec), nil
	}
	return journal.Unpack(data, codec)
}

func journalMessage(id ID, m *store.Message) (JournalMessage, error) {
	data, err := unpackForPeople(m.Data, m.Codec)
	if err != nil {
		return JournalMessage{}, fmt.Errorf("message %d of job %s: %w", m.Seq, id, err)
	}
	return JournalMessage{
		Seq: m.Seq, At: m.At, Kind: journal.MessageName(m.Kind), Name: m.Name, From: m.From,
		State: m.State, Reason: m.Reason, Error: m.Error, TraceParent: m.TraceParent, Data: data,
	}, nil
}

func (c *Client) journal(ctx context.Context, id ID) (store.Journal, error) {
	journals, err := c.engine.Store.Journals(ctx, c.namespace, []ID{id})
	if err != nil {
		return store.Journal{}, err
	}
	return journals[0], nil
}
