package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// The formats of --output.
const (
	FormatTable = "table"
	FormatJSON  = "json"
	FormatLines = "jsonl"
)

// Printer writes data in one format. It keeps them until flush, which tells of all errors of writes.
type Printer struct {
	Asked string // the format that somebody asked for, or ""

	out      *bufio.Writer
	terminal bool // it writes to one
}

// NewPrinter is a Printer to a stream, which may be a terminal.
func NewPrinter(out io.Writer, terminal bool) Printer {
	return Printer{out: bufio.NewWriter(out), terminal: terminal}
}

// Format is the one to write in.
func (p *Printer) Format() string {
	switch {
	case p.Asked != "":
		return p.Asked
	case p.terminal:
		return FormatTable
	}
	return FormatJSON
}

// Write implements io.Writer, for what has a format of its own.
func (p *Printer) Write(data []byte) (int, error) { return p.out.Write(data) }

// Flush writes what is still to be written.
func (p *Printer) Flush() error {
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// List writes a list as it is found: an array, lines, or a table. A table is written in chunks of a thousand rows, so
// that a list of any length needs no more memory than that.
type List struct {
	out    *Printer
	Format string
	header []string
	Count  int
	rows   [][]string
	table  *Table
}

// NewList begins a list. The header is that of the table.
func (p *Printer) NewList(header ...string) *List {
	return &List{out: p, Format: p.Format(), header: header, table: p.NewTable(2)}
}

const tableChunk = 1000

// Add writes one element: value as JSON, or what row returns.
func (l *List) Add(value any, row func() []string) error {
	l.Count++
	switch l.Format {
	case FormatTable:
		l.rows = append(l.rows, row())
		if len(l.rows) == tableChunk {
			l.writeRows()
		}
		return nil
	case FormatLines:
		return l.out.WriteJSON(value, "")
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

// End completes the list.
func (l *List) End() error {
	var text string
	switch {
	case l.Format == FormatTable:
		if l.Count > 0 {
			l.writeRows()
		}
	case l.Format == FormatJSON && l.Count == 0:
		text = "[]\n"
	case l.Format == FormatJSON:
		text = "\n]\n"
	}
	_, err := l.out.out.WriteString(text)
	return err
}

// BreakOff writes what was added before the error, which it returns, and leaves an array open: a part of a list is not to be taken for
// the whole, not even by a program that does not look at the exit code.
func (l *List) BreakOff(err error) error {
	text := ""
	switch {
	case l.Format == FormatTable && l.Count > 0:
		l.writeRows()
	case l.Format == FormatJSON && l.Count == 0:
		text = "[\n"
	case l.Format == FormatJSON:
		text = ",\n"
	}
	_, _ = l.out.out.WriteString(text) // flush tells of its error, and this one is the one to tell
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

// Object writes one value: as JSON, or as the lines that table writes.
func (p *Printer) Object(value any, table func()) error {
	switch p.Format() {
	case FormatTable:
		table()
		return nil
	case FormatLines:
		return p.WriteJSON(value, "")
	}
	return p.WriteJSON(value, "  ")
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

// encode writes JSON for where it goes.
func (p *Printer) encode(value any, prefix, indent string) ([]byte, error) {
	data, err := Encode(value, prefix, indent)
	if err == nil && p.terminal {
		data = harmless(data)
	}
	return data, err
}

// Encode is json.MarshalIndent that leaves <, > and & as they are: nobody puts this into a web page.
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
