package output

import (
	"strings"
	"unicode/utf8"
)

// Table aligns cells in columns. Flush writes its rows; columns never become narrower, so that the
// parts of a long table are aligned.
type Table struct {
	out    *Printer
	gap    int // blanks between columns
	widths []int
	rows   [][]string
}

// NewTable starts a table with gap blanks between columns.
func (p *Printer) NewTable(gap int) *Table { return &Table{out: p, gap: gap} }

// Add adds a row.
func (t *Table) Add(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = OneLine(cell)
	}
	t.rows = append(t.rows, clean)
}

// Flush writes the rows, without trailing white space.
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
