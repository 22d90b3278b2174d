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
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// Replay replays a journal from a file against the current code, and fails the test if the code
// does not fit. The file is written by Env.SaveJournal or by "holdfast job journal ID --output
// json". register registers the handler of the journal's kind. No step is executed; at the end of
// the journal the run is cancelled.
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

// ReplayJournal is Replay for a journal in memory. It returns an error if the code does not fit.
func ReplayJournal(t *testing.T, j holdfast.Journal, register func(*holdfast.Client) error) (failure error) {
	t.Helper()
	raw, err := stored(&j)
	if err != nil {
		return err
	}
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		// The clock starts at the end of the journal, so that the timers in it have fired.
		ahead := time.Until(endOf(raw))
		clock := func() time.Time { return time.Now().Add(ahead) }
		client := open(t, newMemory(model.New(clock)).process(), nil)
		defer func() {
			if err := client.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("holdfasttest: closing: %v", err)
			}
		}()
		if err := register(client); err != nil {
			t.Fatalf("holdfasttest: %v", err)
		}
		handler := access.Runner(client).Handler(j.Kind)
		if handler == nil {
			failure = fmt.Errorf("no handler of kind %q is registered", j.Kind)
			return
		}
		failure = replayOf(t, &j, raw, handler, clock).play()
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

// stored converts a journal to the form that a store keeps; it is the inverse of Client.Journal.
func stored(j *holdfast.Journal) (store.Journal, error) {
	raw := store.Journal{Job: j.Job}
	for _, e := range j.Entries {
		kind, ok := journal.EntryOf(e.Kind)
		if !ok {
			return raw, fmt.Errorf("%w: entry %d of the journal has the unknown kind %q", store.ErrInvalid, e.Seq, e.Kind)
		}
		raw.Entries = append(raw.Entries, store.Entry{
			Seq: e.Seq, At: e.At, Kind: kind, Path: e.Path, Name: e.Name, Ref: e.Message, LeaseNumber: e.Lease, Took: e.Took, Data: e.Data,
		})
	}
	for _, m := range j.Messages {
		kind, ok := journal.MessageOf(m.Kind)
		if !ok {
			return raw, fmt.Errorf("%w: message %d of the journal has the unknown kind %q", store.ErrInvalid, m.Seq, m.Kind)
		}
		raw.Messages = append(raw.Messages, store.Message{
			Seq: m.Seq, At: m.At, Kind: kind, Name: m.Name, From: m.From, State: m.State, Reason: m.Reason, Error: m.Error, Data: m.Data,
		})
	}
	return raw, nil
}
