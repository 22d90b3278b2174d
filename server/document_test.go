package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestDocument: openapi.json is what the operations say of themselves, and each says enough.
func TestDocument(t *testing.T) {
	t.Parallel()
	got, err := server.Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi.json is not what the operations say: go test ./server -run TestDocument -update")
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string         `json:"operationId"` //nolint:tagliatelle // as OpenAPI writes it
			Summary     string         `json:"summary"`
			Tags        []string       `json:"tags"`
			Responses   map[string]any `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, operations := range doc.Paths {
		if !strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("%s is not under /api/v1", path)
		}
		for method, op := range operations {
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 || op.Responses["default"] == nil || seen[op.OperationID] {
				t.Errorf("%s %s says too little: %+v", method, path, op)
			}
			seen[op.OperationID] = true
		}
	}
	for _, ref := range strings.Split(string(got), `"$ref": "#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is not there", name)
		}
	}
}
