package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// interrupted ends a command with Ctrl-C and returns its exit code.
func (b *background) interrupted() int {
	b.signals <- os.Interrupt
	return <-b.ended
}

// TestListIsWatched: the list is printed again with what has changed, each time with its time, and
// Ctrl-C ends it without an error.
func TestListIsWatched(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		first := s.enqueue("mail")
		list := s.begin("job", "list", "--watch", "--interval", "100ms", "--columns", "id,state")
		list.says(t, first+"  available\n")
		second := s.enqueue("mail")
		list.says(t, second+"  available\n")
		s.ok("job", "cancel", first)
		list.says(t, first+"  cancelled\n")
		if code := list.interrupted(); code != app.ExitOK || list.stderr.String() != "" {
			t.Errorf("exit code %d, %s", code, list.stderr)
		}
		tables := strings.Split(list.stdout.String(), "\n\n")
		if len(tables) < 3 {
			t.Errorf("%d tables:\n%s", len(tables), list.stdout)
		}
		for _, table := range tables {
			at, rest, _ := strings.Cut(table, "\n")
			if _, err := time.Parse("2006-01-02 15:04:05.000Z", at); err != nil || !strings.HasPrefix(rest, "ID ") {
				t.Errorf("%v:\n%s", err, table)
			}
		}
	})
}

// TestWatchClearsTheTerminal: each table takes the place of the one before, and the notes are there
// again; lines of JSON follow each other.
func TestWatchClearsTheTerminal(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.terminal = true
	const wipe = "\x1b[H\x1b[2J"
	list := s.begin("job", "list", "--watch", "--interval", "100ms")
	until(t, "two notes", func() bool { return strings.Count(list.stderr.String(), "No jobs found.\n") > 1 })
	s.ok("job", "enqueue", "mail")
	list.says(t, "  mail  ")
	if code := list.interrupted(); code != app.ExitOK {
		t.Errorf("exit code %d, %s", code, list.stderr)
	}
	out := list.stdout.String()
	if !strings.HasPrefix(out, wipe) || strings.Count(out, wipe) < 3 || strings.Contains(out, "\n\n") {
		t.Errorf("%q", out)
	}
	lines := s.begin("job", "list", "--watch", "--interval", "100ms", "-o", "json", "--columns", "kind")
	lines.says(t, "[{\"kind\":\"mail\"}]\n[{\"kind\":\"mail\"}]\n")
	if code := lines.interrupted(); code != app.ExitOK || strings.Contains(lines.stdout.String(), "\x1b") {
		t.Errorf("exit code %d, %q", code, lines.stdout)
	}
}

// TestWatchMovesOn: a time that is a duration ago is not that of the start.
func TestWatchMovesOn(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.enqueue("mail")
	asked := 0
	s.now = func() time.Time { // only the watching command asks
		asked++
		return time.Now().Add(time.Duration(asked) * time.Minute)
	}
	list := s.begin("job", "list", "--watch", "--interval", "100ms", "--since", "10m", "-o", "table")
	list.says(t, "  mail  ")
	until(t, "the job to be too old", func() bool {
		tables := strings.Split(list.stdout.String(), "\n\n")
		return !strings.Contains(tables[len(tables)-1], "  mail  ")
	})
	if code := list.interrupted(); code != app.ExitOK {
		t.Errorf("exit code %d, %s", code, list.stderr)
	}
}

func TestWatchIsRefused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, test := range []struct{ args, words string }{
		{"--watch -o jsonl", "--watch cannot write jsonl; use --output table or json"},
		{"--watch -o yaml", "--watch cannot write yaml"},
		{"--watch -q", "--watch cannot write id"},
		{"--watch --all", "--all and --watch cannot be used together"},
		{"--interval 5s", "--interval requires --watch"},
		{"--watch --interval 1ms", "--interval 1ms is less than 100ms"},
		{"--watch --interval -1s", "--interval -1s is less than 100ms"},
	} {
		got := s.run(append([]string{"job", "list"}, strings.Fields(test.args)...)...)
		s.expect(got, app.ExitUsage, test.words)
	}
}
