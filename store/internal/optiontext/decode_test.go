package optiontext

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

// texts are options, and what is nearly so.
var texts = []string{
	`{}`, ` { } `, `{"limit":"tenants","limit_key":"t-1"}`, `{"limit": "a", "limit_key": "b", "fair_key": "c", "key": "d", "source": "e"}`,
	`{"limit":"a","timeout":5}`, `{"limit":"\u00e4"}`, `{"limit":"ä"}`, `{"limit":"a","limit":"b"}`, `{"LIMIT":"a"}`, `{"other":"a"}`,
	`{"limit":"a",}`, `{"limit":"a"`, `{"limit":"a"}}`, `{"limit":"a"} x`, `{"limit" "a"}`, `{"limit":a}`, `{"limit":"a" "limit_key":"b"}`,
	`{,"limit":"a"}`, `[]`, `null`, `"limit"`, ``, `{`, `{"`, `{"limit`, `{"limit"`, `{"limit":`, `{"limit":"`,
	"{\"limit\":\"a\x00\"}", `{"deadline":"x"}`,
	"{\n\t\"limit\" : \"a\"\r}", `{"key":""}`, "\f{}", `{"keep_turn":true,"limit":"a"}`,
}

// TestDecode compares with what encoding/json reads.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		same(t, []byte(text))
	}
	var o store.Options
	if err := Decode(nil, &o); err != nil || o != (store.Options{}) {
		t.Errorf("of no text %+v, %v", o, err)
	}
}

// TestPlainReadsWhatClaimsRead: the fast way is taken where it was made for.
func TestPlainReadsWhatClaimsRead(t *testing.T) {
	t.Parallel()
	for _, o := range []store.Options{
		{Limit: "tenants", LimitKey: "t-1"},
		{FairKey: "t-1"},
		{Key: "order-17"},
		{Source: "nightly"},
		{TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"},
	} {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var read store.Options
		if !plain(text, &read) || read != o {
			t.Errorf("%s was read as %+v", text, read)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(same)
}

func same(t *testing.T, text []byte) {
	t.Helper()
	if text == nil {
		return
	}
	var got, want store.Options
	err, wantErr := Decode(text, &got), json.Unmarshal(text, &want)
	if (err == nil) != (wantErr == nil) || wantErr == nil && !cmp.Equal(got, want) {
		t.Errorf("%q was read as %+v, %v; encoding/json: %+v, %v", text, got, err, want, wantErr)
	}
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(`{"limit":"tenants","limit_key":"tenant-1234"}`)
	b.ReportAllocs()
	for b.Loop() {
		var o store.Options
		if err := Decode(text, &o); err != nil {
			b.Fatal(err)
		}
	}
}
