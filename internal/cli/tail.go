package cli

import (
	"fmt"
	"strings"
	"time"
)

// tail writes a list that is followed, each element as it comes: as lines of JSON, or as a table whose columns have fixed widths, since
// nobody knows what is still to come.
type tail struct {
	app     *app
	format  string
	columns []column
	begun   bool
}

type column struct {
	name  string
	width int
}

// newTail begins a tail. One value is not what can be followed: so json is not the default where nobody looks, and an error where somebody
// asks for it.
func (a *app) newTail(columns ...column) (*tail, error) {
	format := a.format()
	switch {
	case a.output == formatJSON:
		return nil, usagef("--follow cannot write json, which is one value; use --output jsonl")
	case format == formatJSON:
		format = formatLines
	}
	return &tail{app: a, format: format, columns: columns}, nil
}

// add writes one element: value as JSON, or what row returns.
func (t *tail) add(value any, row func() []string) error {
	if t.format == formatLines {
		if err := t.app.writeJSON(value, ""); err != nil {
			return err
		}
		return t.flush()
	}
	if !t.begun {
		t.begun = true
		var names []string
		for _, c := range t.columns {
			names = append(names, c.name)
		}
		t.write(names)
	}
	t.write(row())
	return t.flush()
}

func (t *tail) write(cells []string) {
	var line strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&line, "%-*s  ", t.columns[i].width, oneLine(cell))
	}
	t.app.printf("%s", strings.TrimRight(line.String(), " "))
}

func (t *tail) flush() error {
	if err := t.app.out.Flush(); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// clock is a time in tables in which what matters is what came after what.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }
