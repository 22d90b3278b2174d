package cli

import (
	"bufio"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast"
)

// background is a command that goes on while the test does.
type background struct {
	stdout, stderr *buffer
	signals        chan os.Signal
	ended          chan int
}

func (s *shell) begin(args ...string) *background {
	b := &background{stdout: &buffer{}, stderr: &buffer{}, signals: make(chan os.Signal), ended: make(chan int, 1)}
	env := s.environment(strings.NewReader(""), b.stdout, b.stderr, args...)
	env.Signals = b.signals
	go func() { b.ended <- Run(context.WithoutCancel(s.Context()), env) }()
	return b
}

// says returns when the command has written something.
func (b *background) says(t *testing.T, words string) {
	t.Helper()
	until(t, "the output "+words, func() bool { return strings.Contains(b.stdout.String(), words) })
}

func TestFollow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		shop := &shop{}
		s.serve(shop.register)
		id := s.enqueue("order", "--args", `{"to":"ada"}`)
		// Quietly: on a slow machine they would say what the job waits for.
		journal := s.begin("job", "journal", id, "--follow", "-q", "-o", "table")
		lines := s.begin("job", "journal", id, "--follow", "-q")
		stream := s.begin("job", "stream", id, "log", "--follow", "-q", "--after", "3")
		stopped := s.begin("job", "stream", id, "none", "--follow", "-o", "table")
		journal.says(t, "\n3  ")
		lines.says(t, `"name":"log"`)
		s.ok("signal", "send", id, "approved", `"bob"`)
		journal.says(t, "\n7  ")
		stream.says(t, `"value":"approved by <bob>"`)
		newer := s.begin("job", "published", id, "progress", "--wait", "--after", "5")
		s.ok("callback", "complete", s.token(id), `"receipt"`)
		for name, b := range map[string]*background{"journal": journal, "lines": lines, "stream": stream} {
			if code := <-b.ended; code != 0 || b.stderr.String() != "" {
				t.Errorf("%s: exit code %d, %s", name, code, b.stderr)
			}
		}
		if code := <-newer.ended; code != 1 || !strings.Contains(newer.stderr.String(), "no value newer than offset 5") {
			t.Errorf("exit code %d, %s", code, newer.stderr)
		}
		if code := <-stopped.ended; code != 0 || stopped.stdout.String() != "" {
			t.Errorf("exit code %d, %s", code, stopped.stdout)
		}
		want := regexp.MustCompile(`^SEQ    WHEN                      KIND             PATH    NAME                  DATA
1      .{24}  step             1       charge                1
(?:[2-8] .*\n)+m1     .{24}  sent signal              approved              "bob"
`)
		if !want.MatchString(journal.stdout.String()) {
			t.Errorf("%s", journal.stdout)
		}
		if n := strings.Count(lines.stdout.String(), "\n"); n != 11+3 {
			t.Errorf("%d lines:\n%s", n, lines.stdout)
		}
	})
}

// TestFollowWhatIsForgotten follows a journal of which the end is cut off.
func TestFollowWhatIsForgotten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 17, 30, 0, 0, time.UTC)
	entry := func(seq int64, name string, lease int64) holdfast.JournalEntry {
		return holdfast.JournalEntry{Seq: seq, At: at.Add(time.Duration(lease) * time.Second), Kind: "step", Path: name, Name: name, Lease: lease}
	}
	message := holdfast.JournalMessage{Seq: 1, At: at.Add(time.Second), Kind: "signal", Name: "s"}
	before := holdfast.Journal{Entries: []holdfast.JournalEntry{entry(1, "a", 1), entry(2, "b", 1), entry(3, "c", 1)}}
	now := holdfast.Journal{
		Entries:  []holdfast.JournalEntry{entry(1, "a", 1), entry(2, "b", 2)},
		Messages: []holdfast.JournalMessage{message},
	}
	for format, want := range map[string][]string{
		formatTable: {
			"SEQ    WHEN                      KIND             PATH    NAME                  DATA",
			"m1     2026-01-31 17:30:01.000Z  sent signal              s",
			"2      2026-01-31 17:30:02.000Z  step             b       b",
		},
		formatLines: {
			`{"entry":null,"message":{"seq":1,"at":"2026-01-31T17:30:01Z","kind":"signal","name":"s","unread":false}}`,
			`{"entry":{"seq":2,"at":"2026-01-31T17:30:02Z","kind":"step","path":"b","name":"b","lease":2},"message":null}`,
		},
	} {
		var stdout, stderr buffer
		a := &app{env: newShell(t).environment(nil, nil, &stderr), out: bufio.NewWriter(&stdout)}
		a.output = format
		out, err := a.newTail(journalColumns...)
		if err == nil {
			err = a.writeNew(out, &before, &now)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", stdout.String()); diff != "" {
			t.Error(diff)
		}
		if told := strings.Contains(stderr.String(), "entries from 2 on were dropped"); told != (format == formatTable) {
			t.Errorf("%s: %q", format, stderr.String())
		}
	}
}

// TestFollowReadsOn: only what is new is read, and the last of what is not; what was taken back is read anew.
func TestFollowReadsOn(t *testing.T) {
	t.Parallel()
	journal := func(n int64, lease int64, from int64) []holdfast.JournalEntry {
		var entries []holdfast.JournalEntry
		for seq := int64(1); seq <= n; seq++ {
			e := holdfast.JournalEntry{Seq: seq, Kind: "step", Lease: 1}
			if seq >= from {
				e.Lease = lease
			}
			entries = append(entries, e)
		}
		return entries
	}
	for _, c := range []struct {
		name         string
		known, there []holdfast.JournalEntry
		asked        []int64
	}{
		{"from the beginning", nil, journal(2500, 1, 1), []int64{0, 999, 1998}},
		{"nothing new", journal(2500, 1, 1), journal(2500, 1, 1), []int64{2499}},
		{"a few", journal(2500, 1, 1), journal(2510, 1, 1), []int64{2499}},
		{"many", journal(5, 1, 1), journal(1500, 1, 1), []int64{4, 1003}},
		{"a whole page", nil, journal(1000, 1, 1), []int64{0, 999}},
		{"cut off", journal(9, 1, 1), journal(7, 1, 1), []int64{8, 0}},
		{"cut off and gone on", journal(9, 1, 1), journal(12, 2, 5), []int64{8, 0}},
		{"begun anew", journal(3000, 1, 1), journal(1, 2, 1), []int64{2999, 0}},
		{"nothing yet", nil, nil, []int64{0}},
	} {
		var asked []int64
		got, err := readAfter(c.known, func(e *holdfast.JournalEntry) int64 { return e.Seq }, sameEntry,
			func(after int64) ([]holdfast.JournalEntry, error) {
				asked = append(asked, after)
				rest := c.there[min(int(after), len(c.there)):]
				return rest[:min(len(rest), maxPage)], nil
			})
		if err != nil || !cmp.Equal(got, c.there, cmpopts.EquateEmpty()) || !cmp.Equal(asked, c.asked) {
			t.Errorf("%s: asked for what comes after %v, got %d entries, %v", c.name, asked, len(got), err)
		}
	}
}

func TestFollowIsInterrupted(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail")
	for _, args := range [][]string{
		{"job", "journal", id, "--follow"},
		{"job", "stream", id, "x", "--follow"},
		{"job", "published", id, "x", "--wait"},
	} {
		b := s.begin(args...)
		b.signals <- os.Interrupt
		if code := <-b.ended; code != exitInterrupted || !strings.HasPrefix(b.stderr.String(), "holdfast: interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, b.stderr)
		}
	}
}
