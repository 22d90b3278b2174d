package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, json string
		want       bool
		fails      string
	}{
		{text: `payload.status == "paid"`, json: `{"status":"paid"}`, want: true},
		{text: `payload.status == "paid"`, json: `{"status":"open"}`},
		{text: `payload.status == "paid"`, json: `{}`, fails: "no such key: status"},
		{text: `payload.status == "paid"`, json: `7`, fails: "no such key: status"},
		{text: `has(payload.status)`, json: `{}`},
		{text: `payload.status`, json: `{"status":true}`, want: true},
		{text: `payload.status`, json: `{"status":"true"}`, fails: "its value is of the type string; it is to be true or false"},
		{text: `payload`, json: `null`, fails: "null_type"},
		{text: `payload == null`, json: `null`, want: true},
		{text: `payload.exists(l, l.sku == "a" && l.count > 2)`, json: `[{"sku":"a","count":3}]`, want: true},
		{text: `payload.n == 9223372036854775807`, json: `{"n":9223372036854775807}`, want: true},
		{text: `payload.n == 9223372036854775806`, json: `{"n":9223372036854775807}`},
		{text: `type(payload.n) == int`, json: `{"n":-9223372036854775808}`, want: true},
		{text: `type(payload.n) == double`, json: `{"n":9223372036854775808}`, want: true},
		{text: `type(payload.n) == double`, json: `{"n":1e3}`, want: true},
		{text: `payload.n > 2`, json: `{"n":2.5}`, want: true},
		{text: `true`, json: `1e999`, fails: "the number 1e999 is too large"},
		{text: `true`, json: `{"a":`, fails: "not JSON"},
		{text: `true`, json: `1 2`, fails: "behind the JSON"},
		{text: `true`, json: "\"\xff\"", fails: "UTF-8"},
		{text: `timestamp(payload.at) < timestamp("2026-01-02T00:00:00Z")`, json: `{"at":"2026-01-01T00:00:00Z"}`, want: true},
		{text: `payload == {"a": [1, {"b": 2.0}]} && payload.a[1] == {"b": 2} && "a" in payload`, json: `{"a":[1,{"b":2}]}`, want: true},
		{text: `1 / payload > 0`, json: `0`, fails: "division by zero"},
	} {
		x, err := Condition(test.text, "payload")
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got, err := x.Holds([]byte(test.json))
		if got != test.want || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s of %s: %t, %v; want %t, %s", test.text, test.json, got, err, test.want, test.fails)
		}
		if _, is := errors.AsType[*EvalError](err); err != nil && !is {
			t.Errorf("%s of %s: %T", test.text, test.json, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                    "line 1, column 1: ",
		`payload.`:                            "line 1, column 9: ",
		"true &&\n  order.paid":               "line 2, column 3: undeclared reference to 'order'",
		`"paid"`:                              "its value is of the type string; it is to be true or false",
		`now() > timestamp("x")`:              "undeclared reference to 'now'",
		`payload.a.matches("a+")`:             "undeclared reference to 'matches'",
		strings.Repeat("!", MaxText+1):        "it has 4097 bytes, and may have 4096",
		`google.protobuf.Struct{} == payload`: "it makes a message of Protocol Buffers",
		"\xff":                                "it is not valid UTF-8",
		"true\x00":                            "the character zero",
		strings.Repeat("(", 2000):             "recursion",
	} {
		_, err := Condition(text, "payload")
		if _, is := errors.AsType[*CompileError](err); !is || !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 400) {
			t.Errorf("%.60q: not one short line: %q", text, err)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, json, want string }{
		{`payload`, `{"b":[1,2.5,"<é\n",null,true,{}],"a":-9223372036854775808}`, `{"a":-9223372036854775808,"b":[1,2.5,"<é\n",null,true,{}]}`},
		{`payload.id`, `{"id":9223372036854775807}`, `9223372036854775807`},
		{`payload.id + 1`, `{"id":9007199254740992}`, `9007199254740993`},
		{`{"id": payload.id, "lines": payload.lines.map(l, l.sku)}`, `{"id":7,"lines":[{"sku":"a"},{"sku":"b"}]}`, `{"id":7,"lines":["a","b"]}`},
		{`payload.filter(n, n > 1) + [9u]`, `[1,2,3]`, `[2,3,9]`},
		{`[timestamp(payload), duration("90s"), b"hi"]`, `"2026-01-01T00:00:00Z"`, `["2026-01-01T00:00:00Z","90s","aGk="]`},
		{`payload.map(k, k)`, `{"e":1,"d":1,"c":1,"b":1,"a":1,"f":{}}`, `["a","b","c","d","e","f"]`},
		{`{"e":1,"d":1,"c":1,"b":1,"a":1}.map(k, k)`, `0`, `["a","b","c","d","e"]`},
		{`{3: 1, 2: 1, "a": 1, true: 1, 1: 1, false: 1}.map(k, string(k))`, `0`, `["false","true","1","2","3","a"]`},
		{`payload.a.b.map(k, payload.a.b[k])`, `{"a":{"b":{"y":2,"z":3,"x":1}}}`, `[1,2,3]`},
		{`payload`, `18446744073709551616`, `18446744073709552000`},
	} {
		x, err := Compile(test.text, "payload")
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got, err := x.JSON([]byte(test.json)); err != nil || string(got) != test.want {
			t.Errorf("%s of %s: %s, %v; want %s", test.text, test.json, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		`0.0 / 0.0`:               "a number that JSON does not have",
		`type(payload)`:           "of the type type, which JSON does not have",
		`{1: 2}`:                  "keys are not all texts",
		`payload.map(i, payload)`: "too l",
		`payload.map(i, "` + strings.Repeat("x", 3000) + `")`: "too large",
	} {
		x, err := Compile(text, "payload")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := x.JSON([]byte(`[` + strings.Repeat("1,", 1000) + `1]`))
		if _, is := errors.AsType[*EvalError](err); !is || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %.50s, %v; want %q", text, got, err, want)
		}
	}
}

// TestBounded: expressions that would take for ever, or all memory, are told off in time. Each was
// made to get past what the library counts.
func TestBounded(t *testing.T) {
	t.Parallel()
	thousand := `[` + strings.Repeat("1,", 1000) + `1]`
	long := `[` + strings.Repeat("1,", 500_000) + `1]`
	text := `"` + strings.Repeat("x", 1_000_000) + `"`
	wanted := func(items string) string { return `{"items":` + items + `,"wanted":` + long + `}` }
	many := `[` + strings.Repeat(thousand+",", 99) + thousand + `]`
	keys, literal := object(`"k%d":1`, 50_000), object(`%d:1`, 180)
	for name, test := range map[string]struct{ text, json string }{
		"loops in loops":                         {`payload.all(a, payload.all(b, payload.all(c, true)))`, thousand},
		"a list that is compared in a loop":      {`payload.all(a, payload == payload)`, long},
		"a list of lists, compared":              {`payload.map(a, payload) == payload.map(a, payload)`, long},
		"a list in each of its elements":         {`payload.exists(a, payload in [payload, payload])`, long},
		"lists that double":                      {doubling("a == a", "[[a,a,a,a]]"), long},
		"lists that double, side by side":        {doubling("a == a", "[a+a]"), `[1]`},
		"lists that double, in each other":       {doubling("a == a", "[[a,a]]"), `[1]`},
		"maps that double":                       {doubling("a == a", `[{"x":a,"y":a}]`), `[1]`},
		"texts that double":                      {doubling("a == a", "[a+a]"), text},
		"lists that double, whose size is asked": {doubling("size(a) == 0", "[a+a]"), `[1]`},
		"a text that is found in a loop":         {`[1,2,3,4].all(x, [1,2,3,4].all(y, [1,2,3,4].all(z, !payload.contains("y"))))`, text},
		"maps in maps":                           {`payload.all(k, payload.exists(j, true))`, keys},
		"a literal map, iterated in itself":      {literal + `.all(a, ` + literal + `.all(b, ` + literal + `.all(c, true)))`, `1`},
		"what is light, compared with a list":    {`payload.items.exists(i, i == payload.wanted)`, wanted(long[:60_000] + `1]`)},
		"lists, compared with a longer one":      {`payload.items.exists(i, i == payload.wanted)`, wanted(many)},
		"texts that are put together":            {strings.Repeat("payload+", 60) + `payload == "x"`, text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			x, err := Condition(test.text, "payload")
			if err == nil {
				_, err = x.Holds([]byte(test.json))
			}
			took := time.Since(began)
			if err == nil || took > 20*time.Second {
				t.Errorf("%.100s: %v, after %v", test.text, err, took)
			}
			t.Logf("%v after %v", err, took.Round(time.Millisecond))
		})
	}
}

