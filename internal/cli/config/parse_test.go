package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/internal/cli/config"
)

// TestParse: each value is what TOML says it is.
func TestParse(t *testing.T) {
	t.Parallel()
	f, err := config.Parse("# of all\r\ntext = \"a \\\"b\\\" \\u00e9 # c\" # behind\nraw = 'C:\\x'\nnumber = -1_000\nflag=true\n" +
		"list = [\n  \"a\", # first\n  'b',\n\n  3,\n]\n[ one . two ] # a table\nkey = \"\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range f.Entries {
		got = append(got, fmt.Sprintf("%s/%s %d-%d %d %q", e.Table, e.Key, e.Line, e.Last, e.Kind, e.Values))
	}
	want := []string{
		`/text 2-2 0 ["a \"b\" é # c"]`, `/raw 3-3 0 ["C:\\x"]`, `/number 4-4 1 ["-1000"]`, `/flag 5-5 2 ["true"]`,
		`/list 6-11 3 ["a" "b" "3"]`, `one.two/key 13-13 0 [""]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s", strings.Join(got, "\n"))
	}
}

// TestParseRefuses: what is wrong is told with its line.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"a = 1\n\nb":               "line 3: ",
		"a = 1\na = 2":             "line 2: a is in line 1, too",
		"[t]\na = 1\n[t]":          "line 3: [t] is in line 1, too",
		"a.b = 1":                  "neither KEY = VALUE",
		"[a.\"b\"]":                "neither KEY = VALUE",
		"[[a]]":                    "neither KEY = VALUE",
		"a = ":                     "there is no value",
		"a = word":                 "in quotes",
		"a = 1.5":                  "is no value",
		"a = 007":                  "is no value",
		"a = 99999999999999999999": "is no value",
		"a = \"x":                  "has no end",
		"a = 'x":                   "has no end",
		"a = \"\\x41\"":            "is no escape",
		"a = \"\\u12\"":            "is no escape",
		"a = \"\"\"x":              "several lines",
		"a = [1":                   "line 1: a list has no end",
		"a = [1 2]":                "a comma or ]",
		"a = [1,,2]":               "no value",
		"a = [true]":               "texts or numbers",
		"a = 1 2":                  "behind a value",
		"a = {b = 1}":              "no value",
	} {
		_, err := config.Parse(text)
		if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
}

// FuzzFile: whatever a file is, reading it ends; what is set in one that is read is in it then, and
// nothing else has changed.
func FuzzFile(f *testing.F) {
	f.Add("a = 1\n[t]\nb = [\n'x']\n# c\n", "k", "a \"text\"\n")
	f.Add("# c\n\n# of t\n[t]\n", "b", "\x00\\")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		before, err := config.Parse(text)
		if err != nil || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") != "" || key == "" || !utf8.ValidString(value) {
			return
		}
		for _, table := range []string{"", "t", "context.x"} {
			changed, err := config.Set(text, table, key, config.Quote(value))
			if err != nil {
				t.Fatal(err)
			}
			after, err := config.Parse(changed)
			if err != nil {
				t.Fatalf("%v:\n%s", err, changed)
			}
			if e := after.Find(table, key); e == nil || e.Values[0] != value {
				t.Fatalf("it has %+v:\n%s", e, changed)
			}
			for _, e := range before.Entries {
				is := after.Find(e.Table, e.Key)
				if (e.Table != table || e.Key != key) && (is == nil || fmt.Sprint(is.Values) != fmt.Sprint(e.Values)) {
					t.Fatalf("%s has become %+v:\n%s", e.Key, is, changed)
				}
			}
		}
	})
}

// TestEdit: what people wrote around settings stays.
func TestEdit(t *testing.T) {
	t.Parallel()
	const text = "# mine\ncurrent = \"a\"\n\n# the first\n[context.a]\n# where\ndatabase = \"x\"\n\n" +
		"# the second\n[context.b]\nserver = \"y\"\n"
	set, err := config.Set(text, "context.a", "namespace", `"n"`)
	if err != nil || set != strings.Replace(text, "\"x\"\n", "\"x\"\nnamespace = \"n\"\n", 1) {
		t.Errorf("%v\n%s", err, set)
	}
	unset, err := config.Unset(set, "context.a", "namespace")
	if err != nil || unset != text {
		t.Errorf("%v\n%s", err, unset)
	}
	removed, err := config.Remove(text, "context.a")
	if err != nil || removed != "# mine\ncurrent = \"a\"\n\n# the first\n# the second\n[context.b]\nserver = \"y\"\n" {
		t.Errorf("%v\n%s", err, removed)
	}
	first, err := config.Set("# of a\n[a]\n", "", "current", `"x"`)
	if err != nil || first != "current = \"x\"\n\n# of a\n[a]\n" {
		t.Errorf("%v\n%s", err, first)
	}
}
