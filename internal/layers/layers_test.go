package layers_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	module   = "github.com/holdfastdev/holdfast"
	maxLines = 700
)

// layer says which packages of ours the packages of a pattern may import. A pattern is the path of
// a package below the module, or such a path with "/..." for the package and all under it; "." is
// the root package. The longest pattern that matches a package is its layer. Packages of one layer
// may import each other.
type layer struct {
	pattern string
	imports []string
	tests   []string // besides, in test files
}

// support is what the tests of everything above the stores may import.
var support = []string{
	"holdfasttest/...", "internal/crashtest/process", "internal/pgtest/...", "internal/saidonce", "internal/sqlitetest",
	"store/...", "why",
}

// ofVerbs is what the verbs of the command line are made of.
var ofVerbs = []string{"internal/cli/app", "internal/cli/arg", "internal/cli/output", "internal/cli/views"}

// words are what the stories of the conformance suite are told with.
var words = []string{"store", "store/storetest/env", "store/storetest/faults"}

// onPostgres are what the verbs of store/postgres stand on.
var onPostgres = []string{"store", "store/postgres/internal/keys", "store/postgres/internal/local", "store/postgres/internal/pg"}

// onSQLite is what the verbs of the SQLite store stand on.
var onSQLite = []string{"store", "store/sqlite/internal/core", "store/sqlite/internal/db"}

