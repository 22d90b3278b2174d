package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestTablesLineUp: also behind rows whose last cells are empty, and in the later parts of a long
// table.
func TestTablesLineUp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{env: newShell(t).environment(nil, nil, nil), out: bufio.NewWriter(&out), output: formatTable}
	l := a.newList("A", "B", "C")
	for i := range tableChunk + 2 {
		row := []string{"x", "é", "z"}
		switch i % 3 {
		case 1:
			row = []string{"longer", "", ""}
		case 2:
			row = []string{"", "", "z"}
		}
		if err := l.add(nil, func() []string { return row }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	_ = a.out.Flush()
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		want := []string{"x       é  z", "longer", "           z"}
		if i > 0 && line != want[(i-1)%3] {
			t.Fatalf("line %d: %q", i, line)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" a\r\nb\n\nc ":       "a b c",
		"a\x1b[31mb\u009bc":   "a [31mb c",
		"mail\u200b":          `mail\u200b`,
		"a\u202eb\u2066c":     `a\u202eb\u2066c`,
		"\ufeffa\u2028b":      `\ufeffa\u2028b`,
		"é ü 漢 👍":             "é ü 漢 👍",
		"tag \U000e0041":      `tag \ue0041`,
		"a\tb":                "a b",
		"\u200d only the end": `\u200d only the end`,
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestHarmlessJSON: the escapes mean what was there.
func TestHarmlessJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "\u009b31m", "a\u202eb\u200b", "\x7f", "\U000e0041\U0001d173 👍", "é\u2028"} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		safe := harmless(bytes.TrimSpace(b.Bytes()))
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || back != text {
			t.Errorf("%q became %s, %q, %v", text, safe, back, err)
		}
		for _, r := range string(safe) {
			if isControl(r) || isInvisible(r) {
				t.Errorf("%s holds %U", safe, r)
			}
		}
	}
}

// TestNothingReachesTheTerminalRaw: neither from results nor from names; elsewhere they are what
// they are.
func TestNothingReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.start("dev")
	const result = `{"exit_code":0,"stdout":"` + "\u009b31mred" + `","stderr":""}`
	args := []string{"job", "enqueue", "exec", "--args", `{"command":["printf","\\302\\23331mred"]}`, "--wait", "--quiet"}
	if out := s.ok(args...); out != result+"\n" {
		t.Errorf("not a terminal: %q", out)
	}
	s.terminal = true
	if out := s.ok(args...); out != strings.ReplaceAll(result, "\u009b", `\u009b`)+"\n" {
		t.Errorf("a terminal: %q", out)
	}
	for _, format := range []string{formatTable, formatJSON, formatLines} {
		for _, args := range [][]string{{"job", "list"}, {"queue", "list"}, {"node", "list"}} {
			if out := s.ok(append(args, "-o", format)...); strings.ContainsAny(out, "\u009b\u202e\x1b") {
				t.Errorf("%v: %q", args, out)
			}
		}
	}
}

// TestPanicAndOldErrors: job get shows where it panicked, and a job that completed has no error any
// more.
func TestPanicAndOldErrors(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	client, err := holdfast.Open(t.Context(), sqlite.File(s.db), holdfast.WithLogger(silent()))
	if err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[int, int]("fragile")
	err = kind.Handle(client, func(run *holdfast.Run, in int) (int, error) {
		if run.Attempt() == 1 {
			panic("the sky falls")
		}
		return in, nil
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	job, err := kind.Enqueue(t.Context(), client, 1)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- client.Run(context.WithoutCancel(t.Context())) }()
	if _, err := job.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
	s.terminal = true
	table := s.ok("job", "get", job.ID.String())
	head, rest, _ := strings.Cut(table, "\nattempts that did not complete the job:")
	if strings.Contains(head, "the sky falls") || !strings.Contains(rest, "the sky falls") ||
		!strings.Contains(rest, "\nstack of attempt 1:\n  ") || !strings.Contains(rest, "table_test.go:") {
		t.Errorf("%s", table)
	}
	if list := s.ok("job", "list"); strings.Contains(list, "the sky falls") {
		t.Errorf("%s", list)
	}
}
