package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/redact"
	"github.com/holdfastdev/holdfast/store"
)

func rules(tb testing.TB, list ...string) *redact.Rules {
	tb.Helper()
	r, err := redact.New(list...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestJSON: what is hidden, and that all else stays byte by byte.
func TestJSON(t *testing.T) {
	for _, c := range []struct{ rule, in, want string }{
		{"password", `{"password":"x","user":"u"}`, `{"password":"[redacted]","user":"u"}`},
		{"password", ` { "a" : [ { "PassWord" : {"deep":1} } , 2 ] } `, ` { "a" : [ { "PassWord" : "[redacted]" } , 2 ] } `},
		{"password", `{"password":null,"passwords":1}`, `{"password":null,"passwords":1}`},
		{"password", `{"\u0070assword":1}`, `{"\u0070assword":"[redacted]"}`},
		{"password", `{"password":[1,{"a":"]}"},"\"}"],"b":1}`, `{"password":"[redacted]","b":1}`},
		{"password", `{"password":1,"password":2}`, `{"password":"[redacted]","password":"[redacted]"}`},
		{"card.number", `{"card":{"number":4111},"number":1}`, `{"card":{"number":"[redacted]"},"number":1}`},
		{"card.number", `{"card":[{"number":1},{"other":{"number":2}}]}`, `{"card":[{"number":"[redacted]"},{"other":{"number":2}}]}`},
		{"card.*", `{"card":{"a":1,"b":true}}`, `{"card":{"a":"[redacted]","b":"[redacted]"}}`},
		{"*.id", `{"id":1,"a":{"id":2}}`, `{"id":1,"a":{"id":"[redacted]"}}`},
		{"*token", `{"token":1,"access-token":2,"tokens":3}`, `{"token":"[redacted]","access-token":"[redacted]","tokens":3}`},
		{"a*b*c", `{"abc":1,"aXbXc":1,"acb":1,"abbc":1}`, `{"abc":"[redacted]","aXbXc":"[redacted]","acb":1,"abbc":"[redacted]"}`},
		{"api_key", `{"apiKey":"x"}`, `{"apiKey":"[redacted]"}`},
		{"default", `{"Authorization":"Bearer","n":1e400}`, `{"Authorization":"[redacted]","n":1e400}`},
		{"none", `{"password":1}`, `{"password":1}`},
		{"password", `not JSON`, `"[redacted]"`},
		{"password", `3`, `3`},
		{"password", `{"password":-1.5e3}`, `{"password":"[redacted]"}`},
		{"password", ``, ``},
	} {
		if got := string(rules(t, c.rule).JSON([]byte(c.in))); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.rule, c.in, got, c.want)
		}
	}
	var none *redact.Rules
	if got := none.JSON([]byte(`{"password":1}`)); string(got) != `{"password":1}` {
		t.Errorf("no rules: %s", got)
	}
}

// TestWrongRules: what cannot be a rule is an ErrInvalid.
func TestWrongRules(t *testing.T) {
	for _, text := range []string{"", "a..b", "_", "none,a", strings.Repeat("a.", 8) + "a", strings.Repeat("a,", 100) + "a"} {
		if _, err := redact.Parse(text); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// secretive is a value with a field that is hidden.
type secretive struct {
	Name  string
	Token string `json:"token"`
}

// TestHandler: attributes are hidden wherever they come from, and others stay as they are.
func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(rules(t, "default", "card.number").Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})))
	log.With("password", "X1").WithGroup("card").With("number", 4111).Info("m", "n", 1, slog.Group("g", "api_key", "X2", "b", 2),
		"s", secretive{"ada", "X3"}, "plain", []int{1}, "err", errors.New("boom"), "raw", json.RawMessage(`{"secret":"X4"}`), "number", "X5")
	want := `{"msg":"m","password":"[redacted]","card":{"number":"[redacted]","n":1,"g":{"api_key":"[redacted]","b":2},` +
		`"s":{"Name":"ada","token":"[redacted]"},"plain":[1],"err":"boom","raw":{"secret":"[redacted]"},"number":"[redacted]"}}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// named has a text, and fields that are none of it.
type named struct{ secretive }

func (n named) String() string { return n.Name }

// untagged has fields that JSON does not have.
type untagged struct {
	Name     string
	Password string `json:"-"`
	secret   string
}

// broken cannot be JSON.
type broken struct {
	Token string
	Call  func()
}

// panicking has a method that panics.
type panicking struct{ Token *string }

func (p panicking) MarshalJSON() ([]byte, error) { return []byte(*p.Token), nil }

// TestHandlerOfAnyValue: whatever a value is, and in whatever way the handler behind writes it, no
// secret of it gets through, and no value makes the writer of a line panic.
func TestHandlerOfAnyValue(t *testing.T) {
	var out bytes.Buffer
	for name, to := range map[string]slog.Handler{"text": slog.NewTextHandler(&out, nil), "json": slog.NewJSONHandler(&out, nil)} {
		log := slog.New(redact.Default().Handler(to))
		for what, v := range map[string]any{
			"a stringer": named{secretive{"ada", "X1"}}, "untagged": untagged{"ada", "X2", "X3"}, "a pointer": &untagged{"ada", "X2", "X3"},
			"broken": broken{Token: "X4"}, "a map": map[string]any{"Name": "ada", "a": []any{map[string]any{"token": "X5"}}},
			"panics": panicking{}, "nil": (*untagged)(nil), "an error": fmt.Errorf("ada: %w", errors.ErrUnsupported),
		} {
			out.Reset()
			log.Info("m", "v", v, "w", v)
			if text := out.String(); strings.Contains(text, "X") || strings.Contains(text, "PANIC") {
				t.Errorf("%s: %s: %s", name, what, text)
			} else if what != "broken" && what != "panics" && what != "nil" && !strings.Contains(text, "ada") {
				t.Errorf("%s: %s: all is hidden: %s", name, what, text)
			}
		}
	}
}

// FuzzJSON: what comes out is JSON, and no value is left that a rule means.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"password":"x"}`, `[{"a":{"api_key":[1,2,{"token":null}]}}]`, `{"\u0074oken":{"token":1}}`, `"x"`,
		`{"a":"}\\\""}`, `{`, `{"token" : 1 , "b":[] }`,
	} {
		f.Add([]byte(seed))
	}
	r := redact.Default()
	f.Fuzz(func(t *testing.T, data []byte) {
		got := r.JSON(bytes.Clone(data))
		if len(data) == 0 {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q became %q", data, got)
		}
		var v any
		if json.Unmarshal(got, &v) == nil {
			wantHidden(t, v)
		}
		if again := r.JSON(bytes.Clone(got)); !bytes.Equal(again, got) {
			t.Fatalf("%q became %q, and then %q", data, got, again)
		}
	})
}

// wantHidden looks for fields of the default rules, in its own way.
func wantHidden(t *testing.T, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(strings.TrimSpace(name)))
			for _, end := range []string{"password", "passphrase", "secret", "token", "apikey", "privatekey"} {
				if strings.HasSuffix(plain, end) && value != nil && value != redact.Hidden {
					t.Fatalf("%s is %v", name, value)
				}
			}
			wantHidden(t, value)
		}
	case []any:
		for _, e := range v {
			wantHidden(t, e)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	r := redact.Default()
	data := []byte(`{"user":"ada","items":[{"sku":"a","n":1},{"sku":"b","n":2}],"password":"x","address":{"street":"s","city":"c"}}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.JSON(data)
	}
}
