package views

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// onlyHere are fields of a job that a record does not have.
var onlyHere = []string{"why"}

// TestJobAsRecord: the JSON of the command and of a record are the same for any job.
func TestJobAsRecord(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 4, 5, 6, 7, 89_000, time.UTC)
	whole := store.Record{
		Job: store.Job{
			ID: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2,
			Args: []byte(`{"to": "<ada>"}`), CreatedAt: at, RunAt: at, Attempt: 3, MaxAttempts: 5,
			Options: store.Options{
				Timeout: 90 * time.Second, Heartbeat: 20 * time.Second, Deadline: at, Source: "nightly", Nominal: at,
				Follows: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"),
				Key:     "order-42", KeepKey: 90 * time.Minute,
				Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25},
			},
			Tags: []string{"a"}, Metadata: []byte(`{"customer":7}`), OrderingKey: "ada", UniqueKey: []byte("key"), LeaseNumber: 9,
			Version: "2", Closing: true, Parent: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"), OnParentClose: store.TerminateChild,
		},
		State: store.Failed, Reason: store.ReasonTerminal, Error: "it & broke", Result: []byte(`[1]`),
		Lease: store.Lease{Number: 9, Node: 7}, ClaimedAt: at, FinishedAt: at,
		Blocked: true, CancelRequested: true, PauseRequested: true,
		Checkpoint: &store.Checkpoint{Percent: 12.5, Message: "half", Value: []byte(`3`), UpdatedAt: at},
		Wait:       &store.WaitInfo{Since: at, Until: at, Held: true, For: []byte(`{}`), Reason: store.ReasonPaused, Error: "look"},
		Journal:    4, Messages: 2,
		Attempts: []store.Attempt{{Number: 1, LeaseNumber: 2, Node: 7, ClaimedAt: at, StartedAt: at, EndedAt: at, Outcome: store.Retryable}},
		Actions:  []store.Action{{At: at, Kind: store.ActionRetry, Actor: "ada", Reason: "mended"}},
		Predecessors: []store.Predecessor{
			{Dependency: store.Dependency{On: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"), IfFailed: store.HoldIfFailed}},
			{Dependency: store.Dependency{On: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65")}, State: store.Running},
		},
	}
	bare := store.Record{
		Job: store.Job{ID: whole.ID, Priority: 1}, State: store.Available, Attempts: []store.Attempt{}, Actions: []store.Action{},
	}
	other := whole
	other.Codec, other.Args, other.Options.KeepKey = 7, []byte("\x00\xff"), store.KeepForever
	for name, r := range map[string]store.Record{"whole": whole, "bare": bare, "of another codec": other} {
		ours, theirs := membersOf(t, NewWholeJob(&r, nil)), membersOf(t, r)
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

// TestViewOfEverything shows how each kind of value is written; TestJobAsRecord compares the
// fields.
func TestViewOfEverything(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 18, 30, 0, 123456789, time.FixedZone("", 3600))
	var r store.Record
	r.ID, r.Namespace, r.Queue, r.Kind, r.Priority = holdfast.NewID(), "n", "q", "k", 1
	r.Args, r.Result, r.Metadata, r.Tags = []byte(`{"a":12345678901234567890}`), []byte("1"), []byte(`{}`), []string{"t"}
	r.State, r.Reason, r.Error = store.Failed, "error", "why"
	r.CreatedAt, r.RunAt, r.ClaimedAt, r.StartedAt, r.FinishedAt = at, at, at, at, at
	r.Fingerprint = -1
	r.Attempt, r.MaxAttempts, r.Options.Timeout, r.Options.Deadline = 2, 3, 90*time.Second, at
	r.Options.Heartbeat = 20 * time.Second
	r.Options.Backoff.Base, r.Options.Backoff.Cap, r.Options.Backoff.Jitter = time.Second, time.Minute, 0.25
	r.Parent, r.Options.Source, r.Options.Nominal, r.Options.Follows = holdfast.NewID(), "s", at, holdfast.NewID()
	r.OrderingKey, r.UniqueKey, r.Blocked, r.CancelRequested = "o", []byte{1}, true, true
	r.Options.OfKind = store.SettingBackoff
	r.Batch, r.Options.Called = holdfast.NewID(), store.BatchResult{ID: holdfast.NewID()}
	r.Options.Key, r.Options.KeepKey, r.Options.KeepTurn = "order-42", store.KeepForever, true
	r.Options.Limit, r.Options.LimitKey, r.Options.FairKey = "customer", "acme", "blue"
	r.Options.TraceParent, r.Options.TraceState = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "congo=t61"
	r.LeaseNumber, r.Lease.Node, r.Build = 1<<60+1, 7, store.Build{Program: "1.2.3", Engine: "4"}
	r.PauseRequested, r.Closing, r.Version, r.Journal, r.Messages = true, true, "2", 9, 4
	r.Wait = &store.WaitInfo{Since: at, Until: at, Held: true, Reason: "paused", Error: "lunch", For: []byte(`{"waits_for":["signal go"]}`)}
	r.Attempts = []store.Attempt{{
		Number: 1, LeaseNumber: 5, Node: 6, ClaimedAt: at, StartedAt: at, EndedAt: at, Outcome: store.Retryable, Reason: "error",
		Error: "<nil> & co", Trace: "stack", Build: store.Build{Program: "1.2.2", Engine: "4"},
	}}
	r.Actions = []store.Action{{At: at, Kind: store.ActionPause, Actor: "ada", Reason: "lunch"}}
	r.Predecessors = []store.Predecessor{{Dependency: store.Dependency{On: r.ID}, State: store.Running}}
	data, err := output.Encode(NewWholeJob(&r, []why.Cause{{Code: "c", Text: "t", Until: at, Job: r.ID, Node: 7, Limit: "slack"}}), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ReplaceAll(string(data), `"checkpoint":null`, ""), "null") {
		t.Errorf("a field is not filled in: %s", data)
	}
	for _, part := range []string{
		`"created_at":"2026-01-31T17:30:00.123456Z"`, `"lease_number":"1152921504606846977"`, `"timeout":"1m30s"`,
		`"args":{"a":12345678901234567890}`, `"backoff":{"base":"1s","cap":"1m0s","jitter":0.25}`, `"outcome":"retryable"`,
		`"error":"<nil> & co"`, `"action":"pause","actor":"ada","reason":"lunch"`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is not in %s", part, data)
		}
	}
	r.Codec, r.Args = 3, []byte{0xFF, 0}
	if got := string(NewJob(&r).Args); got != `{"base64":"/wA="}` {
		t.Errorf("args of another codec: %s", got)
	}
}
