package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// TestLists: what "job list" and "job count" select, in which order.
func TestLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.Helper()
		first := s.enqueue("mail", "--args", `{"customer":{"id":7}}`, "--metadata", `{"from":"web"}`, "--in", "2h")
		second := s.enqueue("mail", "--args", `{"customer":{"id":8}}`, "--in", "1h")
		third := s.enqueue("push")
		for _, test := range []struct {
			flags []string
			want  []string
		}{
			{nil, []string{third, second, first}},
			{[]string{"--sort", "oldest"}, []string{first, second, third}},
			{[]string{"--sort", "run_at", "--state", "scheduled"}, []string{second, first}},
			{[]string{"--state", "scheduled"}, []string{second, first}},
			{[]string{"--state", "available, running", "--state", "scheduled"}, []string{third, second, first}},
			{[]string{"--args", "customer.id=7"}, []string{first}},
			{[]string{"--args", "customer.id=7.0", "--metadata", "from=web"}, []string{first}},
			{[]string{"--metadata", `from="mail"`}, nil},
			{[]string{"--id", second, "--id", third}, []string{third, second}},
			{[]string{"--since", "1h"}, []string{third, second, first}},
			{[]string{"--before", "1h"}, nil},
			{[]string{"--finished-since", "1h"}, nil},
			{[]string{"--root", first}, nil},
			{[]string{"--lost-from", "77"}, nil},
		} {
			got := strings.Fields(s.ok(append([]string{"job", "list", "-o", "id"}, test.flags...)...))
			if !slices.Equal(got, test.want) {
				s.Errorf("%v: %v, want %v", test.flags, got, test.want)
			}
			if slices.Contains(test.flags, "--sort") {
				continue
			}
			var count views.Count
			s.decode(s.ok(append([]string{"job", "count", "-o", "json"}, test.flags...)...), &count)
			if count != (views.Count{Jobs: len(test.want), Exact: true}) {
				s.Errorf("%v: %+v are counted, want %d", test.flags, count, len(test.want))
			}
		}
		if got := s.ok("job", "count", "-o", "table"); got != "3\n" {
			s.Errorf("%q", got)
		}
		got := s.run("job", "list", "--sort", "oldest", "--limit", "1", "-o", "table")
		s.expectNote(got, "Showing the oldest 1; use --limit or --all for more.\n")
		for _, test := range []struct {
			args  []string
			words string
		}{
			{[]string{"list", "--sort", "size"}, "must be newest, oldest, run_at or finished"},
			{[]string{"list", "--since", "soon"}, "--since"},
			{[]string{"list", "--since=-1h"}, "in the future"},
			{[]string{"list", "--args", "customer.id"}, "must be PATH=VALUE"},
			{[]string{"count", "--metadata", "=1"}, "must be PATH=VALUE"},
			{[]string{"count", "--id", "x"}, "--id"},
			{[]string{"list", "--root", "x"}, "--root"},
		} {
			s.expect(s.run(append([]string{"job"}, test.args...)...), app.ExitUsage, test.words)
		}
	})
}