var layers = []layer{
	{pattern: "store"},
	{pattern: "internal/gcra", imports: []string{"store"}},
	{pattern: "internal/backlog", imports: []string{"store"}},
	{pattern: "store/internal/sqltext", imports: []string{"store"}},
	{pattern: "store/internal/optiontext", imports: []string{"store"}},
	{pattern: "store/internal/lists", imports: []string{"store"}},
	{pattern: "store/internal/edits", imports: []string{"store"}},
	{pattern: "store/internal/gates", imports: []string{"store"}},
	{
		pattern: "store/storetest/model",
		imports: []string{"internal/gcra", "store", "store/internal/edits", "store/internal/lists", "store/storetest/turns"},
		tests:   []string{"store/storetest"},
	},
	{pattern: "store/storetest/faults", imports: []string{"store"}, tests: []string{"store/storetest", "store/storetest/model"}},
	{pattern: "store/storetest/env", imports: []string{"store"}},
	{pattern: "store/storetest/copies", imports: words},
	{pattern: "store/storetest/batches", imports: words},
	{pattern: "store/storetest/depend", imports: words},
	{pattern: "store/storetest/durable", imports: words},
	{pattern: "store/storetest/family", imports: words},
	{pattern: "store/storetest/jobs", imports: words},
	{pattern: "store/storetest/joblogs", imports: words},
	{pattern: "store/storetest/keys", imports: words},
	{pattern: "store/storetest/crowd", imports: words},
	{pattern: "store/storetest/lists", imports: slices.Concat(words, []string{"store/storetest/crowd"})},
	{pattern: "store/storetest/nodes", imports: words},
	{pattern: "store/storetest/operate", imports: words},
	{pattern: "store/storetest/outside", imports: words},
	{pattern: "store/storetest/fair", imports: words},
	{pattern: "store/storetest/turns", imports: []string{"store"}},
	{pattern: "store/storetest/schedules", imports: words},
	{
		pattern: "store/storetest/gates", imports: slices.Concat(words, []string{"store/storetest/crowd"}),
	},
	{
		pattern: "store/storetest/limits", imports: slices.Concat(words, []string{"internal/gcra", "store/storetest/crowd"}),
		tests: []string{"store/storetest/model"},
	},
	{pattern: "store/storetest/race", imports: slices.Concat(words, []string{"store/storetest/crowd"})},
	{pattern: "store/storetest/starts", imports: words},
	{pattern: "store/storetest/tx", imports: words},
	{pattern: "store/storetest/updates", imports: words},
	{pattern: "store/storetest/machine", imports: slices.Concat(words, []string{"store/storetest/model"})},
	{pattern: "store/storetest", imports: []string{"store", "store/storetest/..."}},
	{pattern: "store/storetest/simulate", imports: []string{"store", "store/storetest/..."}, tests: []string{"store/sqlite"}},
	{pattern: "store/storetest/simulate/play", imports: []string{"store/storetest/faults"}},
	{
		pattern: "store/storetest/simulate/rules",
		imports: []string{"internal/slots", "store", "store/storetest/faults", "store/storetest/simulate/play"},
		tests:   []string{"store/sqlite", "store/storetest/model"},
	},
	{pattern: "store/sqlite/internal/db", imports: []string{"store", "store/internal/sqltext"}},
	{pattern: "store/sqlite/internal/core", imports: []string{"store", "internal/gcra", "store/internal/...", "store/sqlite/internal/db"}},
	{
		pattern: "store/sqlite/internal/move",
		imports: slices.Concat(onSQLite, []string{
			"store/sqlite/internal/batches", "store/sqlite/internal/edges", "store/sqlite/internal/generations",
			"store/sqlite/internal/joblog", "store/sqlite/internal/limits", "store/sqlite/internal/schedules",
			"store/sqlite/internal/work",
		}),
	},
	{pattern: "store/sqlite/internal/keys", imports: onSQLite},
	{pattern: "store/sqlite/internal/updates", imports: onSQLite},
	{pattern: "store/sqlite/internal/joblog", imports: onSQLite},
	{pattern: "store/sqlite/internal/schedules", imports: onSQLite},
	{pattern: "store/sqlite/internal/limits", imports: slices.Concat(onSQLite, []string{"internal/gcra"})},
	{pattern: "store/sqlite/internal/batches", imports: onSQLite},
	{pattern: "store/sqlite/internal/edges", imports: onSQLite},
	{pattern: "store/sqlite/internal/generations", imports: onSQLite},
	{pattern: "store/sqlite/internal/choosing", imports: []string{"store", "store/sqlite/internal/core", "store/sqlite/internal/db"}},
	{pattern: "store/sqlite/internal/gating", imports: slices.Concat(onSQLite, []string{"internal/gcra", "store/internal/gates"})},
	{
		pattern: "store/sqlite/internal/work",
		imports: slices.Concat(onSQLite, []string{
			"store/sqlite/internal/batches", "store/sqlite/internal/choosing", "store/sqlite/internal/edges", "store/sqlite/internal/gating",
			"store/sqlite/internal/generations", "store/sqlite/internal/keys", "store/sqlite/internal/schedules",
			"store/sqlite/internal/updates",
		}),
	},
	{
		pattern: "store/sqlite/internal/tend",
		imports: slices.Concat(onSQLite, []string{
			"store/internal/edits", "store/sqlite/internal/batches", "store/sqlite/internal/edges", "store/sqlite/internal/generations",
			"store/sqlite/internal/keys", "store/sqlite/internal/limits",
			"store/sqlite/internal/updates", "store/sqlite/internal/work",
		}),
	},
	{
		pattern: "store/sqlite/internal/view",
		imports: slices.Concat(onSQLite, []string{
			"store/internal/lists", "store/sqlite/internal/edges", "store/sqlite/internal/generations", "store/sqlite/internal/keys",
			"store/sqlite/internal/work",
		}),
	},
	{
		pattern: "store/sqlite/...",
		imports: []string{"store", "store/internal/sqltext", "store/sqlite/internal/..."},
		tests:   []string{"internal/crashtest/process", "internal/sqlitetest", "store/storetest/..."},
	},
	{pattern: "store/postgres/internal/pg", imports: []string{"store", "store/internal/..."}},
	{pattern: "store/postgres/internal/schema", imports: []string{"store", "store/internal/sqltext", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/local", imports: []string{"store", "store/postgres/internal/pg"}},
	{
		pattern: "store/postgres/internal/move",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/batches", "store/postgres/internal/limits", "store/postgres/internal/schedules",
		}),
	},
	{pattern: "store/postgres/internal/keys", imports: []string{"store", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/read", imports: slices.Concat(onPostgres, []string{"store/internal/lists"})},
	{pattern: "store/postgres/internal/gating", imports: []string{"store", "store/postgres/internal/local", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/claims", imports: slices.Concat(onPostgres, []string{"internal/gcra", "store/internal/gates"})},
	{pattern: "store/postgres/internal/updates", imports: onPostgres},
	{pattern: "store/postgres/internal/joblog", imports: onPostgres},
	{pattern: "store/postgres/internal/schedules", imports: onPostgres},
	{pattern: "store/postgres/internal/limits", imports: slices.Concat(onPostgres, []string{"internal/gcra"})},
	{pattern: "store/postgres/internal/batches", imports: onPostgres},
	{pattern: "store/postgres/internal/edges", imports: onPostgres},
	{pattern: "store/postgres/internal/locks", imports: onPostgres},
	{
		pattern: "store/postgres/internal/write",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/batches", "store/postgres/internal/claims", "store/postgres/internal/edges", "store/postgres/internal/gating",
			"store/postgres/internal/locks", "store/postgres/internal/schedules",
			"store/postgres/internal/updates",
		}),
	},
	{
		pattern: "store/postgres/internal/operate",
		imports: slices.Concat(onPostgres, []string{
			"store/internal/edits", "store/postgres/internal/batches", "store/postgres/internal/edges", "store/postgres/internal/joblog",
			"store/postgres/internal/limits", "store/postgres/internal/locks", "store/postgres/internal/read", "store/postgres/internal/schema",
			"store/postgres/internal/updates", "store/postgres/internal/write",
		}),
	},
	{
		pattern: "store/postgres",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/batches", "store/postgres/internal/claims", "store/postgres/internal/joblog",
			"store/postgres/internal/limits", "store/postgres/internal/move",
			"store/postgres/internal/operate", "store/postgres/internal/read", "store/postgres/internal/schedules",
			"store/postgres/internal/schema", "store/postgres/internal/updates",
			"store/postgres/internal/write",
		}),
		tests: []string{"internal/crashtest/process", "internal/pgtest/...", "store/internal/gates", "store/storetest/..."},
	},
	{pattern: "store/dsn", imports: []string{"store", "store/postgres", "store/sqlite"}, tests: support},

	{pattern: "internal/layers"},
	{pattern: "internal/terms"},
	{pattern: "internal/vet/..."},
	{pattern: "internal/pgtest/..."},
	{pattern: "internal/sqlitetest", imports: []string{"store/sqlite"}},
	{pattern: "internal/crashtest/process"},
	{pattern: "internal/saidonce"},
	{pattern: "internal/crashtest", tests: slices.Concat(support, []string{".", "batch", "joblog"})},
	{pattern: "internal/faulttest", tests: slices.Concat(support, []string{".", "hooks", "limit", "schedule"})},

	{pattern: "hooks", imports: []string{"store"}, tests: slices.Concat(support, []string{"."})},
	{
		pattern: "internal/hookqueue",
		imports: []string{"hooks", "internal/logs", "internal/usercode", "store"},
		tests:   []string{"store/storetest/model"},
	},
	{pattern: "internal/valid", imports: []string{"store"}},
	{pattern: "internal/heartbeat"},
	{pattern: "internal/unsaid", imports: []string{"store"}},
	{pattern: "internal/turns"},
	{pattern: "internal/stopwatch"},
	{pattern: "internal/around", imports: []string{"internal/usercode", "store"}},
	{pattern: "internal/usercode", imports: []string{"store"}},
	{pattern: "internal/logs", imports: []string{"store"}, tests: []string{"internal/logs/logstest"}},
	{pattern: "internal/logs/logstest", imports: []string{"store"}},
	{pattern: "why", imports: []string{"store"}},
	{pattern: "internal/explain", imports: []string{"store", "why"}},
	{pattern: "internal/copier", imports: []string{"store"}, tests: slices.Concat(support, []string{"."})},
	{pattern: "internal/portion", imports: []string{"store"}},
	{pattern: "internal/supervise", imports: []string{"internal/logs", "store"}},
	{pattern: "internal/news", imports: []string{"internal/logs", "internal/supervise", "store"}},
	{
		pattern: "internal/commit",
		imports: []string{"internal/logs", "internal/portion", "internal/supervise", "store"},
		tests:   []string{"store/storetest/..."},
	},
	{pattern: "internal/pulse", imports: []string{"store"}},
	{pattern: "internal/slots", imports: []string{"internal/supervise", "store"}, tests: []string{"internal/gcra"}},
	{
		pattern: "internal/grants", imports: []string{"internal/logs", "internal/slots", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{
		pattern: "internal/tuning", imports: []string{"internal/logs", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{pattern: "internal/batching", imports: []string{"store"}},
	{pattern: "internal/gather", imports: []string{"store"}},
	{pattern: "internal/journal", imports: []string{"internal/usercode", "store"}},
	{pattern: "internal/blocked", imports: []string{"store"}},
	{pattern: "internal/crowd"},
	{pattern: "internal/cron"},
	{pattern: "internal/declared"},
	{pattern: "internal/keyhash"},
	{pattern: "internal/firing", imports: []string{"internal/cron", "internal/keyhash", "store"}},
	{
		pattern: "internal/scheduler", imports: []string{"internal/firing", "internal/logs", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{pattern: "internal/memory", imports: []string{"internal/journal", "store"}},
	{pattern: "internal/await", imports: []string{"internal/blocked", "internal/journal", "internal/memory", "internal/usercode", "store"}},
	{pattern: "internal/outcome", imports: []string{"internal/blocked", "internal/usercode", "store"}},
	{pattern: "internal/lifetime"},
	{pattern: "internal/misuse", imports: []string{"store"}},
	{pattern: "internal/host", imports: []string{"store"}},
	{pattern: "internal/tries", imports: []string{"internal/heartbeat", "internal/journal", "internal/usercode", "store"}},
	{
		pattern: "internal/replay",
		imports: []string{
			"internal/await", "internal/blocked", "internal/crowd", "internal/heartbeat", "internal/host", "internal/journal",
			"internal/lifetime", "internal/logs", "internal/memory", "internal/misuse", "internal/outcome", "internal/supervise",
			"internal/stopwatch", "internal/tries", "internal/unsaid", "internal/usercode", "store",
		},
		tests: []string{"internal/logs/logstest"},
	},
	{
		pattern: "internal/loader",
		imports: []string{"internal/commit", "internal/logs", "internal/portion", "internal/supervise", "store"},
		tests:   []string{"internal/logs/logstest", "store/..."},
	},
	{pattern: "internal/runlog", imports: []string{"internal/commit", "internal/logs", "internal/supervise", "store"}},
	{
		pattern: "internal/engine/...",
		imports: []string{
			"hooks", "internal/batching", "internal/commit", "internal/grants", "internal/hookqueue",
			"internal/loader", "internal/logs", "internal/news", "internal/outcome", "internal/portion",
			"internal/pulse", "internal/replay", "internal/runlog", "internal/scheduler", "internal/slots", "internal/stopwatch",
			"internal/supervise", "internal/tuning", "internal/turns", "internal/usercode", "store",
		},
		tests: []string{"internal/await", "internal/journal", "internal/lifetime", "internal/logs/logstest", "store/..."},
	},

	{pattern: "internal/again", imports: []string{"internal/engine", "internal/journal", "store"}},
	{pattern: "internal/ask", imports: []string{"internal/engine", "store"}},
	{pattern: "internal/access", imports: []string{"internal/engine", "internal/runlog", "store"}},
	{
		pattern: ".",
		imports: []string{
			"hooks", "internal/access", "internal/again", "internal/around", "internal/ask", "internal/await", "internal/engine/...",
			"internal/explain", "internal/journal", "internal/keyhash", "internal/replay", "internal/runlog",
			"internal/usercode", "internal/valid", "store", "why",
		},
		tests: support,
	},
	{
		pattern: "holdfasttest/...",
		imports: []string{
			".", "internal/access", "internal/engine", "internal/journal", "internal/replay", "store", "store/storetest/model",
		},
		tests: support,
	},
	{pattern: "health", imports: []string{"."}, tests: support},
	{pattern: "joblog", imports: []string{".", "internal/access", "internal/runlog", "store"}, tests: support},
	{pattern: "after", imports: []string{".", "internal/access", "store"}, tests: support},
	{pattern: "fair", imports: []string{".", "internal/access"}, tests: support},
	{pattern: "batch", imports: []string{".", "internal/access", "internal/valid", "store"}, tests: slices.Concat(support, []string{"after"})},
	{
		pattern: "schedule",
		imports: []string{
			".", "internal/access", "internal/cron", "internal/declared", "internal/engine", "internal/firing", "internal/valid", "store",
		},
		tests: support,
	},
	{
		pattern: "limit",
		imports: []string{
			".", "internal/access", "internal/backlog", "internal/declared", "internal/engine", "internal/gcra", "internal/usercode",
			"internal/valid", "store",
		},
		tests: support,
	},
	{
		pattern: "many",
		imports: []string{".", "internal/access", "internal/gather", "internal/usercode", "store"},
		tests:   support,
	},
	{
		pattern: "internal/builtin/...",
		imports: []string{"."},
		tests:   slices.Concat(support, []string{"internal/engine/...", "internal/usercode"}),
	},

	{pattern: "internal/cli/output"},
	{pattern: "internal/cli/arg", imports: []string{".", "internal/cli/output", "store"}},
	{pattern: "internal/cli/shortlog", imports: []string{"internal/cli/output"}, tests: []string{"."}},
	{pattern: "internal/cli/views", imports: []string{".", "internal/cli/output", "joblog", "limit", "schedule", "store", "why"}},
	{
		pattern: "internal/cli/app",
		imports: []string{".", "internal/cli/arg", "internal/cli/output", "internal/cli/shortlog", "store", "store/dsn"},
	},
	{
		pattern: "internal/cli/jobs",
		imports: append([]string{".", "after", "batch", "fair", "internal/builtin", "internal/cli/joblogs", "limit", "store", "why"}, ofVerbs...),
		tests:   support,
	},
	{
		pattern: "internal/cli/nodes",
		imports: append([]string{".", "internal/builtin", "store", "store/dsn"}, ofVerbs...),
		tests:   support,
	},
	{pattern: "internal/cli/joblogs", imports: append([]string{".", "joblog"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/queues", imports: append([]string{".", "after", "limit", "store"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli/schedules",
		imports: append([]string{".", "internal/builtin", "schedule", "store"}, ofVerbs...),
		tests:   support,
	},
	{pattern: "internal/cli/batches", imports: append([]string{".", "batch", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/limits", imports: append([]string{".", "limit", "store"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli/databases",
		imports: append([]string{".", "internal/copier", "store", "store/dsn"}, ofVerbs...),
		tests:   support,
	},
	{pattern: "internal/cli/bench", imports: append([]string{".", "store/dsn"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli",
		imports: []string{".", "internal/cli/...", "internal/vet", "store", "store/dsn"},
		tests:   slices.Concat(support, []string{"after", "limit", "schedule"}),
	},
	{pattern: "cmd/...", imports: []string{"internal/cli"}, tests: support},
	{
		pattern: "examples/...",
		imports: []string{".", "holdfasttest/...", "store", "store/dsn", "store/postgres", "store/sqlite", "why"},
		tests:   support,
	},
}

// restriction says who may import something that is not ours. Test files may import all of it.
type restriction struct {
	prefix string // the path of a package, for it and all under it
	only   []string
	why    string
}

var restrictions = []restriction{
	{"database/sql", []string{"store/sqlite/...", "store/postgres/...", "examples/..."}, "only a store sees SQL"},
	{
		"github.com/jackc",
		[]string{"examples/...", "internal/pgtest/...", "store/postgres/..."},
		"a program links only the databases that it names",
	},
	{"github.com/lib/pq", nil, "PostgreSQL is spoken through pgx"},
	{"github.com/mattn/go-sqlite3", nil, "it needs cgo"},
	{"golang.org/x/tools", []string{"internal/vet/..."}, "only holdfast vet looks at source"},
	{"modernc.org", []string{"examples/...", "store/sqlite/..."}, "a program links only the databases that it names"},
	{"zombiezen.com", []string{"store/sqlite/internal/db"}, "one package speaks to SQLite"},

	{
		"testing",
		[]string{"holdfasttest/...", "internal/logs/logstest", "internal/pgtest/...", "internal/sqlitetest", "store/storetest/..."},
		"it belongs to tests",
	},
	{"github.com/google/go-cmp", []string{"store/storetest/..."}, "it belongs to tests"},
	{"go.uber.org/goleak", []string{"store/storetest/..."}, "it belongs to tests"},
	{"pgregory.net/rapid", []string{"store/storetest/..."}, "it belongs to tests"},
}

// TestImports checks every Go file of this module, whatever its build constraints.
func TestImports(t *testing.T) {
	t.Parallel()

	tree := os.DirFS("../..")
	gomod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(gomod, []byte("module "+module+"\n")) {
		t.Fatalf("go.mod is not that of %s", module)
	}
	found, err := violations(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
}

// TestFileLength checks the Go files of nested modules too.
func TestFileLength(t *testing.T) {
	t.Parallel()

	var long []string
	tree := os.DirFS("../..")
	err := walk(tree, true, func(file string) error {
		source, err := fs.ReadFile(tree, file)
		if n := bytes.Count(source, []byte("\n")); n > maxLines {
			long = append(long, fmt.Sprintf("%s: %d", file, n))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(long) > 0 {
		t.Errorf("a file is one concept and at most %d lines; split these:\n\t%s", maxLines, strings.Join(long, "\n\t"))
	}
}

// TestViolations shows that the tables bite.
func TestViolations(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		file, imports string
		bad           bool
	}{
		{"store/store.go", "time", false},
		{"store/store.go", module + "/store/sqlite", true},
		{"store/store_test.go", module + "/store/sqlite", true},
		{"store/store.go", module, true},
		{"store/sqlite/open.go", module + "/store", false},
		{"store/sqlite/internal/wal/wal.go", module + "/store", false},
		{"store/sqlite/open.go", module + "/store/sqlite/internal/wal", false},
		{"store/sqlite/open.go", module + "/store/postgres", true},
		{"store/sqlite/open.go", module + "/store/sqlite/internal/view", false},
		{"store/sqlite/internal/work/claim.go", module + "/store/sqlite/internal/core", false},
		{"store/sqlite/internal/core/write.go", module + "/store/sqlite/internal/work", true},
		{"store/sqlite/internal/view/list.go", module + "/store/sqlite/internal/tend", true},
		{"store/sqlite/internal/work/claim.go", "zombiezen.com/go/sqlite", true},
		{"store/sqlite/internal/db/conn.go", "zombiezen.com/go/sqlite", false},
		{"store/sqlite/open.go", module + "/store/storetest", true},
		{"store/sqlite/open_test.go", module + "/store/storetest", false},
		{"store/postgres/open.go", module + "/internal/engine", true},
		{"store/postgres/open.go", "github.com/jackc/pgx/v5/pgxpool", false},
		{"store/postgres/open.go", "pgregory.net/rapid", true},
		{"store/storetest/run.go", "pgregory.net/rapid", false},
		{"store/storetest/run.go", module + "/internal/engine", true},
		{"store/mysql/open.go", "time", true}, // not in the table
		{"internal/engine/committer.go", module, true},
		{"internal/engine/committer.go", module + "/store/sqlite", true},
		{"internal/engine/committer_test.go", module + "/store/sqlite", false},
		{"internal/engine/committer.go", "database/sql", true},
		{"internal/engine/committer.go", "testing/synctest", true},
		{"client.go", module + "/internal/engine", false},
		{"client.go", module + "/store", false},
		{"client.go", module + "/store/sqlite", true},
		{"client.go", module + "/internal/cli", true},
		{"client.go", "github.com/jackc/pgx/v5", true},
		{"client.go", "modernc.org/sqlite", true},
		{"client_linux.go", "modernc.org/sqlite", true},
		{"example_test.go", module + "/store/sqlite", false},
		{"example_test.go", module + "/internal/cli", true},
		{"cmd/holdfast/main.go", module + "/internal/cli", false},
		{"cmd/holdfast/main.go", module + "/store/sqlite", true},
		{"internal/cli/root.go", module + "/store/dsn", false},
		{"internal/cli/root.go", module + "/internal/engine", true},
		{"internal/cli/vet.go", module + "/internal/vet", false},
		{"internal/cli/vet.go", "golang.org/x/tools/go/packages", true},
		{"internal/vet/load.go", "golang.org/x/tools/go/packages", false},
		{"internal/vet/load.go", module, true},
		{"client.go", module + "/internal/vet", true},
		{"internal/builtin/http.go", module + "/internal/engine", true},
		{"internal/builtin/http_test.go", module + "/internal/engine", false},
		{"cmd/holdfast/main.go", module + "/internal/engine", true},
		{"store/testdata/x.go", module, false}, // not part of the build
	} {
		source := fmt.Sprintf("//go:build plan9\n\npackage p\n\nimport %q\n", test.imports)
		found, err := violations(fstest.MapFS{test.file: {Data: []byte(source)}})
		if err != nil {
			t.Fatal(err)
		}
		if bad := len(found) > 0; bad != test.bad {
			t.Errorf("%s imports %s: refused %t, want %t: %q", test.file, test.imports, bad, test.bad, found)
		}
	}
}

// TestTable finds patterns that match no package of this module.
func TestTable(t *testing.T) {
	t.Parallel()

	there, err := packagesOf(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range strangers(layers, restrictions, there) {
		t.Error(mistake)
	}
}

// TestTableBites shows that a pattern without a package is found wherever it stands.
func TestTableBites(t *testing.T) {
	t.Parallel()

	there, err := packagesOf(fstest.MapFS{
		"a.go": {}, "store/store.go": {}, "store/sqlite/open.go": {}, "web/index.html": {}, "bench/go.mod": {}, "bench/a.go": {},
	})
	if want := []string{".", "store", "store/sqlite"}; err != nil || !slices.Equal(there, want) {
		t.Errorf("the packages are %q, want %q: %v", there, want, err)
	}
	good := []layer{{pattern: "."}, {pattern: "store", imports: []string{"."}}, {pattern: "store/...", tests: []string{"store/sqlite/..."}}}
	if found := strangers(good, []restriction{{only: []string{"store/..."}}}, there); len(found) > 0 {
		t.Errorf("patterns with packages are refused: %q", found)
	}
	bad := []layer{{pattern: "web/..."}, {pattern: "store", imports: []string{"sqlite"}, tests: []string{"store/sql"}}}
	if found := strangers(bad, []restriction{{only: []string{"bench/..."}}}, there); len(found) != 4 {
		t.Errorf("of 4 patterns without a package these are refused: %q", found)
	}
}

// strangers returns a sentence for each pattern of the tables that matches none of the packages.
func strangers(layers []layer, restrictions []restriction, there []string) (found []string) {
	check := func(where string, patterns ...string) {
		for _, pattern := range patterns {
			if !slices.ContainsFunc(there, func(pkg string) bool { return matches(pattern, pkg) }) {
				found = append(found, where+" "+pattern+", which matches no package")
			}
		}
	}
	for _, l := range layers {
		check("the table has the layer", l.pattern)
		check("layer "+l.pattern+" may import", l.imports...)
		check("the tests of layer "+l.pattern+" may import", l.tests...)
	}
	for _, r := range restrictions {
		check(r.prefix+" is reserved to", r.only...)
	}
	return found
}

// packagesOf lists the packages of a module.
func packagesOf(tree fs.FS) (packages []string, err error) {
	err = walk(tree, false, func(file string) error {
		packages = append(packages, path.Dir(file))
		return nil
	})
	slices.Sort(packages)
	return slices.Compact(packages), err
}

// violations returns a sentence for each import of the module's files that the tables do not allow.
func violations(tree fs.FS) ([]string, error) {
	var found []string
	err := walk(tree, false, func(file string) error {
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from, ok := layerOf(path.Dir(file))
		if !ok {
			found = append(found, file+": its package belongs to no layer; give it one in internal/layers/layers_test.go")
			return nil
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := refuse(from, imported, strings.HasSuffix(file, "_test.go")); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", file, imported, why))
			}
		}
		return nil
	})
	return found, err
}

// refuse says why a layer may not import a package, or "" if it may.
func refuse(from layer, imported string, test bool) string {
	if pkg, ours := ownPackage(imported); ours {
		if to, ok := layerOf(pkg); ok && to.pattern == from.pattern {
			return ""
		}
		if matchesAny(from.imports, pkg) || test && matchesAny(from.tests, pkg) {
			return ""
		}
		return fmt.Sprintf("layer %s may import only %q, and in tests %q", from.pattern, from.imports, from.tests)
	}
	for _, r := range restrictions {
		if !test && hasPathPrefix(imported, r.prefix) && !matchesAny(r.only, strings.TrimSuffix(from.pattern, "/...")) {
			return r.why
		}
	}
	return ""
}

func ownPackage(imported string) (pkg string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func layerOf(pkg string) (layer, bool) {
	var best layer
	for _, l := range layers {
		if matches(l.pattern, pkg) && len(l.pattern) > len(best.pattern) {
			best = l
		}
	}
	return best, best.pattern != ""
}

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return hasPathPrefix(pkg, prefix)
	}
	return pkg == pattern
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, pkg) })
}

func hasPathPrefix(pkg, prefix string) bool {
	return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
}

// walk calls visit for each Go file that the go command could build, in this module and, if asked,
// in nested ones.
func walk(tree fs.FS, nested bool, visit func(file string) error) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			if path.Ext(name) == ".go" {
				return visit(name)
			}
			return nil
		}
		if name == "." {
			return nil
		}
		base := path.Base(name)
		if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "vendor" || base == "node_modules" {
			return fs.SkipDir
		}
		if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && !nested {
			return fs.SkipDir
		}
		return nil
	})
}
