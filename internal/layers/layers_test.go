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
		{"client.go", "go.opentelemetry.io/otel/trace", true},
		{"client.go", module + "/telemetry", true},
		{"internal/engine/engine.go", "go.opentelemetry.io/otel/metric", true},
		{"telemetry/trace.go", "go.opentelemetry.io/otel/trace", false},
		{"telemetry/trace.go", "go.opentelemetry.io/otel/sdk/trace", true},
		{"telemetry/trace.go", "github.com/prometheus/client_golang/prometheus", true},
		{"internal/cli/listen/listen.go", "go.opentelemetry.io/otel/sdk/metric", false},
		{"internal/cli/nodes/serve.go", "github.com/prometheus/client_golang/prometheus/promhttp", true},
		{"example_test.go", module + "/store/sqlite", false},
		{"example_test.go", module + "/internal/cli", true},
		{"cmd/holdfast/main.go", module + "/internal/cli", false},
		{"cmd/holdfast/main.go", module + "/store/sqlite", true},
		{"internal/cli/root.go", module + "/store/dsn", false},
		{"internal/cli/root.go", module + "/internal/engine", true},
		{"internal/cli/vet.go", module + "/internal/vet", true},
		{"internal/cli/vet.go", module + "/internal/vet/program", true},
		{"cmd/holdfast/main.go", module + "/internal/vet/program", true},
		{"cmd/holdfast-vet/main.go", module + "/internal/vet/program", false},
		{"cmd/holdfast-vet/main.go", module + "/internal/cli", true},
		{"internal/cli/vet.go", "golang.org/x/tools/go/packages", true},
		{"internal/vet/load.go", "golang.org/x/tools/go/packages", false},
		{"internal/vet/load.go", module, true},
		{"client.go", module + "/internal/vet", true},
		{"client.go", module + "/internal/expr", true},
		{"client.go", "cel.dev/cel-go/cel", true},
		{"internal/expr/expr.go", "cel.dev/cel-go/cel", false},
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
		if matchesAny(from.imports, pkg) || test && (slices.Contains(anywhere, pkg) || matchesAny(from.tests, pkg)) {
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
