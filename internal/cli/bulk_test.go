package cli

import (
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
	const many = 207 // they are changed a hundred at a time
	s.expect(s.feed(strings.Repeat("{}\n", many), "job", "enqueue", "mail", "--file", "-", "--queue", "bulk"), 0)
	other := s.enqueue("mail", "--queue", "other")
	push := s.enqueue("push", "--queue", "bulk", "--in", "1h", "--tag", "x")
	count := func(args ...string) int {
		s.Helper()
		return strings.Count(s.ok(append([]string{"job", "list", "--all", "-o", "jsonl"}, args...)...), "\n")
	}

	got := s.run("job", "cancel", "--queue", "bulk", "--dry-run", "-o", "jsonl")
	if strings.Count(got.stdout, "\n") != many+1 || got.stderr != "208 jobs would be changed.\n" || count("--state", "cancelled") != 0 {
		s.Errorf("a dry run: %d lines, %q", strings.Count(got.stdout, "\n"), got.stderr)
	}
	got = s.run("job", "cancel", "--queue", "bulk", "--kind", "mail", "--reason", "spam", "-o", "table")
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
	s.decode(s.ok("job", "retry", "--state", "cancelled", "--kind", "mail", "-q", "-o", "json"), &views)
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
