package holdfast

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// oddRunes are letters and others of which the rules of names, JSON and keys speak.
var oddRunes = []rune("aBk kK\u212AsſΣσςéÉßıİ日🎉\"\\/<>&.@{}[],: \t\n" +
	"\x01\x1b\x7f\u0085\u00a0\u00ad\u200b\u200c\u200d\u2028\u2029\u202e\ufeff\ufffd\uff21\U000e0041")

func genText(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := string(rapid.SliceOfN(rapid.SampledFrom(oddRunes), 0, most).Draw(t, "runes"))
		return strings.Repeat(text, rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 40}).Draw(t, "times"))
	})
}

// genName makes names most of which are right.
func genName() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 29).Draw(t, "odd") != 7 {
			return rapid.SampledFrom([]string{"mail", "a b", "größe", "x\u200cy", `q"\`, strings.Repeat("n", 200)}).Draw(t, "name")
		}
		return genText(6).Draw(t, "text")
	})
}

// fields are names of fields that args and unique keys have in common.
var fields = []string{"a", "b", "A", "ſ", "s", "", "a b", "é", "\U00010400"}

// genJSON makes JSON as it may be written, valid or nearly so.
func genJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := genValue(depth).Draw(t, "value")
		if rapid.IntRange(0, 19).Draw(t, "broken") == 0 && text != "" {
			runes := []rune(text)
			at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
			with := rapid.SampledFrom([]string{"", ",", "\"", "\\", "}", "]", "0", "x", "\\u0000", "\u00a0", "\ufeff", "-", "."}).Draw(t, "with")
			text = string(runes[:at]) + with + string(runes[at+1:])
		}
		return text
	})
}

func genValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		sort := rapid.IntRange(0, 5).Draw(t, "sort")
		if depth == 0 && sort > 2 {
			sort -= 3
		}
		space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t ", "\r"}).Draw(t, "space") }
		var parts []string
		switch sort {
		case 0:
			return space() + genString().Draw(t, "string") + space()
		case 1:
			return space() + rapid.SampledFrom([]string{
				"0", "-0", "1.0", "1.50", "1e5", "1E+05", "-2.5e-7", "12345678901234567890", "1e400", "0.1", "7",
			}).Draw(t, "number") + space()
		case 2:
			return space() + rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word") + space()
		case 3:
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				parts = append(parts, genValue(depth-1).Draw(t, "element"))
			}
			return "[" + space() + strings.Join(parts, ",") + "]"
		default:
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				key := `"` + rapid.SampledFrom(fields).Draw(t, "key") + `"`
				if rapid.IntRange(0, 3).Draw(t, "other key") == 0 {
					key = genString().Draw(t, "key")
				}
				parts = append(parts, space()+key+space()+":"+genValue(depth-1).Draw(t, "member"))
			}
			return "{" + strings.Join(parts, ",") + space() + "}"
		}
	})
}

// genString makes a string of JSON, with escapes that need not be, and halves of surrogate pairs.
func genString() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "length") {
			r := rapid.SampledFrom(oddRunes).Draw(t, "rune")
			switch form := rapid.IntRange(0, 9).Draw(t, "form"); {
			case form == 0:
				b.WriteString(rapid.SampledFrom([]string{
					`\ud83d`, `\ude00`, `\uD83D\uDE00`, `\/`, `\b`, `\f`, `\\`, `\"`, `\\u0000`, `\u0061`, `\uFFFD`,
				}).Draw(t, "escape"))
			case form == 1 && r < 0x10000:
				fmt.Fprintf(&b, `\u%04x`, r)
			case r < ' ' || r == '"' || r == '\\':
				fmt.Fprintf(&b, `\u%04X`, r)
			default:
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	})
}

// genPath makes the name of a field, most often one that the args may have.
func genPath() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(fields), 1, 2), func(names []string) string { return strings.Join(names, ".") })
}

