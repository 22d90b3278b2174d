package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

type row struct {
	ID    string          `json:"id"`
	State string          `json:"state"`
	Tags  []string        `json:"tags"`
	Args  json.RawMessage `json:"args"`
	Error *string         `json:"error"`
}

// printed is a list of rows in a format, with columns.
func printed(t *testing.T, format, columns string, width int, rows ...row) string {
	t.Helper()
	var out bytes.Buffer
	p := NewPrinter(&out, width > 0)
	p.Asked, p.Width = format, width
	l := p.NewList("ID", "STATE", "WHEN")
	if columns != "" {
		if err := l.ChooseColumns(columns, row{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		if err := l.Add(r, func() []string { return []string{r.ID, r.State + " (now)", "3s ago"} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	_ = p.Flush()
	return out.String()
}

// TestColumns: cells of the usual table, and fields of the JSON, in the order that was asked for.
func TestColumns(t *testing.T) {
	t.Parallel()
	oops := "oops\nagain"
	rows := []row{
		{"1", "failed", []string{"a", "b"}, json.RawMessage(`{"n": 1}`), &oops},
		{ID: "22", State: "done", Args: json.RawMessage("null")},
	}
	for _, test := range []struct{ format, columns, want string }{
		{FormatTable, "", "ID  STATE         WHEN\n1   failed (now)  3s ago\n22  done (now)    3s ago\n"},
		{FormatTable, "state,id", "STATE         ID\nfailed (now)  1\ndone (now)    22\n"},
		{FormatTable, " when , tags,args,error", "WHEN    TAGS       ARGS     ERROR\n3s ago  [\"a\",\"b\"]  {\"n\":1}  oops again\n3s ago\n"},
		{FormatLines, "state,id", `{"state":"failed","id":"1"}` + "\n" + `{"state":"done","id":"22"}` + "\n"},
		{FormatJSON, "args", "[\n  {\n    \"args\": {\n      \"n\": 1\n    }\n  },\n  {\n    \"args\": null\n  }\n]\n"},
		{FormatYAML, "id,tags", "- id: \"1\"\n  tags:\n    - a\n    - b\n- id: \"22\"\n  tags: null\n"},
	} {
		if got := printed(t, test.format, test.columns, 0, rows...); got != test.want {
			t.Errorf("%s of %q:\n%s\nwant\n%s", test.format, test.columns, got, test.want)
		}
	}
}

// TestNarrowTerminal: a table fits into it; ids stay whole, and output that goes elsewhere does.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("7", 20)
	rows := []row{{ID: id, State: strings.Repeat("waits ", 10)}, {ID: id, State: "done"}}
	whole := printed(t, FormatTable, "", 0, rows...)
	for width := 1; width < 120; width++ {
		text := printed(t, FormatTable, "", width, rows...)
		widest := 0
		for line := range strings.Lines(text) {
			widest = max(widest, len([]rune(strings.TrimSuffix(line, "\n"))))
		}
		if strings.Count(text, id) != 2 {
			t.Errorf("at a width of %d the ids are cut:\n%s", width, text)
		}
		if least := len(id) + 2 + narrowest + 2 + len("3s ago"); widest > max(width, least) {
			t.Errorf("at a width of %d a line has %d columns:\n%s", width, widest, text)
		}
		if widest := len(id) + 2 + len(rows[0].State+" (now)") + 2 + len("3s ago"); width >= widest && text != whole {
			t.Errorf("at a width of %d it is cut:\n%s", width, text)
		}
	}
	want := "ID                    STATE          WHEN\n" + id + "  " + strings.Repeat("waits ", 2) + "…  3s ago\n" +
		id + "  done (now)     3s ago\n"
	if text := printed(t, FormatTable, "", 43, rows...); text != want {
		t.Errorf("it is\n%s", text)
	}
	if text := printed(t, FormatTable, "state,id", 35, rows...); strings.Count(text, id) != 2 ||
		strings.Contains(text, strings.Repeat("waits ", 2)+"waits") {
		t.Errorf("with the id in another column:\n%s", text)
	}
}
