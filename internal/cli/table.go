package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table lines up cells in columns. What it holds is written by flush; columns stay as wide as they
// once were, so that the parts of a long table are alike.
type table struct {
	app    *app
	gap    int // between columns
	widths []int
	rows   [][]string
}

func (t *table) add(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = oneLine(cell)
	}
	t.rows = append(t.rows, clean)
}

// flush writes the rows, without white space at the ends of lines.
func (t *table) flush() {
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
		t.app.printf("%s", strings.TrimRight(line.String(), " "))
	}
	t.rows = t.rows[:0]
}

// oneLine makes one line of a text that may hold several, and takes what would control a terminal
// out of it. What nobody sees, such as a mark that turns text around or a space without width, is
// written as its number: names that look alike are not always the same.
func oneLine(text string) string {
	var line strings.Builder
	broken := false
	for _, r := range strings.TrimSpace(text) {
		breaks := r == '\n' || r == '\r'
		switch {
		case breaks && broken:
		case isControl(r):
			line.WriteByte(' ')
		case isInvisible(r):
			fmt.Fprintf(&line, `\u%04x`, r)
		default:
			line.WriteRune(r)
		}
		broken = breaks
	}
	return strings.TrimSpace(line.String())
}

// isControl reports whether a rune could do something to a terminal: C0, DEL and C1.
func isControl(r rune) bool { return r < ' ' || r >= 0x7F && r <= 0x9F }

// isInvisible reports whether a rune is a format character, such as those that turn text around, or
// a separator of lines.
func isInvisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

// harmless writes JSON for a terminal: what would do something to it, or is not seen, as escapes.
// The value is the same.
func harmless(data []byte) []byte {
	for _, r := range string(data) {
		if r >= 0x7F && (isControl(r) || isInvisible(r)) {
			return escape(data)
		}
	}
	return data
}

func escape(data []byte) []byte {
	var out strings.Builder
	for _, r := range string(data) {
		switch {
		case r < 0x7F || !isControl(r) && !isInvisible(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}
