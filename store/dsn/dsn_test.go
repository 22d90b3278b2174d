package dsn_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]store.Source{
		"holdfast.db":                  sqlite.Config{Path: "holdfast.db"},
		"./a/b c.db":                   sqlite.Config{Path: "./a/b c.db"},
		"/var/lib/x":                   sqlite.Config{Path: "/var/lib/x"},
		`C:\jobs\x.db`:                 sqlite.Config{Path: `C:\jobs\x.db`},
		"c:/jobs/x.db":                 sqlite.Config{Path: "c:/jobs/x.db"},
		"./postgres:x":                 sqlite.Config{Path: "./postgres:x"},
		"2026-01-31T10:00.db":          sqlite.Config{Path: "2026-01-31T10:00.db"},
		"100%25.db":                    sqlite.Config{Path: "100%25.db"},
		":memory:":                     sqlite.Config{Path: sqlite.Memory},
		"sqlite::memory:":              sqlite.Config{Path: sqlite.Memory},
		"sqlite:x.db":                  sqlite.Config{Path: "x.db"},
		"sqlite:postgres://x":          sqlite.Config{Path: "postgres://x"},
		"SQLite:/x.db":                 sqlite.Config{Path: "/x.db"},
		"sqlite:///x.db":               sqlite.Config{Path: "/x.db"},
		"sqlite://x.db":                sqlite.Config{Path: "x.db"},
		"x.db?":                        sqlite.Config{Path: "x.db"},
		"x.db?migrate=on":              sqlite.Config{Path: "x.db"},
		"x.db?migrate=off":             sqlite.Config{Path: "x.db", NoMigrate: true},
		"x.db?synchronous=full":        sqlite.Config{Path: "x.db"},
		"x.db?synchronous=normal":      sqlite.Config{Path: "x.db", Synchronous: sqlite.Normal},
		"x.db?poll=1s&readers=8":       sqlite.Config{Path: "x.db", Poll: time.Second, Readers: 8},
		"x.db?poll=off":                sqlite.Config{Path: "x.db", Poll: -1},
		"postgres://h/db":              postgres.Config{URL: "postgres://h/db"},
		"postgresql://u:p@h:5433/db":   postgres.Config{URL: "postgresql://u:p@h:5433/db"},
		"postgres://":                  postgres.Config{URL: "postgres://"},
		"postgres://h1:1,h2:2/db":      postgres.Config{URL: "postgres://h1:1,h2:2/db"},
		"postgres://h/db?sslmode=x":    postgres.Config{URL: "postgres://h/db?sslmode=x"},
		"postgres://h/db?a=1&a=2":      postgres.Config{URL: "postgres://h/db?a=1&a=2"},
		"postgres://h/db?session=on":   postgres.Config{URL: "postgres://h/db"},
		"postgres://h/db?session=off":  postgres.Config{URL: "postgres://h/db", NoSession: true},
		"postgres://h/db?migrate=off":  postgres.Config{URL: "postgres://h/db", NoMigrate: true},
		"postgres://h/db?schema=x&b=c": postgres.Config{URL: "postgres://h/db?b=c", SchemaName: "x"},
	} {
		source, err := dsn.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, source); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestNoMigrate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]store.Source{
		"x.db":            sqlite.Config{Path: "x.db", NoMigrate: true},
		"x.db?migrate=on": sqlite.Config{Path: "x.db", NoMigrate: true},
		"postgres://h/db": postgres.Config{URL: "postgres://h/db", NoMigrate: true},
	} {
		source, err := dsn.Parse(text, dsn.NoMigrate())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, source); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"":                                       "no file",
		"?synchronous=normal":                    "no file",
		"sqlite:":                                "no file",
		"sqlite://":                              "no file",
		"mysql://u:hunter2@h/db":                 `"mysql:"`,
		"file:x.db":                              `"file:"`,
		"x.db?sync=normal":                       `no option "sync"`,
		"x.db?synchronous=off":                   "synchronous",
		"x.db?synchronous=":                      "synchronous",
		"x.db?synchronous=full&synchronous=full": "2 times",
		"x.db?poll=0s":                           "poll",
		"x.db?poll=often":                        "poll",
		"x.db?readers=0":                         "readers",
		"x.db?readers=many":                      "readers",
		"x.db?migrate=maybe":                     "migrate",
		"x.db?session=off":                       `no option "session"`,
		"x.db?a;b":                               "do not parse",
		"x.db?%zz":                               "do not parse",
		"postgres:h/db":                          "postgres://",
		"postgres://u:hunter2@h/db?session=maybe": "session",
		"postgres://u:hunter2@h/db?schema=":       "schema",
		"postgres://u:hunter2@h/db?migrate=x":     "migrate",
	} {
		source, err := dsn.Parse(text)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v with %v, want an ErrInvalid that says %q and no password", text, source, err, words)
		}
	}
}

// TestOpens checks that what was parsed works.
func TestOpens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	missing, err := dsn.Parse(path, dsn.NoMigrate())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Open(t.Context()); !errors.Is(err, store.ErrSchema) {
		t.Errorf("a file that does not exist: %v", err)
	}
	source, err := dsn.Parse("sqlite:" + path + "?synchronous=normal")
	if err != nil {
		t.Fatal(err)
	}
	if source.String() != "sqlite:"+path {
		t.Errorf("%s", source)
	}
	st, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if name := st.Traits().Name; name != "sqlite" {
		t.Errorf("%s", name)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
