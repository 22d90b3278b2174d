package rules_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/rules"
)

// outcome is what a payload is answered with: the outcome, or a part of the error.
type outcome struct{ sent, want string }

// TestAnswers: what rules make of what is sent, and with what the job goes on.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		rules  rules.Callback
		sent   []outcome
		result string // of the job
		fails  string // the error of the job
	}{
		{
			"filter, both ends and a transformation",
			rules.Callback{
				Filter: `payload.type.startsWith("charge.")`, OnComplete: `payload.type == "charge.succeeded"`,
				OnFail: `payload.type == "charge.failed"`, Transform: `{"id": payload.id, "twice": payload.cents * 2}`,
			},
			[]outcome{
				{`{"type":"refund"}`, "ignored"},
				{`{"type":"charge.pending"}`, "ignored"},
				{`{"id":1}`, "rule filter has no value for what was sent: no such key: type"},
				{`[]`, "rule filter has no value"},
				{`{"type":7}`, "rule filter has no value"},
				{`{"type":"charge.succeeded","id":9223372036854775807}`, "rule transform has no value"},
				{`{"type":"charge.succeeded","id":9223372036854775807,"cents":9007199254740993}`, "completed"},
				{`{"type":"charge.succeeded","id":1,"cents":1}`, "conflict"},
				{`{"type":"charge.failed"}`, "conflict"},
				{`{"type":"refund"}`, "ignored"},
			},
			`{"id":9223372036854775807,"twice":18014398509481986}`, "",
		},
		{
			"on_fail",
			rules.Callback{OnComplete: `true`, OnFail: `payload.error != null`},
			[]outcome{{`{"error":"no cover"}`, "failed"}, {`{"error":null}`, "conflict"}},
			"", "what was sent fits its rule on_fail",
		},
		{
			"the default completes",
			rules.Callback{OnFail: `payload == "no"`},
			[]outcome{{`18446744073709551615`, "completed"}},
			`18446744073709551615`, "",
		},
		{
			"the default fails",
			rules.Callback{OnComplete: `payload == 1`, Default: rules.Fail},
			[]outcome{{`2`, "failed"}},
			"", "what was sent fits none of its rules",
		},
		{
			"what cannot be told",
			rules.Callback{OnComplete: `payload`},
			[]outcome{
				{`"true"`, "rule on_complete has no value for what was sent: its value is of the type string"},
				{`{`, "not JSON"},
				{"\"\xff\"", "not JSON"},
				{``, "not JSON"},
				{`1 2`, "not JSON"},
				{`"` + strings.Repeat("x", rules.MaxSent) + `"`, "1048578 bytes, and may have 1048576"},
				{`[` + strings.Repeat("[],", 300_000) + `1]`, "rule on_complete has no value"},
				{`true`, "completed"},
			},
			`true`, "",
		},
		{
			"what takes too long",
			rules.Callback{OnComplete: `payload.all(a, payload.all(b, payload.all(c, a + b + c > 0)))`},
			[]outcome{{`[` + strings.Repeat("1,", 1000) + `1]`, "it takes too long"}, {`[1,2]`, "completed"}},
			`[1,2]`, "",
		},
		{
			"what is made is too large",
			rules.Callback{Transform: `[payload, payload, payload]`},
			[]outcome{{`"` + strings.Repeat("x", 500_000) + `"`, "too large"}, {`1`, "completed"}},
			`[1,1,1]`, "",
		},
		{"a text with a NUL", rules.Callback{OnComplete: `true`}, []outcome{{`"\u0000"`, "NUL"}, {`0`, "completed"}}, `0`, ""},
	}
	onBoth(t, func(t *testing.T, database string) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				client := open(t.Context(), t, database)
				if err := errors.Join(handle(client, test.rules, nil), client.Start(t.Context())); err != nil {
					t.Fatal(err)
				}
				job, token := begin(t, client)
				for _, o := range test.sent {
					got, err := rules.Answer(t.Context(), client, token, []byte(o.sent))
					if err == nil && string(got) != o.want || err != nil && (got != "" || !strings.Contains(err.Error(), o.want)) {
						t.Errorf("%.60s is answered %q, %v; want %q", o.sent, got, err, o.want)
					}
				}
				result, err := job.Wait(t.Context())
				if result != test.result || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
					t.Errorf("the job has ended with %s, %v; want %s, %s", result, err, test.result, test.fails)
				}
				if err := client.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// TestErrors: by which class and type errors are told apart.
