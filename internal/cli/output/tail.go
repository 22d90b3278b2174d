package output

import (
	"fmt"
	"strings"
	"time"
)

// Tail writes a list that is followed, each element as it comes: as lines of JSON, or as a table
// with columns of fixed width, because later cells are not known.
type Tail struct {
	out     *Printer
	Format  string
	columns []Column
	begun   bool
}

// Column is a column of a tail. The last one needs no width.
type Column struct {
	Name  string
	Width int
}

// NewTail starts a tail. A followed list is not one value of JSON or YAML: so the default is lines,
// and NewTail returns nil if json or yaml was requested.
func (p *Printer) NewTail(columns ...Column) *Tail {
	format := p.Format()
	switch {
	case p.Asked == FormatJSON || p.Asked == FormatYAML:
		return nil
	case format == FormatJSON:
		format = FormatLines
	}
	return &Tail{out: p, Format: format, columns: columns}
}

// Add writes one element: value as JSON, or what row returns.
func (t *Tail) Add(value any, row func() []string) error {
	switch t.Format {
	case FormatID, FormatName:
		if err := t.out.writeIdentity(value); err != nil {
			return err
		}
		return t.out.Flush()
	case FormatLines:
		if err := t.out.WriteJSON(value, ""); err != nil {
			return err
		}
		return t.out.Flush()
	}
	if !t.begun {
		t.begun = true
		var names []string
		for _, c := range t.columns {
			names = append(names, c.Name)
		}
		t.write(names)
	}
	t.write(row())
	return t.out.Flush()
}

func (t *Tail) write(cells []string) {
	var line strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&line, "%-*s  ", t.columns[i].Width, OneLine(cell))
	}
	t.out.Printf("%s", strings.TrimRight(line.String(), " "))
}

// Clock formats a time for tables in which the order matters.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }
