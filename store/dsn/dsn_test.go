package dsn_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// onlyExported compares what users set.
var onlyExported = cmpopts.IgnoreUnexported(sqlite.Config{}, postgres.Config{})

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
		"postgres://h/?sslmode=allow":  postgres.Config{URL: "postgres://h/?sslmode=allow"},
		"postgres://h/db?session=on":   postgres.Config{URL: "postgres://h/db"},
		"postgres://h/db?session=off":  postgres.Config{URL: "postgres://h/db", NoSession: true},
		"postgres://h/db?migrate=off":  postgres.Config{URL: "postgres://h/db", NoMigrate: true},
		"postgres://h/?schema=x&jit=c": postgres.Config{URL: "postgres://h/?jit=c", SchemaName: "x"},
		"postgres://h/?TimeZone=utc":   postgres.Config{URL: "postgres://h/?TimeZone=utc"},
		"postgres://h/?app.tenant=7":   postgres.Config{URL: "postgres://h/?app.tenant=7"},
		"postgres://h/?ssl=true":       postgres.Config{URL: "postgres://h/?ssl=true"},
		"postgres://h/db?user=a@b":     postgres.Config{URL: "postgres://h/db?user=a%40b"},
		" postgres://h/db\n":           postgres.Config{URL: "postgres://h/db"},

		"host=h user=u":               postgres.Config{URL: "host='h' user='u'"},
		"host = h  pool_max_conns=3":  postgres.Config{URL: "host='h' pool_max_conns='3'"},
		`password='a \'b\\' dbname=x`: postgres.Config{URL: `password='a \'b\\' dbname='x'`},
		"options='-c jit=on' host=h":  postgres.Config{URL: "options='-c jit=on' host='h'"},
		"user=u schema=x session=off": postgres.Config{URL: "user='u'", SchemaName: "x", NoSession: true},
		"migrate=off host=h":          postgres.Config{URL: "host='h'", NoMigrate: true},
		"sqlite:user=u":               sqlite.Config{Path: "user=u"},
		"./user=u":                    sqlite.Config{Path: "./user=u"},
		"/a:b@c":                      sqlite.Config{Path: "/a:b@c"},
		`C:\a@b`:                      sqlite.Config{Path: `C:\a@b`},
		"sqlite:a:b@c":                sqlite.Config{Path: "a:b@c"},
		"year=2026.db":                sqlite.Config{Path: "year=2026.db"},
		"my a=1.db?poll=1s&readers=8": sqlite.Config{Path: "my a=1.db", Poll: time.Second, Readers: 8},
		"/a=1 host=2":                 sqlite.Config{Path: "/a=1 host=2"},
		"no password.db":              sqlite.Config{Path: "no password.db"},
	} {
		source, err := dsn.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, source, onlyExported); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestKeywordsLikePgx: pgx gets the same settings from a connection string as without this package.
func TestKeywordsLikePgx(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"host=h port=5433 user=u dbname=d", `host=h password=a\ b\\c user = u`, `password='' user=u`,
		"host=h\tuser=u\n", `dbname='a b' password='\'' host=/tmp`, "host=a,b port=1,2 user=u",
	} {
		source, err := dsn.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, wantErr := pgx.ParseConfig(text)
		config, ok := source.(postgres.Config)
		if !ok {
			t.Fatalf("%s is %T", text, source)
		}
		got, err := pgx.ParseConfig(config.URL)
		if err != nil || wantErr != nil {
			t.Errorf("%s: %v, %v", text, err, wantErr)
			continue
		}
		if got.Host != want.Host || got.Port != want.Port || got.User != want.User || got.Password != want.Password ||
			got.Database != want.Database || len(got.Fallbacks) != len(want.Fallbacks) {
			t.Errorf("%s: %s:%d %s/%s@%s, want %s:%d %s/%s@%s", text, got.Host, got.Port, got.User, got.Password, got.Database,
				want.Host, want.Port, want.User, want.Password, want.Database)
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
		if diff := cmp.Diff(want, source, onlyExported); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"":                                       "the path is empty",
		"?synchronous=normal":                    "the path is empty",
		"sqlite:":                                "the path is empty",
		"sqlite://":                              "the path is empty",
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
		"x.db?a;b":                               "cannot parse",
		"x.db?%zz":                               "cannot parse",
		"postgres:h/db":                          "postgres://",
		"postgres://u:hunter2@h/db?session=maybe":   "session",
		"postgres://u:hunter2@h/db?schema=":         "schema",
		"postgres://u:hunter2@h/db?migrate=x":       "migrate",
		"postgres://u:hun/hunter2@h/db":             "%2F",
		"postgres://u:12/hunter2@h/db":              "%2F",
		"postgres://u:12?hunter2@h/db":              "%3F",
		"postgres://u:a@b/hunter2@h/db":             "%40",
		"postgres://u:a@b?hunter2@h/db":             "%40",
		"u:hunter2@h/db":                            "postgres://",
		"my_app:hunter2@h/db":                       "postgres://",
		"'postgres://u:hunter2@h/db'":               "postgres://",
		"postgres ://u:hunter2@h/db":                "postgres://",
		"Server=h;Database=d;Password=hunter2":      "postgres://",
		"app db password = hunter2":                 "postgres://",
		"host=h user=u password='hunter2":           "single quotes",
		"host=h password=two words hunter2":         "single quotes",
		"host=h password=hunter2 session=maybe":     "session",
		"host=h password=hunter2 schema=''":         "schema",
		"host=h password=hunter2 schema=a schema=b": "schema",
		"dbname=postgres://u:hunter2@h/db":          "dbname looks like a URL",
		"user=u host= password=hunter2":             "host has no value",
		"schema=hunter2":                            "no database",
		"x.db?synchronous=hunter2":                  "full or normal",
	} {
		source, err := dsn.Parse(text)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v with %v, want an ErrInvalid that says %q and no password", text, source, err, words)
		}
	}
}