func genCall() *rapid.Generator[*enqCall] {
	return rapid.Custom(func(t *rapid.T) *enqCall {
		e := &enqCall{Kind: genName().Draw(t, "kind")}
		some := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, "has "+name) == 0 }
		name := func(what string) *string { return new(genName().Draw(t, what)) }
		length := func(what string, lengths ...string) *string { return new(rapid.SampledFrom(lengths).Draw(t, what)) }
		moment := func(what string) *time.Time {
			return new(time.UnixMicro(rapid.Int64Range(-1<<46, 1<<54).Draw(t, what)).UTC())
		}
		if rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "has args") {
			e.Args = new(genJSON(3).Draw(t, "args"))
		}
		if rapid.SampledFrom([]bool{true, false}).Draw(t, "key alone") {
			e.Kind = "mail"
			e.UniqueBy = rapid.SampledFrom([][]string{{"args"}, {"args", "queue"}, {"kind"}}).Draw(t, "unique by")
			if rapid.SampledFrom([]bool{true, false}).Draw(t, "fields") {
				e.UniqueFields = rapid.SliceOfN(genPath(), 1, 3).Draw(t, "unique fields")
			}
			return e
		}
		for _, set := range []func(){
			func() { e.Namespace = name("namespace") },
			func() { e.Queue = name("queue") },
			func() { e.Priority = new(rapid.SampledFrom([]int{1, 2, 3, 4, 1, 2, 3, 4, 0, 5}).Draw(t, "priority")) },
			func() { e.RunAt = moment("run at") },
			func() {
				e.MaxAttempts = new(rapid.SampledFrom([]int{1, 3, 25, 999, 1000, 0, 1001}).Draw(t, "max attempts"))
			},
			func() { e.Timeout = length("timeout", "1s", "1h0m0.000001s", "2562047h", "24h", "90s", "0s", "-1us") },
			func() { e.Deadline = new(moment("deadline").AddDate(400, 0, 0)) },
			func() {
				e.Backoff, e.BackoffLimit = length("backoff", "1s", "1us", "500ms", "0s"), length("backoff limit", "1s", "2562047h", "1h", "1us")
			},
			func() { e.Tags = rapid.SliceOfN(genName(), 0, 22).Draw(t, "tags") },
			func() {
				e.Metadata = new(genJSON(2).Draw(t, "metadata"))
				if !strings.HasPrefix(*e.Metadata, "{") && rapid.IntRange(0, 3).Draw(t, "no object") > 0 {
					*e.Metadata = `{"a":` + *e.Metadata + `}`
				}
			},
			func() { e.OrderingKey = name("ordering key") },
			func() {
				e.Key = new(genText(4).Draw(t, "key"))
				e.KeepKey = length("keep key", "1us", "24h", "0s", "-1us", "2562047h", "1.5s")
			},
			func() {
				e.UniqueBy = rapid.SliceOfN(rapid.SampledFrom([]string{"kind", "args", "queue"}), 0, 3).Draw(t, "unique by")
			},
			func() { e.UniqueFields = rapid.SliceOfN(genPath(), 0, 3).Draw(t, "unique fields") },
			func() { e.UniquePeriod = length("unique period", "1s", "24h", "1.000001s", "1h", "0s", "999ms", "-1h") },
			func() { e.UniqueKey = new(genText(4).Draw(t, "unique key")) },
			func() {
				states := rapid.SampledFrom([]string{"scheduled", "running", "completed", "cancelled"})
				e.UniqueWhile = rapid.SliceOfN(states, 0, 3).Draw(t, "unique while")
			},
		} {
			if some("more") {
				set()
			}
		}
		if e.UniquePeriod != nil && e.RunAt == nil {
			e.RunAt = moment("run at") // the two enqueues may be in two periods
		}
		if e.RunAt == nil && some("delay") {
			e.Delay = length("delay", "1us", "1h30m", "0s", "-5s", "87600h")
		}
		return e
	})
}

// sameRefusal reports whether two errors are the same, but for how durations and options are
// written, and for which of two mistakes is told.
func sameRefusal(byGo, bySQL string) bool {
	if byGo == bySQL {
		return true
	}
	if byGo == "" || bySQL == "" {
		return false
	}
	for _, apart := range []string{
		"timeout: ", "backoff: ", "unique: the period ", "unique: ByFields", "unique: unique_fields", "unique: the name of a field in ",
	} {
		apart = "holdfast: invalid request: " + apart
		if strings.HasPrefix(byGo, apart) && (strings.HasPrefix(bySQL, apart) || strings.Contains(apart, "ields")) {
			return true
		}
	}
	// Of the fields that differ in case, the library names any.
	return strings.Contains(byGo, "the args have no field") && strings.Contains(bySQL, "the args have no field") ||
		strings.Contains(byGo+bySQL, "is not between the years 1 and 9999")
}

func (b *sqlBed) sameEnqueue(ctx context.Context, t *rapid.T) {
	call := genCall().Draw(t, "call")
	byGo, err := b.byGo(ctx, call)
	if err != nil {
		t.Fatalf("%s by Go: %v", call, err)
	}
	bySQL, err := b.bySQL(ctx, call)
	if err != nil {
		t.Fatalf("%s by SQL: %v", call, err)
	}
	if !sameRefusal(byGo.err, bySQL.err) {
		t.Fatalf("%s: the error in Go is %q,\nand in SQL    %q", call, byGo.err, bySQL.err)
	}
	if byGo.rows != bySQL.rows {
		t.Fatalf("%s: Go has made %s,\nand SQL     %s", call, byGo.rows, bySQL.rows)
	}
}

// FuzzEnqueueInSQL is the same for as long as one likes.
func FuzzEnqueueInSQL(f *testing.F) {
	b := newSQLBed(f)
	ctx := f.Context()
	f.Fuzz(rapid.MakeFuzz(func(r *rapid.T) { b.sameEnqueue(ctx, r) }))
}

// TestRunesInSQL: the function knows the same characters as wrong in names, and as equal in fields.
func TestRunesInSQL(t *testing.T) {
	t.Parallel()
	b := newSQLBed(t)
	rows, err := b.conn.Query(t.Context(), strings.ReplaceAll(`SELECT code FROM generate_series(1, 1114111) AS code
		WHERE (code < 55296 OR code BETWEEN 57344 AND 131071 OR code BETWEEN 917504 AND 921599)
			AND {schema}.wrong_in_name(chr(code), false) IS NOT NULL`, "{schema}", b.schema))
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[rune]bool{}
	for rows.Next() {
		var code int32
		if err := rows.Scan(&code); err != nil {
			t.Fatal(err)
		}
		wrong[code] = true
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if refused := checkName("queue", string(r)) != nil; refused != wrong[r] && (r < 0xD800 || r > 0xDFFF) {
			t.Errorf("%U: wrong in Go %v, in SQL %v", r, refused, wrong[r])
		}
	}
	var letters []rune
	for r := rune(1); r < unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) != r || unicode.SimpleFold(r+1) != r+1 || unicode.SimpleFold(r-1) != r-1 {
			letters = append(letters, r)
		}
	}
	var folded string
	if err := b.conn.QueryRow(t.Context(), "SELECT "+b.schema+".folded($1)", string(letters)).Scan(&folded); err != nil {
		t.Fatal(err)
	}
	for i, r := range []rune(folded) {
		least := letters[i]
		for f := unicode.SimpleFold(least); f != letters[i]; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		if r != least {
			t.Errorf("%U is folded to %U, not %U", letters[i], r, least)
		}
	}
}