func TestErrors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		client := open(t.Context(), t, database)
		err := errors.Join(handle(client, rules.Callback{OnComplete: `payload.ok`}, nil), client.Start(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		job, token := begin(t, client)
		answer := func(token, sent string) error {
			_, err := rules.Answer(t.Context(), client, token, []byte(sent))
			return err
		}
		undecided, is := errors.AsType[*rules.UndecidedError](answer(token, `{}`))
		if !is || undecided.Job != job.ID || undecided.Rule != "on_complete" || undecided.Reason != "no such key: ok" {
			t.Errorf("no value: %+v", undecided)
		}
		if err := answer("hfc_x", `{}`); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("no token: %v", err)
		}
		other := token[:len(token)-4] + "AAAA"
		if err := answer(other, `{}`); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("an unknown token: %v", err)
		}
		elsewhere, err := client.In("elsewhere")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rules.Answer(t.Context(), elsewhere, token, []byte(`{"ok":true}`)); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("from another namespace: %v", err)
		}
		// Those that complete and fail say themselves what they mean, whatever rules there are.
		if err := client.CompleteCallback(t.Context(), token, "by hand"); err != nil {
			t.Error(err)
		}
		if result, err := job.Wait(t.Context()); result != `"by hand"` || err != nil {
			t.Errorf("%s, %v", result, err)
		}
		if err := answer(token, `{"ok":true}`); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestRace: of many answers at a time one counts.
func TestRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		client := open(t.Context(), t, database)
		c := rules.Callback{OnComplete: `payload % 2 == 0`, OnFail: `payload % 2 == 1`}
		if err := errors.Join(handle(client, c, nil), client.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			job, token := begin(t, client)
			var all sync.WaitGroup
			outcomes := make(chan rules.Outcome, 8)
			for n := range 8 {
				all.Go(func() {
					got, err := rules.Answer(t.Context(), client, token, []byte{byte('0' + n)})
					if err == nil {
						outcomes <- got
					} else if !errors.Is(err, holdfast.ErrConflict) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			close(outcomes)
			won := <-outcomes
			_, err := job.Wait(t.Context())
			if more := len(outcomes); won == "" || more > 0 || (err == nil) != (won == rules.Completed) {
				t.Errorf("%q and %d others were told that they count, and the job ended with %v", won, more, err)
			}
		}
	})
}

// TestRefused: rules that are none are refused when the callback is made, with their name and where
// in them it is; then there is no callback.
func TestRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]rules.Callback{
		"the rule filter, line 1, column 9: ":                        {Filter: `payload.`},
		"the rule on_complete, line 2, column 4: undeclared":         {OnComplete: "true\n&& paid"},
		"the rule on_fail: its value is of the type string":          {OnFail: `"x"`},
		"the rule transform, line 1, column 4: undeclared":           {Transform: `now()`},
		"the rule transform: it has 4097 bytes":                      {Transform: strings.Repeat("1", rules.MaxText+1)},
		`the rule default: "maybe" is not complete, fail or ignore`:  {Default: "maybe"},
		"the rule default: without on_complete and on_fail nothing ": {Filter: `true`, Default: rules.Ignore},
	} {
		err := c.Check()
		if _, is := errors.AsType[*rules.Error](err); !is || !errors.Is(err, holdfast.ErrInvalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if err := rules.CheckEvent(`event.data.kind == "mail"`); err != nil {
		t.Error(err)
	}
	if err := rules.CheckEvent(`payload.x`); err == nil || !strings.Contains(err.Error(), "the rule filter, line 1, column 1: undeclared") {
		t.Error(err)
	}
	onBoth(t, func(t *testing.T, database string) {
		client := open(t.Context(), t, database)
		err := errors.Join(handle(client, rules.Callback{Filter: `paid`}, nil), client.Start(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		job, err := pay.Enqueue(t.Context(), client, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), `callback "payment": the rule filter, line 1, column 1: undeclared reference to 'paid'`) {
			t.Errorf("the job has ended with %v", err)
		}
		journal, err := client.Journal(t.Context(), job.ID)
		if err != nil || len(journal.Entries) > 0 {
			t.Errorf("the journal has %+v, %v", journal.Entries, err)
		}
	})
}
