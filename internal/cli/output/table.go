package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Table aligns cells in columns. Flush writes its rows; columns never become narrower, so that the
// parts of a long table are aligned.
type Table struct {
	out    *Printer
	gap    int // blanks between columns
	fit    int // columns of the terminal that a row is to fit into; 0: any number
	whole  int // the column that is not cut, with the id; negative: none
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
	widths := t.fitted()
	var line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		for i, cell := range row {
			cell = Clip(cell, max(widths[i], 1))
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+t.gap))
			}
		}
		t.out.Printf("%s", strings.TrimRight(line.String(), " "))
	}
	t.rows = t.rows[:0]
}

// narrowest is the width to which a column is narrowed.
const narrowest = 8

// fitted returns the widths of the columns: the widest are narrowed until a row fits into the
// terminal. If that cannot be, the terminal breaks the lines.
func (t *Table) fitted() []int {
	if t.fit == 0 || len(t.widths) < 2 {
		return t.widths
	}
	widths := slices.Clone(t.widths)
	over := t.gap*(len(widths)-1) - t.fit
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if i != t.whole && (widest < 0 || w >= widths[widest]) { // of several the last, which tells least
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	return widths
}