// TestTyposAreNotFiles: a connection string with a misspelt keyword is neither taken for a file nor
// for the address of another server, and its error helps and shows no password.
func TestTyposAreNotFiles(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"pasword=hunter2 host=127.0.0.1 port=45871 user=postgres": `no option "pasword"; did you mean password?`,
		"username=postgres hostname=127.0.0.1 pass=hunter2":       `no option "username"; did you mean user?`,
		"dbnam=app user=postgres host=127.0.0.1":                  `no option "dbnam"; did you mean dbname?`,
		"port=1 hots=127.0.0.1 user=u":                            `no option "hots"; did you mean host?`,
		"host=h pasword=hunter2":                                  `no option "pasword"; did you mean password?`,
		"host=h sslmod=hunter2":                                   `no option "sslmod"; did you mean sslmode?`,
		"HOST=h user=u":                                           `no option "HOST"; did you mean host?`,
		"pasword=hunter2":                                         `no option "pasword"; did you mean password?`,
		"Password=hunter2":                                        `no option "Password"; did you mean password?`,
		"pass=hunter2":                                            `no option "pass"; did you mean password?`,
		"hostname=hunter2":                                        `no option "hostname"; did you mean host?`,
		"one=hunter2 two=hunter2":                                 `no option "one"; set one of the server as options='-c NAME=VALUE'`,
		"pasword=hunter2?x host=h":                                `no option "pasword"`,
		"pasword='hunter2 host=h":                                 "single quotes",
		"my db host=hunter2":                                      "postgres://",
		"Server=h;Database=d;User=hunter2":                        "postgres://",
		"host=h hostaddr=1.2.3.4":                                 `"hostaddr" is an option of libpq that Holdfast cannot use`,
		"host=h gssencmode=disable":                               `"gssencmode" is an option of libpq that Holdfast cannot use`,
		"host=h password=two hunter2=1":                           "part of a password; put a value that contains a space in single quotes",
		"host=h password=two hots=1":                              "did you mean host?",
		"host=h user=u user=v":                                    "user: given more than once",
		"dbname=a database=b":                                     "dbname: given more than once",
		"schema= password=hunter2":                                "schema has no value",
		"postgres://h/db?hots=x":                                  `no option "hots"; did you mean host?`,
		"postgres://h/db?a=1&a=2":                                 `no option "a"`,
		"postgres://h/db?sslmode=x&sslmode=y":                     "sslmode: given more than once",
		"postgres://h/db?pasword=hunter2":                         `no option "pasword"; did you mean password?`,
		"postgres://h/db?sync=normal":                             `no option "sync"`,
		"postgres://h/db?synchronous=normal":                      `no option "synchronous"; it is one of SQLite`,
		"postgres://h/db?password=a&hunter2=b":                    "part of a password; percent-encode",
		"postgres://u@corp:1?hunter2&x=1@h/db":                    "part of a password; percent-encode",
	} {
		source, err := dsn.Parse(text)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v with %v, want an ErrInvalid that says %q and no password", text, source, err, words)
		}
	}
}

// TestParseChecksValues: errors that need no server are found before anything is opened.
func TestParseChecksValues(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"postgres://u:hunter2@h:port/db":                  "the port must be a number from 1 to 65535",
		"host=h port=hunter2":                             "the port must be a number from 1 to 65535",
		"host=a,b port=1,2,3":                             "as many ports as hosts",
		"postgres://h/db?sslmode=hunter2":                 "sslmode must be disable, allow, prefer, require, verify-ca or verify-full",
		"host=h sslmode=hunter2":                          "sslmode must be disable, allow",
		"postgres://u:hunter2%zz@h/db":                    "percent-encode",
		"host=h connect_timeout=hunter2":                  "connect_timeout must be a number of seconds",
		"host=h target_session_attrs=hunter2":             "target_session_attrs is invalid",
		"host=h pool_max_conns=hunter2":                   "pool_max_conns is invalid",
		"host=h pool_max_conns=0":                         "pool_max_conns is invalid",
		"host=h sslmode=verify-full sslrootcert=/hunter2": "the file of sslrootcert cannot be read: no such file",
		"host=h sslmode=require sslcert=/hunter2":         "sslcert and sslkey must be given together",
		"host=h service=hunter2":                          "the service is not in the service file",
		"host=h default_query_exec_mode=hunter2":          "default_query_exec_mode is invalid",
	} {
		source, err := dsn.Parse(text)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v with %v, want an ErrInvalid that says %q and no password", text, source, err, words)
		}
	}
}

// TestOpens: what was parsed can be opened.
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
