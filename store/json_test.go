package store

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var (
	anID   = uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64")
	parent = uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65")
	at     = time.Date(2026, time.March, 4, 5, 6, 7, 89_000, time.UTC)
)

// leftOut are the fields that the JSON of a record does not have, and those of which it says only
// that there is one.
var leftOut = []string{".Job.UniqueKey", ".Job.UniqueStates", ".Job.Answers", ".Lease.Claim", ".Lease.Slot"}

// usualZero are the fields that are zero of a record whose payloads are JSON.
var usualZero = []string{".Job.Codec", ".ResultCodec"}

// TestWholeIsWhole: a field that is added to a record, and not to its JSON, is found by the tests
// of the JSON only if it is set there.
func TestWholeIsWhole(t *testing.T) {
	t.Parallel()
	zero := zeroFields(reflect.ValueOf(whole()), "")
	for _, name := range slices.Concat(leftOut, usualZero) {
		zero = slices.DeleteFunc(zero, func(field string) bool { return field == name })
	}
	if len(zero) > 0 {
		t.Errorf("set them, or say why not: %s", zero)
	}
}

// zeroFields returns the paths of the fields that are zero; of a slice the first element is looked
// at.
func zeroFields(v reflect.Value, path string) (zero []string) {
	switch {
	case v.IsZero():
		return []string{path}
	case v.Kind() == reflect.Pointer:
		return zeroFields(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return zeroFields(v.Index(0), path)
	case v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]():
		return nil
	}
	for i := range v.NumField() {
		zero = append(zero, zeroFields(v.Field(i), path+"."+v.Type().Field(i).Name)...)
	}
	return zero
}

// whole is a record with everything but what the JSON leaves out.
func whole() Record {
	return Record{
		Job: Job{
			ID: anID, Namespace: "default", Queue: "mail", Kind: "send", Priority: 2,
			Args: []byte(`{"to":"<ada>","n":9007199254740993}`), CreatedAt: at, RunAt: at.Add(time.Second), Attempt: 3, MaxAttempts: 5,
			Options: Options{
				Timeout: 90 * time.Second, Heartbeat: 20 * time.Second, Deadline: at.Add(time.Hour), Source: "nightly", Nominal: at, Follows: parent,
				Called: BatchResult{parent, BatchCounts{3, 2, 1}}, OfKind: SettingBackoff | SettingTimeout,
				Key: "order-42", KeepKey: time.Hour, KeepTurn: true, Limit: "each", LimitKey: "acme", FairKey: "blue",
				TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "congo=t61",
				Backoff: Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25},
			},
			Attributes: []Attribute{
				{"amount", IntValue(-9007199254740993)},
				{"at", TimeValue(at)},
				{"customer", KeywordValue("acme")},
				{"paid", BoolValue(true)},
				{"share", FloatValue(0.1)},
			},
			Tags: []string{"a", "b"}, Metadata: []byte(`{"customer":7}`), OrderingKey: "ada", UniqueKey: []byte{},
			LeaseNumber: 9007199254740993, Version: "2", Closing: true, Parent: parent, Batch: parent, OnParentClose: AbandonChild,
		},
		State: Failed, Reason: ReasonTerminal, Error: "it & broke", Result: []byte(`[1,2]`),
		Lease: Lease{Job: anID, Number: 9007199254740993, Node: 7}, Build: Build{"v1", "v2"},
		ClaimedAt: at, StartedAt: at, FinishedAt: at.Add(time.Minute),
		Fingerprint: -2, Blocked: true, CancelRequested: true, PauseRequested: true,
		Checkpoint: &Checkpoint{Percent: 12.5, Message: "half", Value: []byte(`{"line":3}`), UpdatedAt: at},
		Wait: &WaitInfo{
			Since: at, Until: at.Add(time.Hour), Held: true, HandedOver: true, For: []byte(`{"waits_for":["signal approved"]}`),
			Reason: ReasonPaused, Error: "look first",
		},
		Journal: 4, Messages: 2,
		Attempts: []Attempt{{
			Number: 1, LeaseNumber: 2, Node: 7, Build: Build{"v0", "v3"},
			ClaimedAt: at, StartedAt: at, EndedAt: at, Outcome: Retryable, Reason: ReasonError,
			Error: "it broke", Trace: "goroutine 1",
		}},
		Actions: []Action{{At: at, Kind: ActionRetry, Actor: "ada", Reason: "mended"}},
		Predecessors: []Predecessor{{
			Dependency: Dependency{On: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65"), IfFailed: HoldIfFailed}, State: Failed,
		}},
	}
}

