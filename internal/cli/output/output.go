package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// The formats of --output.
const (
	FormatTable = "table"
	FormatJSON  = "json"
	FormatLines = "jsonl"
	FormatYAML  = "yaml"
	FormatID    = "id"
	FormatName  = "name"
)

// Formats are all of them.
var Formats = []string{FormatTable, FormatJSON, FormatLines, FormatYAML, FormatID, FormatName}

// Identified is what an id names, such as a job. The formats id and name print what Identity
// returns, and nothing of values that are not Identified.
type Identified interface {
	// Identity returns what kind of thing it is and its id, "" for one that is not to be printed.
	Identity() (kind, id string)
}

// Printer writes data in one format. It buffers them until Flush, which returns the errors of all
// writes.
type Printer struct {
	Asked string // the format of --output, or ""
	Width int    // of the terminal, in columns; 0: not known, or no terminal
	// Redact, if it is set, hides in payloads what people are not to see: in all values that are
	// json.RawMessage.
	Redact func(json []byte) []byte

	out      *bufio.Writer
	terminal bool // out is a terminal
}

// NewPrinter returns a Printer to a stream. terminal reports that the stream is a terminal.
func NewPrinter(out io.Writer, terminal bool) Printer {
	return Printer{out: bufio.NewWriter(stream{out}), terminal: terminal}
}

// stream says of an error that it is one of the output.
type stream struct{ io.Writer }

func (s stream) Write(data []byte) (int, error) {
	n, err := s.Writer.Write(data)
	if err != nil {
		err = fmt.Errorf("writing the output: %w", err)
	}
	return n, err
}

// Format is the format to write in.
func (p *Printer) Format() string {
	switch {
	case p.Asked != "":
		return p.Asked
	case p.terminal:
		return FormatTable
	}
	return FormatJSON
}

// Write implements io.Writer, for output in other formats.
func (p *Printer) Write(data []byte) (int, error) { return p.out.Write(data) }

// Flush writes the buffered output.
func (p *Printer) Flush() error { return p.out.Flush() }

// Hold returns what write writes, in the place of writing it.
func (p *Printer) Hold(write func() error) ([]byte, error) {
	var held bytes.Buffer
	out := p.out
	p.out = bufio.NewWriter(&held)
	defer func() { p.out = out }()
	if err := write(); err != nil {
		return nil, err
	}
	err := p.out.Flush()
	return held.Bytes(), err
}

// List writes a list element by element: an array, lines, or a table. A table is written in chunks
// of a thousand rows, which bounds the memory.
type List struct {
	out    *Printer
	Format string
	header []string
	Count  int
	rows   [][]string
	table  *Table

	columns *Columns // nil: the usual ones
}

// NewList starts a list. The header is for tables.
func (p *Printer) NewList(header ...string) *List {
	table := p.NewTable(2)
	table.fit = p.Width
	return &List{out: p, Format: p.Format(), header: header, table: table}
}

const tableChunk = 1000

