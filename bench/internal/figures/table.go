package figures

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// columns are the figures that have a column of their own wherever a system has them.
var columns = []struct{ figure, title string }{
	{P50, "p50 ms"},
	{P99, "p99 ms"},
	{WAL, "WAL B/job"},
	{Commits, "commits/job"},
	{Dead, "dead/job"},
	{Written, "written B/job"},
	{DatabaseCPU, "db CPU µs"},
	{ClientCPU, "client CPU µs"},
	{Others, "others' cores"},
}

// WriteTable writes a scenario as a table in Markdown, ours first, and what else was found below
// it.
func WriteTable(w io.Writer, title string, m Measure, rows []Row) error {
	header := []string{"system", m.Unit, "lowest – highest"}
	if len(rows) > 1 {
		header = append(header, "ours is better by")
	}
	shown := map[string]bool{m.Figure: true, Rate: true}
	var figures []string
	for _, c := range columns {
		shown[c.figure] = true
		if c.figure != m.Figure && slices.ContainsFunc(rows, func(r Row) bool { return len(r.values(c.figure)) > 0 }) {
			header, figures = append(header, c.title), append(figures, c.figure)
		}
	}
	lines := [][]string{header}
	var notes []string
	for i, row := range rows {
		line := []string{row.System, "–", ""}
		if s, ok := row.Spread(m.Figure); ok {
			line[1] = Format(s.Median)
			line[2] = Format(s.Low) + " – " + Format(s.High)
		}
		if len(rows) > 1 {
			line = append(line, ratioText(m, rows, i))
		}
		for _, figure := range figures {
			text := "–"
			if s, ok := row.Spread(figure); ok {
				text = Format(s.Median)
			}
			line = append(line, text)
		}
		lines = append(lines, line)
		if note := row.note(shown); note != "" {
			notes = append(notes, row.System+": "+note)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", title)
	writeAligned(&b, lines)
	for _, note := range notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func ratioText(m Measure, rows []Row, i int) string {
	if i == 0 {
		return ""
	}
	ratio, ok := Ratio(m, rows[0], rows[i])
	if !ok {
		return "–"
	}
	return "×" + Format(ratio)
}

// note lists the medians of the figures that no column shows.
func (r Row) note(shown map[string]bool) string {
	names := map[string]bool{}
	for _, s := range r.Samples {
		for name := range s.Figures {
			if !shown[name] {
				names[name] = true
			}
		}
	}
	var parts []string
	for name := range names {
		parts = append(parts, name+" "+Format(Median(r.values(name))))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Format writes a number with about three digits, or whole if it is large.
func Format(x float64) string {
	switch abs := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case abs >= 100 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case abs >= 10:
		return fmt.Sprintf("%.1f", x)
	case abs >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func writeAligned(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
}
