package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfastdev/holdfast/server/access"
)

var update = flag.Bool("update", false, "write the golden file")

func tools(t *testing.T, writes bool) (all []*mcp.Tool) {
	t.Helper()
	found, schemas, err := operations(writes)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found {
		all = append(all, o.tool(schemas))
	}
	return all
}

// TestTools: the tools are as they were, also in what they say.
func TestTools(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for _, tool := range tools(t, true) {
		line, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&text, line, "", " "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
	}
	path := filepath.Join("testdata", "tools.txt")
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("the tools have changed; if it is meant, run: go test ./internal/cli/mcp -run TestTools -update\n%s", diff)
	}
}

// TestToolsAreWhole: each has a name that clients take, says what it does, and refers to nothing
// that it does not have; without writes they only read.
func TestToolsAreWhole(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	defs := regexp.MustCompile(`"\$ref":"#/\$defs/([^"]+)"`)
	for _, writes := range []bool{false, true} {
		seen := map[string]bool{}
		for _, tool := range tools(t, writes) {
			if !name.MatchString(tool.Name) || seen[tool.Name] || tool.Title == "" || tool.Description == "" {
				t.Errorf("%q is no name, or is there twice, or the tool says nothing", tool.Name)
			}
			seen[tool.Name] = true
			if !writes && !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s changes something", tool.Name)
			}
			s, ok := tool.InputSchema.(schema)
			if !ok {
				t.Fatalf("%s has the schema %v", tool.Name, tool.InputSchema)
			}
			text, err := json.Marshal(s)
			if err != nil || strings.Contains(string(text), "#/components") {
				t.Errorf("%s: %v, %s", tool.Name, err, text)
			}
			for _, found := range defs.FindAllStringSubmatch(string(text), -1) {
				if len(s.Defs[found[1]]) < 3 {
					t.Errorf("%s refers to %s", tool.Name, found[1])
				}
			}
		}
		for name, want := range map[string]bool{
			"job-list": true, "job-why": true, "queue-list": true, "schedule-preview": true,
			"job-cancel": writes, "queue-pause": writes, "dead-purge": writes,
			"event-follow": false, "job-watch": false, "dead-export": false, "key-create": false, "key-list": false,
			"namespace-delete": false, "worker-poll": false, "run-complete": false,
		} {
			if seen[name] != want {
				t.Errorf("with writes %t there is %s: %t", writes, name, seen[name])
			}
		}
	}
}

// TestHints: what an assistant should ask a person about before.
func TestHints(t *testing.T) {
	t.Parallel()
	want := map[string][2]bool{ // destroys, idempotent
		"job-list": {false, true}, "job-enqueue": {false, false}, "job-terminate": {true, false}, "job-delete": {true, true},
		"queue-set": {true, false}, "limit-set": {true, true}, "queue-pause": {false, false}, "operation-start": {true, false},
	}
	for _, tool := range tools(t, true) {
		w, tested := want[tool.Name]
		delete(want, tool.Name)
		if a := tool.Annotations; tested && ([2]bool{*a.DestructiveHint, a.IdempotentHint} != w || *a.OpenWorldHint) {
			t.Errorf("%s: destroys %t, is idempotent %t", tool.Name, *a.DestructiveHint, a.IdempotentHint)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no tools %v", want)
	}
}

// TestScopes: on a database a tool sees no payloads and changes nothing unless flags say so, and
// never does what gives rights.
func TestScopes(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		for _, payloads := range []bool{false, true} {
			scopes := (&verb{writes: writes, payloads: payloads}).scopes()
			for scope, want := range map[access.Scope]bool{
				access.JobsRead: true, access.PayloadsRead: payloads, access.JobsWrite: writes, access.Exec: false, access.KeysAdmin: false,
				access.NamespacesAdmin: false, access.Store: false, access.Workers: false,
			} {
				if slices.Contains(scopes, scope) != want {
					t.Errorf("writes %t, payloads %t: %s is there: %t", writes, payloads, scope, !want)
				}
			}
		}
	}
}
