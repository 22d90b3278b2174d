package holdfasttest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// Replay runs the code of today against a journal from a file, as Env.SaveJournal and "holdfast job journal ID --output
// json" write them, and fails the test if the code does not fit. register registers the handler of the journal's kind.
// No step is executed: where the journal ends the run is cancelled.
func Replay(t *testing.T, file string, register func(*holdfast.Client) error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("holdfasttest: %v", err)
	}
	var j holdfast.Journal
	if err := json.Unmarshal(data, &j); err != nil {
		t.Fatalf("holdfasttest: %s is not a journal: %v", file, err)
	}
	if err := ReplayJournal(t, j, register); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// ReplayJournal is Replay of a journal that is at hand. It returns what does not fit.
func ReplayJournal(t *testing.T, j holdfast.Journal, register func(*holdfast.Client) error) (failure error) {
	t.Helper()
	raw, err := stored(&j)
	if err != nil {
		return err
	}
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		// The time is that at which the journal ends, so that what had passed then has passed.
		ahead := time.Until(endOf(raw))
		clock := func() time.Time { return time.Now().Add(ahead) }
		player := &player{Store: model.New(clock), journal: raw, ended: make(chan error, 1)}
		client := open(t, player, nil)
		stop := func() {
			if err := client.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("holdfasttest: closing: %v", err)
			}
		}
		if err := register(client); err != nil {
			stop()
			t.Fatalf("holdfasttest: %v", err)
		}
		kind := holdfast.NewKind[json.RawMessage, json.RawMessage](j.Kind)
		if _, err := kind.Enqueue(t.Context(), client, j.Args, holdfast.JobID(j.Job)); err != nil {
			stop()
			t.Fatalf("holdfasttest: %v", err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := client.Run(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("holdfasttest: the node: %v", err)
			}
		}()
		select {
		case failure = <-player.ended:
		case <-time.After(24 * time.Hour):
			failure = fmt.Errorf("no node ran the job; is a handler of kind %q registered?", j.Kind)
		}
		stop()
		<-done
	})
	return failure
}

func endOf(j store.Journal) time.Time {
	at := time.Now()
	for _, e := range j.Entries {
		at = e.At
	}
	return at
}

// player is a store whose one job has a journal of its own, and in which nothing of a run is written.
type player struct {
	store.Store
	journal store.Journal
	ended   chan error
}

// Claim implements store.Store: the job is as one that has begun, and is to end where its journal does.
func (p *player) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := p.Store.Claim(ctx, params)
	for i := range claimed {
		claimed[i].Durable, claimed[i].CancelRequested, claimed[i].CancelReason = true, true, "the journal ends here"
	}
	return claimed, err
}

// Journals implements store.Store.
func (p *player) Journals(context.Context, string, []store.ID) ([]store.Journal, error) {
	return []store.Journal{p.journal}, nil
}

// Apply implements store.Store. Only the enqueue is passed on.
func (p *player) Apply(ctx context.Context, b *store.Batch) error {
	for _, a := range b.Appends {
		a.Err = store.ErrLeaseLost
		p.end(p.closes(a))
	}
	for _, o := range b.Outcomes {
		switch o.Reason {
		case store.ReasonNondeterminism:
			p.end(fmt.Errorf("the code does not fit the journal: %s", o.Error))
		case store.ReasonError, store.ReasonAttemptsExhausted, store.ReasonTerminal:
			p.end(p.failed(o.Error))
		default:
			p.end(nil)
		}
	}
	if len(b.Enqueues) == 0 {
		return nil
	}
	return p.Store.Apply(ctx, &store.Batch{Enqueues: b.Enqueues})
}

// closes tells whether what goes on after the journal is the end of a run that fails and compensates, where the journal's did not.
func (p *player) closes(a *store.Append) error {
	for _, e := range a.Entries {
		var end struct {
			State store.State `json:"state"`
			Error string      `json:"error"`
		}
		if e.Kind == store.EntryClosing && json.Unmarshal(e.Data, &end) == nil && end.State == store.Failed {
			return p.failed(end.Error)
		}
	}
	return nil
}

// failed tells whether a failure is news: a journal that ends in one replays to one.
func (p *player) failed(text string) error {
	if n := len(p.journal.Entries); n > 0 {
		switch last := p.journal.Entries[n-1]; last.Kind {
		case store.EntryStepFailed, store.EntryTimeout, store.EntryClosing, store.EntryCompensated:
			return nil
		case store.EntryReceived:
			for _, m := range p.journal.Messages {
				if m.Seq == last.Ref && m.Error != "" {
					return nil
				}
			}
		default:
		}
	}
	return fmt.Errorf("the replay fails, but the journal does not: %s", text)
}

func (p *player) end(err error) {
	select {
	case p.ended <- err:
	default:
	}
}

// stored is the inverse of Client.Journal: the journal as a store keeps it.
func stored(j *holdfast.Journal) (store.Journal, error) {
	raw := store.Journal{Job: j.Job}
	for _, e := range j.Entries {
		kind, ok := replay.EntryOf(e.Kind)
		if !ok {
			return raw, fmt.Errorf("%w: entry %d of the journal has the unknown kind %q", store.ErrInvalid, e.Seq, e.Kind)
		}
		raw.Entries = append(raw.Entries, store.Entry{
			Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Ref: e.Message, LeaseNumber: e.Lease, Took: e.Took, Data: e.Data,
		})
	}
	for _, m := range j.Messages {
		kind, ok := replay.MessageOf(m.Kind)
		if !ok {
			return raw, fmt.Errorf("%w: message %d of the journal has the unknown kind %q", store.ErrInvalid, m.Seq, m.Kind)
		}
		raw.Messages = append(raw.Messages, store.Message{
			Seq: m.Seq, At: m.At, Kind: kind, Name: m.Name, From: m.From, State: m.State, Reason: m.Reason, Error: m.Error, Data: m.Data,
		})
	}
	return raw, nil
}
