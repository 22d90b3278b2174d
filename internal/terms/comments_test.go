package terms_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plain are the packages whose comments are in plain English. The others follow.
var plain = []string{
	".", "holdfasttest", "store", "store/dsn", "why",
	"internal/builtin", "internal/cli", "internal/cli/app", "internal/cli/arg", "internal/cli/bench", "internal/cli/jobs",
	"internal/cli/nodes", "internal/cli/output", "internal/cli/shortlog", "internal/cli/views", "internal/commit", "internal/engine",
	"internal/explain", "internal/logs", "internal/news", "internal/pgtest", "internal/replay", "internal/supervise",
	"internal/usercode", "internal/vet", "store/postgres", "store/postgres/internal/local", "store/postgres/internal/operate",
	"store/postgres/internal/pg", "store/postgres/internal/read", "store/postgres/internal/schema", "store/postgres/internal/write",
	"store/sqlite", "store/sqlite/internal/core", "store/sqlite/internal/db", "store/sqlite/internal/tend", "store/sqlite/internal/view",
	"store/sqlite/internal/work",
	"store/storetest", "store/storetest/durable", "store/storetest/env", "store/storetest/family", "store/storetest/faults",
	"store/storetest/jobs", "store/storetest/machine", "store/storetest/model", "store/storetest/nodes", "store/storetest/operate",
	"store/storetest/race", "store/storetest/simulate", "store/storetest/starts", "store/storetest/tx",
}

// dialect are words about people where a comment means a caller, a transaction, a process or a run. A reader who searches for
// those does not find them.
var dialect = regexp.MustCompile(`(?i)\b(anew|he|his|nobody|somebody|whoever)\b`)

// TestCommentsArePlain checks the comments of programs, not those of tests.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	for _, dir := range plain {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files, %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for line, comment := range commentsOf(t, file) {
				if word := dialect.FindString(comment); word != "" {
					t.Errorf("%s:%d: %q: name the caller, the transaction, the process or the run", file, line, word)
				}
			}
		}
	}
	if dialect.FindString("// whoever waits") == "" || dialect.FindString("// the caller that waits") != "" {
		t.Error("the words are not recognized")
	}
}

// commentsOf returns the line comments of a file by their lines.
func commentsOf(t *testing.T, file string) map[int]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	comments := map[int]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if _, comment, ok := strings.Cut(lines.Text(), "//"); ok {
			comments[n] = comment
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return comments
}
