package views

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// AuditEntry is something that a person did.
type AuditEntry struct {
	ID        string      `json:"id"`
	At        Timestamp   `json:"at"`
	Actor     Text        `json:"actor"`
	Action    string      `json:"action"`
	Namespace Text        `json:"namespace"` // null: of the whole database
	Target    AuditTarget `json:"target"`
	Detail    Text        `json:"detail"`
	// Before and After are what was set; null: there was none, or it is not recorded.
	Before map[string]any `json:"before" nullable:"true"`
	After  map[string]any `json:"after" nullable:"true"`
}

// AuditTarget is what it was done to.
type AuditTarget struct {
	Kind Text `json:"kind"`
	Name Text `json:"name"`
}

// NewAuditEntry returns the view of an entry.
func NewAuditEntry(e *store.AuditEntry) AuditEntry {
	return AuditEntry{
		ID: strconv.FormatInt(e.Seq, 10), At: Timestamp(e.At), Actor: Text(e.Actor), Action: e.Action, Namespace: Text(e.Namespace),
		Target: AuditTarget{Kind: Text(e.Target.Kind), Name: Text(e.Target.Name)}, Detail: Text(e.Detail),
		Before: objectOf(e.Before), After: objectOf(e.After),
	}
}

// Identity is that of the entry.
func (v AuditEntry) Identity() (kind, id string) { return "entry", v.ID }

// AuditHeader is the header of a table of entries.
var AuditHeader = []string{"AT", "ACTOR", "ACTION", "TARGET", "NAMESPACE", "CHANGE"}

// AuditRow formats an entry for a table.
func AuditRow(now time.Time, e *store.AuditEntry) []string {
	target := strings.TrimSpace(e.Target.Kind + " " + output.Clip(e.Target.Name, output.MaxName))
	change := changeOf(e.Before, e.After)
	if change == "" || e.Detail != "" && (e.Job != (store.ID{}) || e.Target.Kind == store.AuditLimit) {
		change = strings.TrimSpace(strings.Join([]string{e.Detail, change}, " "))
	}
	return []string{
		output.Ago(now, e.At), output.Clip(e.Actor, 2*output.MaxName), e.Action, target, output.Clip(e.Namespace, output.MaxName),
		output.Clip(change, 120),
	}
}

// changeOf says in one line what is another than it was.
func changeOf(before, after string) string {
	was, is := objectOf(before), objectOf(after)
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(merged(was, is))) {
		from, to := plainOf(was[name]), plainOf(is[name])
		switch {
		case from == to || before != "" && from == "" && to == "":
		case before == "" || from == "":
			changes = append(changes, name+": "+to)
		case after == "" || to == "":
			changes = append(changes, name+": "+from+" →")
		default:
			changes = append(changes, name+": "+from+" → "+to)
		}
	}
	return strings.Join(changes, ", ")
}

// objectOf is what an entry has; nil: nothing.
func objectOf(text string) (of map[string]any) {
	if text == "" {
		return nil
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	if in.Decode(&of) != nil {
		return nil // stores write objects
	}
	return of
}

func merged(a, b map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// plainOf is a value as a person writes it; "" is none.
func plainOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	}
}