// Add writes one element: value as JSON, or what row returns.
func (l *List) Add(value any, row func() []string) error {
	l.Count++
	switch l.Format {
	case FormatTable:
		if l.columns != nil {
			value = l.out.hidden(value)
		}
		cells, err := l.columns.cells(value, row)
		if err != nil {
			return err
		}
		l.rows = append(l.rows, cells)
		if len(l.rows) == tableChunk {
			l.writeRows()
		}
		return nil
	case FormatID, FormatName:
		return l.out.writeIdentity(value)
	}
	value, err := l.columns.fields(l.out.hidden(value))
	if err != nil {
		return err
	}
	switch l.Format {
	case FormatLines:
		return l.out.WriteJSON(value, "")
	case FormatYAML:
		return l.out.writeYAML([]any{value}) // the elements of a block follow each other
	}
	start := ",\n  "
	if l.Count == 1 {
		start = "[\n  "
	}
	data, err := l.out.encode(value, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = l.out.out.WriteString(start + string(data))
	return err
}

// ByID reports whether only ids or names of elements are written.
func (l *List) ByID() bool { return l.Format == FormatID || l.Format == FormatName }

// End completes the list.
func (l *List) End() error {
	var text string
	switch {
	case l.Format == FormatTable:
		if l.Count > 0 {
			l.writeRows()
		}
	case (l.Format == FormatJSON || l.Format == FormatYAML) && l.Count == 0:
		text = "[]\n"
	case l.Format == FormatJSON:
		text = "\n]\n"
	}
	_, err := l.out.out.WriteString(text)
	return err
}

// BreakOff writes what was added before the error, which it returns, and leaves an array open (in
// YAML, another one at the end), so that not even a program that ignores the exit code takes a part
// for the whole.
func (l *List) BreakOff(err error) error {
	text := ""
	switch {
	case l.Format == FormatTable && l.Count > 0:
		l.writeRows()
	case l.Format == FormatJSON && l.Count == 0, l.Format == FormatYAML:
		text = "[\n"
	case l.Format == FormatJSON:
		text = ",\n"
	}
	_, _ = l.out.out.WriteString(text) // err matters more than the error of this write, which Flush returns
	return err
}

func (l *List) writeRows() {
	if l.header != nil {
		l.rows = slices.Insert(l.rows, 0, l.header)
		l.header = nil
	}
	for _, row := range l.rows {
		l.table.Add(row...)
	}
	l.table.Flush()
	l.rows = l.rows[:0]
}

// Object writes one value: as JSON, or by calling table.
func (p *Printer) Object(value any, table func()) error {
	switch p.Format() {
	case FormatTable:
		table()
		return nil
	case FormatLines:
		return p.WriteJSON(value, "")
	case FormatYAML:
		return p.writeYAML(value)
	case FormatID, FormatName:
		return p.writeIdentity(value)
	}
	return p.WriteJSON(value, "  ")
}

func (p *Printer) writeYAML(value any) error {
	data, err := Encode(p.hidden(value), "", "")
	if err != nil {
		return err
	}
	text, err := yamlOf(data)
	if err != nil {
		return err
	}
	_, err = p.out.WriteString(text)
	return err
}

// writeIdentity writes the id of a value, or, as a name, what it is and its id: job/ID.
func (p *Printer) writeIdentity(value any) error {
	v, ok := value.(Identified)
	if !ok {
		return nil
	}
	kind, id := v.Identity()
	if id == "" {
		return nil
	}
	if p.Format() == FormatName {
		id = kind + "/" + id
	}
	if p.terminal {
		id = OneLine(id)
	}
	_, err := p.out.WriteString(id + "\n")
	return err
}

// Printf writes a line of a table.
func (p *Printer) Printf(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
}

// WriteJSON writes one value, on one line if indent is "".
func (p *Printer) WriteJSON(value any, indent string) error {
	data, err := p.encode(value, "", indent)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(data, '\n'))
	return err
}

// encode encodes JSON for the stream.
func (p *Printer) encode(value any, prefix, indent string) ([]byte, error) {
	data, err := Encode(p.hidden(value), prefix, indent)
	if err == nil && p.terminal {
		data = harmless(data)
	}
	return data, err
}

// hidden is a copy of the value in whose payloads what is to be hidden is.
func (p *Printer) hidden(value any) any {
	if p.Redact == nil || value == nil {
		return value
	}
	return hider(p.Redact).of(reflect.ValueOf(value)).Interface()
}

// Hidden is a copy of a value in whose payloads what the printer hides is.
func Hidden[T any](p *Printer, value T) T {
	if p.Redact == nil {
		return value
	}
	to := reflect.New(reflect.TypeFor[T]()).Elem()
	to.Set(hider(p.Redact).of(reflect.ValueOf(value)))
	return to.Interface().(T) //nolint:errcheck // it is one
}

// HideLines returns a writer to another one, which hides what the printer hides in each line, a
// JSON document.
func (p *Printer) HideLines(to io.Writer) io.Writer {
	if p.Redact == nil {
		return to
	}
	return &hidingLines{to: to, redact: p.Redact}
}

// Encode is json.MarshalIndent without the escapes of <, > and &, which only web pages need.
func Encode(value any, prefix, indent string) ([]byte, error) {
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