const wholeJSON = `{"id":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64","namespace":"default","queue":"mail","kind":"send",` +
	`"state":"failed","reason":"terminal","error":"it & broke","priority":2,"args":{"to":"<ada>","n":9007199254740993},"codec":0,` +
	`"metadata":{"customer":7},"tags":["a","b"],` +
	`"attributes":{"amount":{"type":"int","text":"-9007199254740993"},"at":{"type":"time","text":"2026-03-04T05:06:07.000089Z"},` +
	`"customer":{"type":"keyword","text":"acme"},"paid":{"type":"bool","text":"true"},"share":{"type":"float","text":"0.1"}},` +
	`"created_at":"2026-03-04T05:06:07.000089Z","run_at":"2026-03-04T05:06:08.000089Z",` +
	`"attempt":3,"max_attempts":5,"timeout":"1m30s","heartbeat_timeout":"20s","deadline":"2026-03-04T06:06:07.000089Z",` +
	`"backoff":{"base":"1s","cap":"1m0s","jitter":0.25},"of_kind":["backoff","timeout"],` +
	`"ordering_key":"ada","unique":true,"key":"order-42","keep_key":"1h0m0s",` +
	`"keep_turn":true,` +
	`"limit":"each","limit_key":"acme","fair_key":"blue",` +
	`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"congo=t61",` +
	`"lease_number":"9007199254740993",` +
	`"closing":true,"version":"2","parent":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65","batch":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65",` +
	`"on_parent_close":"abandon",` +
	`"source":"nightly","nominal":"2026-03-04T05:06:07.000089Z","follows":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65",` +
	`"called":{"id":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65","completed":3,"failed":2,"cancelled":1},` +
	`"result":[1,2],"result_codec":0,"fingerprint":"fffffffffffffffe","claimed_at":"2026-03-04T05:06:07.000089Z",` +
	`"started_at":"2026-03-04T05:06:07.000089Z","finished_at":"2026-03-04T05:07:07.000089Z",` +
	`"blocked":true,"cancel_requested":true,"pause_requested":true,"node":"7","build":{"program":"v1","engine":"v2"},` +
	`"checkpoint":{"percent":12.5,"message":"half","value":{"line":3},"updated_at":"2026-03-04T05:06:07.000089Z"},` +
	`"wait":{"since":"2026-03-04T05:06:07.000089Z","until":"2026-03-04T06:06:07.000089Z","held":true,"handed_over":true,"reason":"paused",` +
	`"error":"look first","for":{"waits_for":["signal approved"]}},"journal":4,"messages":2,` +
	`"attempts":[{"number":1,"lease_number":"2","node":"7","build":{"program":"v0","engine":"v3"},` +
	`"claimed_at":"2026-03-04T05:06:07.000089Z",` +
	`"started_at":"2026-03-04T05:06:07.000089Z","ended_at":"2026-03-04T05:06:07.000089Z","outcome":"retryable","reason":"error",` +
	`"error":"it broke","trace":"goroutine 1"}],` +
	`"actions":[{"at":"2026-03-04T05:06:07.000089Z","action":"retry","actor":"ada","reason":"mended"}],` +
	`"predecessors":[{"job":"01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65","if_failed":"hold","state":"failed"}]}`

