package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Columns are the columns of a table that a user chose, and their order; or the fields of the JSON
// of each element of a list.
type Columns struct {
	names  []string
	header []string // of all columns that the table of the list has
}

// ChooseColumns reads a list of names, with commas, in letters of either case. Of a table these are
// those of its header, and the fields of view, which is the JSON of an element; of other formats
// only the fields.
func (l *List) ChooseColumns(list string, view any) error {
	if l.ByID() {
		return fmt.Errorf("the format %s has no columns", l.Format)
	}
	c := &Columns{header: l.header}
	cells, fields := c.cellNames(), fieldsOf(view)
	known := fields
	if l.Format == FormatTable {
		known = append(slices.Clone(cells), fields...)
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case slices.Contains(c.names, name):
			return fmt.Errorf("the column %s is named twice", name)
		case slices.Contains(known, name):
		case slices.Contains(cells, name):
			return fmt.Errorf("only tables have the column %s", name)
		default:
			return fmt.Errorf("no column is called %q; there are %s", name, strings.Join(unique(known), ", "))
		}
		c.names = append(c.names, name)
	}
	l.columns = c
	l.table.whole = slices.Index(c.names, cells[0])
	l.header = nil
	for _, name := range c.names {
		l.header = append(l.header, strings.ToUpper(name))
	}
	return nil
}

// ColumnNames are the names that ChooseColumns takes for a table.
func ColumnNames(view any, header ...string) []string {
	return unique(append((&Columns{header: header}).cellNames(), fieldsOf(view)...))
}

// unique returns a list without what has come before.
func unique(list []string) (names []string) {
	for _, name := range list {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *Columns) cellNames() []string {
	names := make([]string, len(c.header))
	for i, name := range c.header {
		names[i] = strings.ToLower(name)
	}
	return names
}

// fieldsOf returns the names of the fields of a struct in JSON.
func fieldsOf(view any) (names []string) {
	for field := range reflect.TypeOf(view).Fields() {
		names = append(names, field.Tag.Get("json"))
	}
	return names
}

// cells returns the cells of a row: of the row as it usually is, or else fields of the JSON.
func (c *Columns) cells(value any, row func() []string) ([]string, error) {
	usual := row()
	if c == nil {
		return usual, nil
	}
	fields, err := membersOf(value)
	if err != nil {
		return nil, err
	}
	names := c.cellNames()
	cells := make([]string, len(c.names))
	for i, name := range c.names {
		if at := slices.Index(names, name); at >= 0 && at < len(usual) {
			cells[i] = usual[at]
			continue
		}
		cells[i] = CellOf(fields[name])
	}
	return cells, nil
}

// CellOf formats the JSON of a field: a text without quotes, and nothing for null.
func CellOf(data json.RawMessage) string {
	var text string
	var compact bytes.Buffer
	switch {
	case string(data) == "null":
		return ""
	case json.Unmarshal(data, &text) == nil:
		return text
	case json.Compact(&compact, data) == nil:
		return compact.String()
	}
	return string(data)
}

// fields returns a value with only the fields that were chosen, in their order.
func (c *Columns) fields(value any) (any, error) {
	if c == nil {
		return value, nil
	}
	members, err := membersOf(value)
	if err != nil {
		return nil, err
	}
	var object bytes.Buffer
	for i, name := range c.names {
		object.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&object, "%q:%s", name, members[name])
	}
	object.WriteByte('}')
	return json.RawMessage(object.Bytes()), nil
}

// membersOf returns the fields of the JSON of a value.
func membersOf(value any) (map[string]json.RawMessage, error) {
	data, err := Encode(value, "", "")
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	return members, json.Unmarshal(data, &members)
}
