package views

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// Descriptor is what code tells of a queue or a kind.
type Descriptor struct {
	Owner       Text            `json:"owner"`
	Link        Text            `json:"link"`
	Description Text            `json:"description"`
	Deprecated  Text            `json:"deprecated"`
	Args        schema          `json:"args"`
	Result      schema          `json:"result"`
	Example     json.RawMessage `json:"example"`
	Signals     []string        `json:"signals"`
	Updates     []string        `json:"updates"`
	At          Timestamp       `json:"at"`
	Build       *Build          `json:"build"`
}

// schema is a JSON Schema, which has names of fields and no values: nothing in it is hidden.
type schema string

// MarshalJSON returns it as it is.
func (s schema) MarshalJSON() ([]byte, error) { return orNull(json.RawMessage(s)), nil }

// NewDescriptor returns the view of a descriptor; nil: nothing is told.
func NewDescriptor(d *describe.Described) *Descriptor {
	if d == nil {
		return nil
	}
	return &Descriptor{
		Owner: Text(d.Info.Owner), Link: Text(d.Info.Link), Description: Text(d.Info.Description), Deprecated: Text(d.Info.Deprecated),
		Args: schema(d.Info.Args), Result: schema(d.Info.Result), Example: orNull(d.Info.Example),
		Signals: append([]string{}, d.Info.Signals...), Updates: append([]string{}, d.Info.Updates...),
		At: Timestamp(d.At), Build: newBuild(d.Build),
	}
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// addDescriptor adds to a table what is told, but for what has several lines.
func addDescriptor(w *output.Table, now time.Time, d *describe.Described) {
	if d == nil {
		return
	}
	for _, line := range [][2]string{
		{"owner", d.Info.Owner},
		{"link", d.Info.Link},
		{"about", d.Info.Description},
		{"deprecated", d.Info.Deprecated},
		{"signals", strings.Join(d.Info.Signals, ", ")},
		{"updates", strings.Join(d.Info.Updates, ", ")},
		{"example", string(d.Info.Example)},
	} {
		if line[1] != "" {
			w.Add(line[0], output.OneLine(line[1]))
		}
	}
	by := buildText(d.Build)
	if by != "" {
		by = " by " + output.OneLine(by)
	}
	w.Add("described", output.Ago(now, d.At)+by)
}

// WholeKind is a kind, and what is told of it.
type WholeKind struct {
	Kind

	Descriptor *Descriptor `json:"descriptor"`
}

// WholeKindOf returns the view of a kind of a list, which may not have it, and whether anything is
// known of it.
func WholeKindOf(name string, kinds []Kind, told *describe.Described) (v WholeKind, known bool) {
	v = WholeKind{Kind: Kind{Name: name, Versions: []string{}, Nodes: []string{}, Unserved: []Unserved{}}, Descriptor: NewDescriptor(told)}
	for i := range kinds {
		if kinds[i].Name == name {
			v.Kind, known = kinds[i], true
		}
	}
	return v, known || told != nil
}

// ForgottenKind is a kind of which is forgotten what code has told.
type ForgottenKind struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Forgotten bool   `json:"forgotten"` // false: there was nothing
}

// PrintKind prints a kind for people.
func PrintKind(out *output.Printer, now time.Time, k *Kind, d *describe.Described) {
	w := out.NewTable(3)
	w.Add("name", k.Name)
	if len(k.Versions) > 0 {
		w.Add("versions", strings.Join(k.Versions, ", "))
	}
	nodes := strings.Join(k.Nodes, ", ")
	if nodes == "" {
		nodes = "no live node serves it"
	}
	w.Add("nodes", nodes)
	if row := KindRow(now, k); row[3] != "" {
		w.Add("unserved", row[3])
	}
	addDescriptor(w, now, d)
	w.Flush()
	if d == nil {
		return
	}
	printSchema(out, "args", d.Info.Args)
	printSchema(out, "result", d.Info.Result)
}

func printSchema(out *output.Printer, of string, schema json.RawMessage) {
	var value any
	if json.Unmarshal(schema, &value) != nil {
		return
	}
	text, err := json.MarshalIndent(value, "  ", "  ")
	if err != nil {
		return
	}
	out.Printf("\nJSON Schema of the %s:", of)
	for line := range strings.Lines("  " + string(text)) {
		out.Printf("%s", output.OneLine(strings.TrimRight(line, "\n")))
	}
}