// marshal leaves <, > and & as they are.
func marshal(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// again writes a value, reads it, and compares.
func again[T any](t *testing.T, v T) []byte {
	t.Helper()
	data := marshal(t, v)
	var read T
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if diff := cmp.Diff(v, read); diff != "" {
		t.Errorf("%s is read as another one (-written +read):\n%s", data, diff)
	}
	return data
}

func TestRecordJSON(t *testing.T) {
	t.Parallel()
	if got := again(t, whole()); string(got) != wholeJSON {
		t.Errorf("%s\nnot\n%s", got, wholeJSON)
	}
	// Nothing is null, or its zero.
	again(t, Record{})
	again(t, Record{Attempts: []Attempt{}, Actions: []Action{}})
	// A job is a record without its state.
	job := string(again(t, whole().Job))
	for _, field := range []string{`"state"`, `"result"`, `"attempts"`} {
		if strings.Contains(job, field) {
			t.Errorf("a job alone has the field %s: %s", field, job)
		}
	}
	if !strings.Contains(job, `"args":{"to":"<ada>"`) {
		t.Error(job)
	}
	// A page of records, as a handler of a web server would write it, with pointers.
	r := whole()
	again(t, []*Record{&r, &r})
}

func TestPayloadJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data  string
		codec int
		want  string
	}{
		{`{"a": 1}`, 0, `{"a":1}`},
		{` "text" `, 0, `"text"`},
		{`12.50`, 0, `12.50`},
		{`true`, 0, `true`},
		{`null`, 0, `null`},
		{``, 0, `null`},
		{`{"a":1}`, 1, `{"base64":"eyJhIjoxfQ=="}`},
		{"\x00\xff", 7, `{"base64":"AP8="}`},
		{`{"a":`, 0, `{"base64":"eyJhIjo="}`},
		{"\"\xff\"", 0, `{"base64":"Iv8i"}`},
		{`"base64"`, 0, `"base64"`},
		{`{"base64":1}`, 0, `{"base64":1}`},
		{`{"base64":"AP8=","more":1}`, 0, `{"base64":"AP8=","more":1}`},
		// What looks like the mark is marked, so that it is told from what is.
		{`{"base64":"AP8="}`, 0, `{"base64":"eyJiYXNlNjQiOiJBUDg9In0="}`},
		{`{"base64":"!"}`, 0, `{"base64":"eyJiYXNlNjQiOiIhIn0="}`},
		{`{"\u0062ase64":"AP8="}`, 0, `{"base64":"eyJcdTAwNjJhc2U2NCI6IkFQOD0ifQ=="}`},
	} {
		r := Record{Job: Job{Args: []byte(c.data), Codec: c.codec}}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(marshal(t, r), &fields); err != nil {
			t.Fatal(err)
		}
		if got := string(fields["args"]); got != c.want {
			t.Errorf("%q of codec %d is written as %s, not %s", c.data, c.codec, got, c.want)
		}
		var read Record
		if err := json.Unmarshal(marshal(t, r), &read); err != nil {
			t.Fatal(err)
		}
		if !samePayload(read.Args, r.Args) || read.Codec != r.Codec {
			t.Errorf("%q of codec %d is read as %q of codec %d", r.Args, r.Codec, read.Args, read.Codec)
		}
	}
}

// samePayload compares payloads: JSON is the same without white space between its parts, and null
// is none.
func samePayload(a, b []byte) bool {
	compact := func(data []byte) string {
		var c bytes.Buffer
		if !utf8.Valid(data) || json.Compact(&c, data) != nil {
			return string(data)
		}
		if c.String() == "null" {
			return ""
		}
		return c.String()
	}
	return compact(a) == compact(b)
}

func TestEntryJSON(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"ok":true}`, "\x00\xff"} {
		again(t, Entry{Seq: 3, Kind: EntryStep, Path: "2.1", Name: "charge", Ref: 4, Data: []byte(data), At: at, LeaseNumber: 2})
		again(t, Entry{Seq: 3, Data: []byte(data), Codec: 1})
		again(t, Message{Seq: 3, Kind: MessageSignal, Name: "approved", Data: []byte(data), At: at})
		again(t, Message{
			Kind: MessageChild, From: anID, State: Failed, Reason: ReasonError, Error: "no", Codec: 1, Data: []byte(data),
		})
		again(t, Ended{ID: anID, State: Completed, Result: []byte(data)})
	}
	got := string(marshal(t, Message{Name: "approved", Data: []byte(`{"by":"ada"}`)}))
	if !strings.Contains(got, `"Data":{"by":"ada"}`) {
		t.Error(got)
	}
	// In journals a policy is a number.
	if got := string(marshal(t, TerminateChild)); got != "2" {
		t.Error(got)
	}
}

// FuzzPayloadJSON: whatever a payload is, the record with it is JSON, and reads as the same.
func FuzzPayloadJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1}`, `{"base64":"AP8="}`, "\x00", `"<&>\u2028"`, `{"a":`, "null", " ", `{"\u0062ase64":""}`, `[1e400,-0]`,
	} {
		f.Add([]byte(seed), 0, "why")
		f.Add([]byte(seed), 1, "")
	}
	f.Fuzz(func(t *testing.T, data []byte, codec int, text string) {
		if !utf8.ValidString(text) { // no database has such
			text = ""
		}
		r := Record{
			Job: Job{Args: data, Codec: codec, Metadata: data}, Result: data, Error: text,
			Checkpoint: &Checkpoint{Value: data, Message: text}, Wait: &WaitInfo{For: data},
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read Record
		if err := json.Unmarshal(first, &read); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := json.Marshal(read)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s is read and written as\n%s, %v", first, second, err)
		}
		if read.Error != text || read.Checkpoint.Message != text || read.Codec != codec {
			t.Errorf("%+v", read)
		}
		// json.Marshal escapes what a web page would take for markup; nobody does here.
		if err := json.Unmarshal(marshal(t, r), &read); err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string][]byte{
			"args": read.Args, "metadata": read.Metadata, "result": read.Result, "value": read.Checkpoint.Value, "for": read.Wait.For,
		} {
			if !samePayload(got, data) {
				t.Errorf("%s: %q is read as %q", what, data, got)
			}
		}
	})
}
