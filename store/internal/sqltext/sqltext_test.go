package sqltext_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

var numbered = sqltext.Options{
	Names: map[string]string{"running": "3", "cancel_seen": "64", "contradicts": "128", "named": "8, 12"},
	Later: []string{"schema"},
}

var inOrder = sqltext.Options{Params: sqltext.InOrder, Names: numbered.Names, Rows: 3}

func load(o sqltext.Options, files ...string) (map[string]string, error) {
	tree := fstest.MapFS{}
	for i, text := range files {
		tree["sql/"+string(rune('a'+i))+".sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return sqltext.Load(tree, "sql/*.sql", o)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    sqltext.Options
		sql  string
		want string
	}{
		{"plain", numbered, "-- name: a\nSELECT 1;\n", "SELECT 1"},
		{
			"comments", numbered,
			"-- It's above.\n-- name: a\n-- below\nSELECT 1, -- it's here\n  -- and here\n  2;", "SELECT 1, \n  2",
		},
		{
			"numbered", numbered,
			"-- name: a\n-- params: @n bigint, @ids uuid[]\nSELECT (@ids)[@n], @n;",
			"SELECT ($2::uuid[])[$1::bigint], $1::bigint",
		},
		{"two lines", numbered, "-- name: a\n-- params: @n int\n-- params: @m int\nSELECT @m - @n", "SELECT $2::int - $1::int"},
		{
			"operators", numbered,
			"-- name: a\n-- params: @t jsonb\nSELECT tags @> @t, ids @> ARRAY[1], $$, a ? b",
			"SELECT tags @> $1::jsonb, ids @> ARRAY[1], $$, a ? b",
		},
		{
			"names", numbered,
			"-- name: a\nSELECT {running} FROM {schema}.t WHERE x & {cancel_seen|contradicts} <> 0 AND k IN ({named})",
			"SELECT 3 FROM {schema}.t WHERE x & 192 <> 0 AND k IN (8, 12)",
		},
		{
			"quotes", numbered,
			"-- name: a\nSELECT '@x --', '{schema}', '{\"a\": {}}', \"@y{z}\", 'it''s {running}'",
			`SELECT '@x --', '{schema}', '{"a": {}}', "@y{z}", 'it''s 3'`,
		},
		{"in order", inOrder, "-- name: a\n-- params: @id, @n\nSELECT @id, @n + 0", "SELECT ?, ? + 0"},
		{"bare", inOrder, "-- name: a\nSELECT ?", "SELECT ?"},
		{
			"rows", inOrder,
			"-- name: a\n-- params: @id, @n\nINSERT INTO t VALUES {rows: (@id, {running}, @n)}",
			"INSERT INTO t VALUES (?, 3, ?), (?, 3, ?), (?, 3, ?)",
		},
		{
			"fragments", numbered,
			"-- fragment: open\n-- One.\nx = @n AND {{two}};\n-- fragment: two\ny = {running}\n" +
				"-- name: a\n-- params: @n int\nSELECT 1 WHERE {{open}} OR {{two}}",
			"SELECT 1 WHERE x = $1::int AND y = 3 OR y = 3",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			texts, err := load(c.o, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts["a"]; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLoadAcrossFiles(t *testing.T) {
	t.Parallel()
	texts, err := load(numbered, "-- name: a\nSELECT {{one}}", "-- fragment: one\n1\n-- name: b\nSELECT 2")
	if want := (map[string]string{"a": "SELECT 1", "b": "SELECT 2"}); err != nil || !maps.Equal(texts, want) {
		t.Errorf("%v, %v", texts, err)
	}
}

// TestMistakes shows that what is wrong in a file is found when it is read, and says where.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sql, want string }{
		{"not declared", "-- name: a\nSELECT @n", "a.sql: a: @n is not declared"},
		{"not used", "-- name: a\n-- params: @n int\nSELECT 1", "@n is declared and not used"},
		{"declared twice", "-- name: a\n-- params: @n int, @n int\nSELECT @n", "@n is declared twice"},
		{"no type", "-- name: a\n-- params: @n\nSELECT @n", "a type is declared of numbered parameters"},
		{"no declaration", "-- name: a\n-- params: n int\nSELECT 1", `"n int" declares no parameter`},
		{"a bare parameter", "-- name: a\nSELECT $1", "a parameter has no name"},
		{"no such name", "-- name: a\nSELECT {sleeping}", "{sleeping} is no name"},
		{"no such name in quotes", "-- name: a\nSELECT '{sleeping}'", "{sleeping} is no name"},
		{"no bits", "-- name: a\nSELECT {cancel_seen|named}", "{named} is no name, or not of a number"},
		{"no such fragment", "-- name: a\nSELECT {{b}}", "there is no fragment b"},
		{"a circle", "-- fragment: b\n{{b}}\n-- name: a\nSELECT {{b}}", "inside of itself"},
		{"an unused fragment", "-- fragment: b\n1\n-- name: a\nSELECT 1", "nobody uses the fragment b"},
		{"two of a name", "-- name: a\nSELECT 1\n-- name: a\nSELECT 2", "that of two blocks"},
		{"a quote", "-- name: a\nSELECT 'x", "a quote is not closed"},
		{"a brace", "-- name: a\nSELECT {x", "a brace is not closed"},
		{"rows", "-- name: a\nVALUES {rows: (1)}", "rows are not repeated here"},
		{"no name", "SELECT 1", "no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := load(numbered, c.sql); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	for _, sql := range []string{
		"-- name: a\n-- params: @n, @m\nSELECT @m, @n", "-- name: a\n-- params: @n\nSELECT @n, @n", "-- name: a\n-- params: @n\nSELECT @n, ?",
		"-- name: a\n-- params: @n int\nSELECT @n",
	} {
		if texts, err := load(inOrder, sql); err == nil {
			t.Errorf("%s\nis %v", sql, texts)
		}
	}
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("-- {schema}\n")}
	steps, err := sqltext.Migrations(fstest.MapFS{"m/0002_two.sql": file, "m/0001_one_more.sql": file}, "m")
	if err != nil || len(steps) != 2 || steps[0].Name != "one_more" || steps[1].Version != 2 || steps[1].SQL != "-- {schema}\n" {
		t.Errorf("%v, %v", steps, err)
	}
	if _, err := sqltext.Migrations(fstest.MapFS{"m/0002_two.sql": file}, "m"); err == nil {
		t.Error("the first step may be missing")
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	names := sqltext.Codes(map[string]int64{"mine": 32})
	for name, want := range map[string]string{
		"running": "3", "finished": "6", "bit_running": "8", "named_entries": "8, 12, 13", "message_child": "5", "mine": "32",
	} {
		if names[name] != want {
			t.Errorf("%s is %q, want %q", name, names[name], want)
		}
	}
}

// FuzzLoad shows that no text is more than a mistake, and that what has no directive goes out as it
// came in.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "SELECT @n, '@n', {running}, {{one}} -- it's", "{rows: (@n)}",
		"'{", "{{", "{|}", "@", "\"", "--", "{rows:", "SELECT '{}'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const before = "-- fragment: one\n1\n-- name: z\nSELECT {{one}}\n-- name: a\n"
		_, _ = load(numbered, before+"-- params: @n int\n"+text)
		_, _ = load(inOrder, before+"-- params: @n\n"+text)
		if strings.ContainsAny(text, "@{?$;-'\"") {
			return
		}
		texts, err := load(numbered, before+text)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		if want := strings.TrimSpace(strings.Join(lines, "")); texts["a"] != want {
			t.Errorf("%q became %q", want, texts["a"])
		}
	})
}
