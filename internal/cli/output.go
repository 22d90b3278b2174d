package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// The formats of --output.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatLines = "jsonl"
)

// format is the one to write in.
func (a *app) format() string {
	switch {
	case a.output != "":
		return a.output
	case a.env.Terminal(a.env.Stdout):
		return formatTable
	}
	return formatJSON
}

// list writes a list as it is found: an array, lines, or a table. A table is written in chunks of a thousand rows, so
// that a list of any length needs no more memory than that.
type list struct {
	app    *app
	format string
	header []string
	count  int
	rows   [][]string
	table  table
}

func (a *app) newList(header ...string) *list {
	return &list{app: a, format: a.format(), header: header, table: table{app: a, gap: 2}}
}

const tableChunk = 1000

// add writes one element: value as JSON, or what row returns.
func (l *list) add(value any, row func() []string) error {
	l.count++
	switch l.format {
	case formatTable:
		l.rows = append(l.rows, row())
		if len(l.rows) == tableChunk {
			l.writeRows()
		}
		return nil
	case formatLines:
		return l.app.writeJSON(value, "")
	}
	start := ",\n  "
	if l.count == 1 {
		start = "[\n  "
	}
	data, err := l.app.encode(value, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = l.app.out.WriteString(start + string(data))
	return err
}

// end completes the list.
func (l *list) end() error {
	var text string
	switch {
	case l.format == formatTable:
		if l.count > 0 {
			l.writeRows()
		}
	case l.format == formatJSON && l.count == 0:
		text = "[]\n"
	case l.format == formatJSON:
		text = "\n]\n"
	}
	_, err := l.app.out.WriteString(text)
	return err
}

// breakOff writes what was added before the error, which it returns, and leaves an array open: a part of a list is not to be taken for
// the whole, not even by a program that does not look at the exit code.
func (l *list) breakOff(err error) error {
	text := ""
	switch {
	case l.format == formatTable && l.count > 0:
		l.writeRows()
	case l.format == formatJSON && l.count == 0:
		text = "[\n"
	case l.format == formatJSON:
		text = ",\n"
	}
	_, _ = l.app.out.WriteString(text) // app.out remembers its error, and this one is the one to tell
	return err
}

func (l *list) writeRows() {
	if l.header != nil {
		l.rows = slices.Insert(l.rows, 0, l.header)
		l.header = nil
	}
	for _, row := range l.rows {
		l.table.add(row...)
	}
	l.table.flush()
	l.rows = l.rows[:0]
}

// object writes one value: as JSON, or as the lines that table writes.
func (a *app) object(value any, table func()) error {
	switch a.format() {
	case formatTable:
		table()
		return nil
	case formatLines:
		return a.writeJSON(value, "")
	}
	return a.writeJSON(value, "  ")
}

// printf writes a line of a table.
func (a *app) printf(format string, args ...any) {
	fmt.Fprintf(a.out, format+"\n", args...)
}

func (a *app) writeJSON(value any, indent string) error {
	data, err := a.encode(value, "", indent)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(data, '\n'))
	return err
}

// encode writes JSON for where it goes.
func (a *app) encode(value any, prefix, indent string) ([]byte, error) {
	data, err := encode(value, prefix, indent)
	if err == nil && a.env.Terminal(a.env.Stdout) {
		data = harmless(data)
	}
	return data, err
}

// encode is json.MarshalIndent that leaves <, > and & as they are: nobody puts this into a web page.
func encode(value any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent != "" {
		enc.SetIndent(prefix, indent)
	}
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
