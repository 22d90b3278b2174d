package output

import (
	"strings"
	"unicode/utf8"
)

// Table lines up cells in columns. What it holds is written by flush; columns stay as wide as they
// once were, so that the parts of a long table are alike.
type Table struct {
	out    *Printer
	gap    int // between columns
	widths []int
	rows   [][]string
}

// NewTable begins a table with so many blanks between columns.
func (p *Printer) NewTable(gap int) *Table { return &Table{out: p, gap: gap} }

// Add adds a row.
func (t *Table) Add(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = OneLine(cell)
	}
	t.rows = append(t.rows, clean)
}

// Flush writes the rows, without white space at the ends of lines.
func (t *Table) Flush() {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+t.gap))
			}
		}
		t.out.Printf("%s", strings.TrimRight(line.String(), " "))
	}
	t.rows = t.rows[:0]
}
