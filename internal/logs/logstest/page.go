package logstest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Page is the content of docs/logging.md.
type Page struct {
	Levels map[string]string          // by message
	Keys   map[string]map[string]bool // by message; "job…" stands for the keys of a job
	Known  map[string]bool            // all keys
}

// ReadPage reads the page, from a package two directories below the root of the module.
func ReadPage(t *testing.T) Page {
	t.Helper()
	text, err := os.ReadFile("../../docs/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	p := Page{map[string]string{}, map[string]map[string]bool{}, map[string]bool{}}
	word := regexp.MustCompile("`([^`]+)`")
	level := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			level = strings.Trim(title, "# \n")
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		words := word.FindAllStringSubmatch(cells[1], -1)
		if level == "Keys" {
			for _, w := range words {
				p.Known[w[1]] = true
			}
			continue
		}
		message := words[0][1]
		if p.Levels[message] != "" {
			t.Errorf("the page lists %q twice", message)
		}
		p.Levels[message], p.Keys[message] = level, map[string]bool{}
		for _, w := range word.FindAllStringSubmatch(cells[2], -1) {
			p.Keys[message][w[1]] = true
		}
		p.Keys[message]["job…"] = strings.Contains(cells[2], "job…")
	}
	return p
}

// check compares a logged line with the page.
func (p Page) check(t *testing.T, e Entry) {
	t.Helper()
	message := e.Text("msg")
	keys := p.Keys[message]
	if keys == nil {
		return // a test's own line; TestThePageListsAllLines finds the others
	}
	for key := range e {
		switch key {
		case "time", "level", "msg", "node":
		case "job", "kind", "queue", "attempt":
			if !keys["job…"] && !keys[key] {
				t.Errorf("the page does not say that %q has %s", message, key)
			}
		default:
			if !keys[key] {
				t.Errorf("the page does not say that %q has %s", message, key)
			}
		}
	}
	if e["job"] != nil && (e["kind"] == nil || e["queue"] == nil) {
		t.Errorf("a job without its kind or its queue: %v", e)
	}
}
