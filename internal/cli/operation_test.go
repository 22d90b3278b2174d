package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// operationJSON is what tests look at.
type operationJSON struct {
	ID, Action, State, Note string
	Expected, Changed       int
	Filter                  struct{ Tags []string }
}

// TestOperations: above a thousand jobs a verb starts an operation, which the verbs on operations
// show and cancel.
func TestOperations(t *testing.T) {
	t.Parallel()
	onBoth(t, operationsOn)
}

func operationsOn(t *testing.T, s *shell) {
	t.Helper()
	const many = 1001
	s.expect(s.feed(strings.Repeat("{}\n", many), "job", "enqueue", "mail", "--file", "-", "--in", "1h", "--tag", "x"), 0)
	s.expect(s.run("job", "cancel", "--tag", "x", "--yes"), app.ExitError, "no live node of namespace default", "--foreground", "--detach")
	s.expect(s.run("job", "cancel", "--tag", "x", "--yes", "--detach", "--foreground"), app.ExitUsage, "exclude each other")
	s.expect(s.run("job", "cancel", s.enqueue("push"), "--detach"), app.ExitUsage, "require a filter")

	var made operationJSON
	s.decode(s.ok("job", "pause", "--tag", "x", "--yes", "--detach", "--reason", "wait"), &made)
	if made.State != "available" || made.Action != "pause" || made.Expected != many ||
		made.Note != "wait" || !slices.Equal(made.Filter.Tags, []string{"x"}) {
		t.Errorf("%+v", made)
	}
	var listed []operationJSON
	s.decode(s.ok("operation", "list"), &listed)
	if len(listed) != 1 || listed[0].ID != made.ID {
		t.Errorf("%+v", listed)
	}
	s.decode(s.ok("operation", "get", made.ID), &made)
	if got := s.run("job", "cancel", "--state", "available", "-o", "table", "--dry-run"); got.stderr != "1 job would be cancelled.\n" {
		t.Errorf("%+v", got)
	}
	if got := s.run("job", "cancel", "--state", "available", "-o", "table"); got.stderr != "1 job is cancelled.\n" {
		t.Errorf("other jobs, and not the operation: %+v", got)
	}
	s.decode(s.ok("operation", "cancel", made.ID, "--reason", "no"), &made)
	if made.State != "cancelled" {
		t.Errorf("%+v", made)
	}
	s.expect(s.run("operation", "follow", made.ID), app.ExitError, "is cancelled", "no")
	s.expect(s.run("operation", "get", s.enqueue("push")), app.ExitError, "is no operation")
	got := s.run("job", "pause", "--tag", "x", "--yes", "--foreground", "-o", "table")
	if got.code != 0 || got.stderr != "1001 jobs are paused.\n" {
		t.Errorf("%+v", got)
	}
}

// TestBulkEdits moves, prioritizes and tags jobs by ids and by filters.
func TestBulkEdits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		first := s.enqueue("mail", "--in", "1h")
		second := s.enqueue("mail", "--in", "1h")
		other := s.enqueue("push", "--in", "1h")
		for _, args := range [][]string{
			{"move", first, second, "--to", "slow"},
			{"prioritize", "--kind", "mail", "--to", "4", "--reason", "later"},
			{"retag", "--kind", "mail", "--add", "seen", "--add", "old"},
			{"retag", "--tag", "seen", "--remove", "old"},
			{"pause", "--queue", "slow"},
		} {
			if got := s.run(append(append([]string{"job"}, args...), "-o", "table")...); got.code != 0 {
				s.Errorf("%q: %+v", args, got)
			}
		}
		for _, id := range []string{first, second} {
			job := s.job(id)
			if job["queue"] != "slow" || fmt.Sprint(job["priority"]) != "4" || fmt.Sprint(job["tags"]) != "[seen]" || job["state"] != "waiting" {
				s.Errorf("%v", job)
			}
		}
		if job := s.job(other); job["queue"] != "default" || job["state"] != "scheduled" || fmt.Sprint(job["priority"]) != "2" {
			s.Errorf("another one: %v", job)
		}
		if got := s.run("job", "resume", "--state", "waiting", "-o", "table"); got.code != 0 || got.stderr != "2 jobs are scheduled.\n" {
			s.Errorf("%+v", got)
		}
		s.expect(s.run("job", "move", first), app.ExitUsage, "--to is required")
		s.expect(s.run("job", "prioritize", first, "--to", "5"), app.ExitUsage, "from 1")
		s.expect(s.run("job", "retag", first), app.ExitUsage, "--add or --remove")
		s.expect(s.run("job", "resume", "--kind", "mail"), app.ExitUsage, "--state is required")
	})
}
