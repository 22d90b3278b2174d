package cli

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// background is a command that runs beside the test.
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

// says waits until the command has written something.
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
		// Quietly: on a slow machine they would print what the job waits for.
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
		if code := <-b.ended; code != app.ExitInterrupted || !strings.HasPrefix(b.stderr.String(), "holdfast: interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, b.stderr)
		}
	}
}
