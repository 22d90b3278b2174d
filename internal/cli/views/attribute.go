package views

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Attribute is a search attribute that a namespace has declared.
type Attribute struct {
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	DeclaredAt Timestamp `json:"declared_at"`
	Leaving    bool      `json:"leaving"`
}

// NewAttribute returns the view of an attribute.
func NewAttribute(namespace string, a *store.DeclaredAttribute) Attribute {
	return Attribute{Namespace: namespace, Name: a.Name, Type: a.Type.String(), DeclaredAt: Timestamp(a.DeclaredAt), Leaving: a.Leaving}
}

// AttributeHeader is the header of a table of search attributes.
var AttributeHeader = []string{"NAME", "TYPE", "DECLARED"}

// AttributeRow formats an attribute for a table.
func AttributeRow(now time.Time, a *store.DeclaredAttribute) []string {
	declared := output.Ago(now, a.DeclaredAt)
	if a.Leaving {
		declared += ", being deleted"
	}
	return []string{output.Clip(a.Name, output.MaxName), a.Type.String(), declared}
}

// DeletedAttribute is an attribute that was deleted.
type DeletedAttribute struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Deleted   bool   `json:"deleted"`
}

// attributeValues are the search attributes of a job as a JSON object, with their types.
func attributeValues(list []store.Attribute) json.RawMessage {
	doc, err := json.Marshal(store.AttributeValues(list))
	if err != nil {
		return json.RawMessage("{}") // a store has no value that cannot be written
	}
	return doc
}

// attributeText is them for people.
func attributeText(list []store.Attribute) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.Name + "=" + a.Value.String()
	}
	return strings.Join(texts, ", ")
}
