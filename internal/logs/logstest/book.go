// Package logstest keeps the lines of a log for tests, and holds them to docs/logging.md.
package logstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Book keeps the lines of a log.
type Book struct {
	mu   sync.Mutex
	Text bytes.Buffer
}

func (b *Book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Text.Write(p)
}

// Logger logs into the book. What it says must be as docs/logging.md has it.
func (b *Book) Logger(t *testing.T, level slog.Level) *slog.Logger {
	t.Helper()
	t.Cleanup(func() {
		p := ReadPage(t)
		for _, e := range b.Lines(t, "") {
			p.check(t, e)
		}
	})
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}))
}

// Entry is a line as who reads it has it.
type Entry map[string]any

// Text is a value that is a text, or "".
func (e Entry) Text(key string) string { s, _ := e[key].(string); return s }

// Lines are those that begin with the message, all if it is "".
func (b *Book) Lines(t *testing.T, message string) (found []Entry) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range bytes.Lines(b.Text.Bytes()) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if strings.HasPrefix(e.Text("msg"), message) {
			found = append(found, e)
		}
	}
	return found
}

// Only is the one line that begins with the message. It has the level, and all keys that are wanted
// with something of what is wanted.
func (b *Book) Only(t *testing.T, level, message string, want map[string]string) Entry {
	t.Helper()
	found := b.Lines(t, message)
	if len(found) != 1 {
		t.Fatalf("%d lines begin with %q:\n%s", len(found), message, b.Text.String())
	}
	e := found[0]
	if e.Text("level") != level {
		t.Errorf("the level is not %s: %v", level, e)
	}
	for key, part := range want {
		if _, there := e[key]; !there || !strings.Contains(fmt.Sprint(e[key]), part) {
			t.Errorf("%s is not %q: %v", key, part, e)
		}
	}
	return e
}

// Again is how long after the line the job or step is tried again.
func (e Entry) Again(t *testing.T) time.Duration {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, e.Text("time"))
	if err != nil {
		t.Fatal(err)
	}
	retry, err := time.Parse(time.RFC3339Nano, e.Text("retry_at"))
	if err != nil {
		t.Fatalf("%v: %v", err, e)
	}
	return retry.Sub(at)
}

// Whose checks that a line names its job, and its node.
func (e Entry) Whose(t *testing.T, id store.ID, kind string, attempt int) {
	t.Helper()
	have := fmt.Sprint(e["job"], e["kind"], e["queue"], e["attempt"], e["node"])
	if want := fmt.Sprint(id, kind, "default", attempt, 1); have != want {
		t.Errorf("the line is about %s, and not %s: %v", have, want, e)
	}
}

// OfKind are the lines about jobs of a kind.
func (b *Book) OfKind(t *testing.T, kind string) []Entry {
	t.Helper()
	return slices.DeleteFunc(b.Lines(t, ""), func(e Entry) bool { return e["kind"] != kind })
}
