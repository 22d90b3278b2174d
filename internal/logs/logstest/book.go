// Package logstest records log lines for tests, and compares them with docs/logging.md.
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

// Book records the lines of a log.
type Book struct {
	mu   sync.Mutex
	Text bytes.Buffer
}

func (b *Book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Text.Write(p)
}

// Logger returns a logger that writes to the book. Its lines must be as docs/logging.md says.
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

// Entry is a line as its reader gets it.
type Entry map[string]any

// Text returns a value if it is a string, or "".
func (e Entry) Text(key string) string { s, _ := e[key].(string); return s }

// Lines returns the lines that start with the message, all if it is "".
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

// Only returns the one line that starts with the message. It must have the level, and each wanted
// key with a value that contains the wanted text.
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

// Again is the time from the line to the retry of the job or step.
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

// Whose checks that a line names its job and node.
func (e Entry) Whose(t *testing.T, id store.ID, kind string, attempt int) {
	t.Helper()
	have := fmt.Sprint(e["job"], e["kind"], e["queue"], e["attempt"], e["node"])
	if want := fmt.Sprint(id, kind, "default", attempt, 1); have != want {
		t.Errorf("the line is about %s, and not %s: %v", have, want, e)
	}
}

// OfKind returns the lines about jobs of a kind.
func (b *Book) OfKind(t *testing.T, kind string) []Entry {
	t.Helper()
	return slices.DeleteFunc(b.Lines(t, ""), func(e Entry) bool { return e["kind"] != kind })
}