// object is an object of so many fields.
func object(field string, n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(field, i)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// FuzzExpr: whatever comes from outside is compiled and evaluated, or refused with an error of this
// package, and always in the same way.
func FuzzExpr(f *testing.F) {
	for _, seed := range [][2]string{
		{`payload.status == "paid" && size(payload.lines) > 1`, `{"status":"paid","lines":[1,2]}`},
		{`{"id": payload.id, "at": timestamp(payload.at)}`, `{"id":9223372036854775807,"at":"2026-01-01T00:00:00Z"}`},
		{`payload.map(k, payload[k]).filter(v, has(v.x)) + [b"a", 1u, 2.5, duration("1s")]`, `{"a":{"x":1},"b":{}}`},
		{`payload.all(a, payload.exists_one(b, a == b)) ? type(payload) == list : payload in {1: 2}`, `[1,2,3]`},
		{`[[payload, payload]].exists(a, [a + a] == [a])`, `["x",null,true]`},
		{`string(payload) + string(b"\xff") == "" || payload.getFullYear("UTC") > 0`, `1e400`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, payload string) {
		late := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("%q of %q takes for ever", text, payload)) })
		defer late.Stop()
		x, err := Compile(text, "payload")
		if err != nil {
			if _, is := errors.AsType[*CompileError](err); !is {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		made, err := x.JSON([]byte(payload))
		again, errAgain := x.JSON([]byte(payload))
		if _, is := errors.AsType[*EvalError](err); err != nil && !is {
			t.Errorf("%T: %v", err, err)
		}
		if (err == nil) != (errAgain == nil) || !bytes.Equal(made, again) {
			t.Errorf("%s, %v; and then %s, %v", made, err, again, errAgain)
		}
		if err == nil && (!json.Valid(made) || len(made) > MaxResult) {
			t.Errorf("%q is not JSON of at most %d bytes", made, MaxResult)
		}
	})
}

// doubling is an expression in which a stands for a value that was doubled forty times.
func doubling(inside, doubled string) string {
	for range 40 {
		inside = doubled + ".exists(a, " + inside + ")"
	}
	return "[payload].exists(a, " + inside + ")"
}
