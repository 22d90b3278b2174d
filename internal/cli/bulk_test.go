package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// TestBulk changes jobs by filters, on both databases.
func TestBulk(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) { bulkOn(s) })
}

func bulkOn(s *shell) {
	s.Helper()
	const many = 207
	s.expect(s.feed(strings.Repeat("{}\n", many), "job", "enqueue", "mail", "--file", "-", "--queue", "bulk"), 0)
	other := s.enqueue("mail", "--queue", "other")
	push := s.enqueue("push", "--queue", "bulk", "--in", "1h", "--tag", "x")
	count := func(args ...string) int {
		s.Helper()
		return strings.Count(s.ok(append([]string{"job", "list", "--all", "-o", "jsonl"}, args...)...), "\n")
	}

	got := s.run("job", "cancel", "--queue", "bulk", "--dry-run", "-o", "jsonl")
	if strings.Count(got.stdout, "\n") != many+1 || got.stderr != "208 jobs would be cancelled.\n" || count("--state", "cancelled") != 0 {
		s.Errorf("a dry run: %d lines, %q", strings.Count(got.stdout, "\n"), got.stderr)
	}
	got = s.run("job", "cancel", "--queue", "bulk", "--kind", "mail", "--reason", "spam", "-o", "table", "--yes")
	if got.code != 0 || got.stdout != "" || got.stderr != "207 jobs are cancelled.\n" {
		s.Errorf("%+v", got)
	}
	if n := count("--state", "cancelled"); n != many {
		s.Errorf("%d jobs are cancelled", n)
	}
	for id, want := range map[string]string{other: "available", push: "scheduled"} {
		if state := s.job(id)["state"]; state != want {
			s.Errorf("another job is %v", state)
		}
	}
	var views []views.Changed
	s.decode(s.ok("job", "cancel", "--tag", "x"), &views)
	if len(views) != 1 || views[0].ID != push || views[0].State != "cancelled" {
		s.Errorf("%+v", views)
	}
	s.decode(s.ok("job", "retry", "--state", "cancelled", "--kind", "mail", "-q", "-o", "json", "-y"), &views)
	if len(views) != many || count("--state", "available", "--queue", "bulk") != many {
		s.Errorf("%d jobs are retried", len(views))
	}
	got = s.run("job", "retry", "--state", "failed", "-o", "table")
	if got.code != 0 || got.stdout != "" || got.stderr != "No jobs found.\n" {
		s.Errorf("%+v", got)
	}
	if got = s.run("job", "retry", "--state", "failed"); got.code != 0 || got.stdout != "[]\n" {
		s.Errorf("%+v", got)
	}
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"cancel"}, "needs job ids, or filters"},
		{[]string{"retry"}, "needs job ids, or filters"},
		{[]string{"cancel", other, "--queue", "x"}, "not both"},
		{[]string{"cancel", other, "--dry-run"}, "--dry-run requires a filter"},
		{[]string{"retry", "--queue", "x"}, "--state is required"},
		{[]string{"retry", "--state", "broken"}, "must be one of"},
		{[]string{"cancel", "--parent", "x"}, "--parent"},
	} {
		s.expect(s.run(append([]string{"job"}, test.args...)...), app.ExitUsage, test.words)
	}
}

// TestBulkAsks: above a hundred jobs a person types their number, and a script says --yes.
func TestBulkAsks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.expect(s.feed(strings.Repeat("{}\n", 100), "job", "enqueue", "mail", "--file", "-", "--queue", "some"), 0)
		s.expect(s.feed(strings.Repeat("{}\n", 101), "job", "enqueue", "mail", "--file", "-", "--queue", "many"), 0)
		left := func() int {
			t.Helper()
			return strings.Count(s.ok("job", "list", "--queue", "many", "--state", "available", "--all", "-o", "id"), "\n")
		}
		name := strings.TrimPrefix(s.env[app.EnvDatabase], "sqlite:")
		if strings.HasPrefix(name, "postgres://") {
			name = "postgres://"
		}
		const asks = "this cancels 101 jobs of namespace default in "
		s.expect(s.run("job", "cancel", "--queue", "many"), app.ExitUsage, asks, name,
			"; to go on without being asked, use --yes; see: holdfast job cancel")
		s.expect(s.feed("101\n", "job", "cancel", "--queue", "many"), app.ExitUsage, "use --yes") // no terminal
		s.expect(s.run("job", "cancel", "--queue", "many", "--terminate"), app.ExitUsage, "this terminates 101 jobs")
		s.terminal = true
		for _, typed := range []string{"", "\n", "100\n", "yes\n", "y\n", "1010\n"} {
			got := s.feed(typed, "job", "cancel", "--queue", "many")
			lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
			if got.code != app.ExitError || !strings.HasPrefix(lines[0], asks) ||
				!strings.HasSuffix(got.stderr, "holdfast: not confirmed; nothing was changed\n") ||
				!strings.HasPrefix(lines[1], "Type 101 to go on: ") {
				t.Errorf("%q typed: exit code %d, it says %s", typed, got.code, got.stderr)
			}
		}
		if n := left(); n != 101 {
			t.Errorf("%d jobs are left", n)
		}
		if got := s.run("job", "cancel", "--queue", "some"); strings.Contains(got.stderr, "Type") ||
			!strings.HasSuffix(got.stderr, "100 jobs are cancelled.\n") {
			t.Errorf("a hundred: %+v", got)
		}
		got := s.feed(" 101 \n", "job", "cancel", "--queue", "many")
		if got.code != 0 || !strings.HasSuffix(got.stderr, "101 jobs are cancelled.\n") || left() != 0 {
			t.Errorf("confirmed: exit code %d, %s", got.code, got.stderr)
		}
		again := s.run("job", "retry", "--state", "cancelled", "--queue", "many", "-y")
		if !strings.HasSuffix(again.stderr, "101 jobs are available.\n") {
			t.Errorf("%+v", again)
		}
		// Ctrl-C at the question.
		input := silence{make(chan struct{}), make(chan struct{})}
		defer close(input.ended)
		var stderr buffer
		env := s.environment(input, io.Discard, &stderr, "job", "cancel", "--queue", "many")
		signals := make(chan os.Signal)
		env.Signals = signals
		ended := make(chan int, 1)
		go func() { ended <- Run(context.WithoutCancel(t.Context()), env) }()
		<-input.asked
		signals <- os.Interrupt
		if code := <-ended; code != app.ExitInterrupted || left() != 101 {
			t.Errorf("exit code %d, %s", code, stderr.String())
		}
	})
}

// TestDryRunCounts: only what the verb would change is listed and counted, in its own words.
func TestDryRunCounts(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	first, second := s.enqueue("mail"), s.enqueue("mail")
	s.ok("job", "cancel", first)
	for _, test := range []struct{ args, id, note string }{
		{"retry --state available --state cancelled", second + "\n" + first + "\n", "2 jobs would be retried.\n"},
		{"delete --kind mail --state available --state cancelled", first + "\n", "1 job would be deleted; 1 of other states would be refused.\n"},
		{"cancel --state available --state cancelled", second + "\n", "1 job would be cancelled; 1 of other states would stay as they are.\n"},
		{"cancel --kind mail --terminate", second + "\n", "1 job would be terminated.\n"},
	} {
		got := s.run(strings.Fields("job " + test.args + " --dry-run -o id")...)
		if got.code != 0 || got.stdout != test.id || got.stderr != test.note {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
}
