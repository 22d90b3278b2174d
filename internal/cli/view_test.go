package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// onlyHere are fields of a job that the command knows and a record does not.
var onlyHere = []string{"why"}

// TestJobAsRecord holds the JSON of the command against that of a record: they are the same,
// whatever the job is.
func TestJobAsRecord(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 4, 5, 6, 7, 89_000, time.UTC)
	whole := holdfast.Record{
		Job: store.Job{
			ID: uuid.MustParse(exampleID), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2,
			Args: []byte(`{"to": "<ada>"}`), CreatedAt: at, RunAt: at, Attempt: 3, MaxAttempts: 5,
			Options: store.Options{
				Timeout: 90 * time.Second, Deadline: at, Trace: "00-1", Source: "cli",
				Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25},
			},
			Tags: []string{"a"}, Metadata: []byte(`{"customer":7}`), OrderingKey: "ada", UniqueKey: []byte("key"), LeaseNumber: 9,
			Version: "2", Closing: true, Parent: uuid.MustParse(exampleID), OnParentClose: holdfast.TerminateChild,
		},
		State: holdfast.Failed, Reason: store.ReasonTerminal, Error: "it & broke", Result: []byte(`[1]`),
		Lease: store.Lease{Number: 9, Node: 7}, ClaimedAt: at, FinishedAt: at,
		Blocked: true, CancelRequested: true, PauseRequested: true,
		Checkpoint: &store.Checkpoint{Percent: 12.5, Message: "half", Value: []byte(`3`), UpdatedAt: at},
		Wait:       &store.WaitInfo{Since: at, Until: at, Held: true, For: []byte(`{}`), Reason: store.ReasonPaused, Error: "look"},
		Journal:    4, Messages: 2,
		Attempts: []store.Attempt{{Number: 1, LeaseNumber: 2, Node: 7, ClaimedAt: at, StartedAt: at, EndedAt: at, Outcome: holdfast.Retryable}},
		Actions:  []store.Action{{At: at, Kind: store.ActionRetry, Actor: "ada", Reason: "mended"}},
	}
	bare := holdfast.Record{
		Job: store.Job{ID: whole.ID, Priority: 1}, State: holdfast.Available, Attempts: []store.Attempt{}, Actions: []store.Action{},
	}
	other := whole
	other.Codec, other.Args = 7, []byte("\x00\xff")
	for name, r := range map[string]holdfast.Record{"whole": whole, "bare": bare, "of another codec": other} {
		ours, theirs := membersOf(t, viewWholeJob(&r, nil)), membersOf(t, r)
		for _, name := range onlyHere {
			delete(ours, name)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(theirs)), slices.Sorted(maps.Keys(ours))); diff != "" {
			t.Errorf("%s: the fields differ (-record +command):\n%s", name, diff)
		}
		for field, want := range theirs {
			if string(ours[field]) != string(want) {
				t.Errorf("%s: %s is %s, and of a record %s", name, field, ours[field], want)
			}
		}
	}
}

func membersOf(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
