package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestNothingReachesTheTerminalRaw: control characters of results and names are escaped on a
// terminal, and unchanged elsewhere.
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
	for _, format := range []string{output.FormatTable, output.FormatJSON, output.FormatLines} {
		for _, args := range [][]string{{"job", "list"}, {"queue", "list"}, {"node", "list"}} {
			if out := s.ok(append(args, "-o", format)...); strings.ContainsAny(out, "\u009b\u202e\x1b") {
				t.Errorf("%v: %q", args, out)
			}
		}
	}
}

// TestPanicAndOldErrors: job get shows the stack of a panic, and no error for a job that completed
// later.
func TestPanicAndOldErrors(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	client, err := holdfast.Open(t.Context(), sqlite.File(s.db), holdfast.WithLogger(app.Silent()))
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
		!strings.Contains(rest, "\nstack of attempt 1:\n  ") || !strings.Contains(rest, "terminal_test.go:") {
		t.Errorf("%s", table)
	}
	if list := s.ok("job", "list"); strings.Contains(list, "the sky falls") {
		t.Errorf("%s", list)
	}
}