// TestSetAndTag: a person changes a job that has not started, and tags of any.
func TestSetAndTag(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.Helper()
		id := s.enqueue("mail", "--args", `{"n":1}`, "--in", "1h", "--tag", "old")
		got := s.run("job", "set", id[:13], "--priority", "1", "--queue", "slow", "--args", `{"n":2}`, "--tag", "a", "--metadata", `{"m":1}`,
			"--max-attempts", "3", "--in", "0s", "--reason", "now", "-o", "table")
		if got.code != 0 || got.stdout != "job "+id+" is changed; it is available\n" {
			s.Errorf("%+v", got)
		}
		job := s.job(id)
		actions, _ := job["actions"].([]any)
		if job["priority"] != 1.0 || job["queue"] != "slow" || job["state"] != "available" || job["max_attempts"] != 3.0 || len(actions) != 1 {
			s.Errorf("%v", job)
		}
		s.ok("job", "tag", id, "b", "c", "--remove", "a")
		if tags := s.job(id)["tags"]; !slices.Equal(tags.([]any), []any{"b", "c"}) { //nolint:errcheck // a list of texts
			s.Errorf("the tags are %v", tags)
		}
		s.ok("job", "cancel", id)
		s.ok("job", "tag", id, "--remove", "b")
		unique, paused := s.enqueue("mail", "--unique", "args"), s.enqueue("mail")
		s.ok("job", "pause", paused)
		s.holds(s.ok("job", "get", unique, "-o", "table"), "unique      yes\n")
		for _, test := range []struct {
			args  []string
			code  int
			words string
		}{
			{
				[]string{"set", id, "--priority", "2"},
				app.ExitError,
				"job " + id + " was not changed: it is cancelled; of a finished job, only --tag and --metadata change something",
			},
			{[]string{"set", unique, "--args", `{"n":2}`}, app.ExitError, "it has a unique key, which may depend on its args; cancel it, and"},
			{[]string{"set", paused, "--in", "1h"}, app.ExitError, "it is waiting; its time is that of what it waits for"},
			{[]string{"set", id}, app.ExitUsage, "needs a flag"},
			{[]string{"set", id, "--priority", "9"}, app.ExitUsage, "priority"},
			{[]string{"set", id, "--args", "{"}, app.ExitUsage, "--args"},
			{[]string{"set", id, "--in", "1h", "--at", "2030-01-01"}, app.ExitUsage, "cannot be used together"},
			{[]string{"tag", id}, app.ExitUsage, "needs tags to add, or --remove"},
			{[]string{"tag", holdfast.NewID().String(), "x"}, app.ExitError, "there is no such job in this namespace"},
			{[]string{"set", holdfast.NewID().String(), "--priority", "1"}, app.ExitError, "there is no such job in this namespace"},
		} {
			s.expect(s.run(append([]string{"job"}, test.args...)...), test.code, test.words)
		}
		var told []views.Changed
		s.decode(s.run("job", "set", paused, "--in", "1h", "-o", "json").stdout, &told)
		if len(told) != 1 || told[0].ID != paused || told[0].State != "waiting" || !strings.HasPrefix(string(told[0].Error), "it is waiting") {
			s.Errorf("%+v", told)
		}
	})
}

// TestDeleteJobs: finished jobs are deleted by id and by filters; above a hundred a person is
// asked.
// TestQuery: one text selects jobs in the place of flags, and never all of them by chance.
func TestQuery(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.Helper()
		mail, report := s.enqueue("mail", "--queue", "a b"), s.enqueue("report")
		s.ok("job", "cancel", report)
		for query, want := range map[string]string{
			`queue:"a b"`: mail, "state:cancelled kind:report": report, "kind:nothing": "", mail: mail,
		} {
			if got := strings.TrimSpace(s.ok("job", "list", "--query", query, "-o", "id")); got != want {
				s.Errorf("%s selects %q, want %q", query, got, want)
			}
		}
		s.expect(s.run("job", "list", "--query", "stat:failed"), app.ExitUsage, `there is no "stat"`)
		s.expect(s.run("job", "list", "--query", "kind:a", "--queue", "b"), app.ExitUsage, "cannot be used together")
		s.expect(s.run("job", "cancel", "--query", " "), app.ExitUsage, "--query is empty")
		s.expect(s.run("job", "retry", "--query", "kind:report"), app.ExitUsage, "has to say which states")
		s.ok("job", "retry", "--query", "state:cancelled")
		if n := strings.TrimSpace(s.ok("job", "count", "--query", "state:available", "-o", "table")); n != "2" {
			s.Errorf("%s jobs are available", n)
		}
	})
}

func TestDeleteJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.Helper()
		s.expect(s.feed(strings.Repeat("{}\n", 101), "job", "enqueue", "mail", "--file", "-", "--queue", "many"), 0)
		open, done := s.enqueue("mail"), s.enqueue("mail")
		s.ok("job", "cancel", done)
		s.ok("job", "cancel", "--queue", "many", "-y")
		s.expect(s.run("job", "delete", "--queue", "many"), app.ExitUsage, "this deletes 101 jobs of namespace default")
		got := s.run("job", "delete", "--finished-since", "1h", "--dry-run", "-o", "id")
		if strings.Count(got.stdout, "\n") != 102 || got.stderr != "102 jobs would be deleted.\n" {
			s.Errorf("a dry run: %d lines, %q", strings.Count(got.stdout, "\n"), got.stderr)
		}
		if got = s.run("job", "delete", "--queue", "many", "--reason", "spam", "--yes", "-o", "table"); got.stderr != "101 jobs are deleted.\n" {
			s.Errorf("%+v", got)
		}
		if got = s.run("job", "delete", done, open, "-o", "table"); got.code != app.ExitError || got.stdout != "job "+done+" is deleted\n" ||
			!strings.Contains(got.stderr,
				"job "+open+" was not changed: it is available; only finished jobs are deleted, and \"holdfast job cancel\"") {
			s.Errorf("%+v", got)
		}
		if n := strings.TrimSpace(s.ok("job", "count", "-o", "table")); n != "1" {
			s.Errorf("%s jobs are left", n)
		}
	})
}
