package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// TestTooLongARest: it is told before a database is opened, with the bound, and nothing is printed.
func TestTooLongARest(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, length := range []string{"721h", "0s"} {
		if out := s.expect(s.run("queue", "rest", "q", "--for", length), app.ExitUsage, "cannot rest for", "720h0m0s"); out != "" {
			t.Errorf("--for %s printed %q", length, out)
		}
	}
}

// TestQueueVerbs shows, drains and deletes queues on both databases.
func TestQueueVerbs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.serve((&shop{}).register)
		// A durable job that waits, jobs in other states, and another queue.
		begun := s.enqueue("order", "--args", `{"to":"ada"}`, "--queue", "bulk")
		s.waits(begun, "signal approved")
		s.expect(s.feed(strings.Repeat("{}\n", 1200), "job", "enqueue", "mail", "--file", "-", "--queue", "bulk"), 0)
		later := s.enqueue("mail", "--queue", "bulk", "--in", "1h")
		keyed := s.enqueue("mail", "--queue", "bulk", "--ordering-key", "k")
		other := s.enqueue("mail", "--queue", "other")

		var q struct {
			Name     string
			Paused   bool
			Counts   map[string]views.Count
			Nodes    []struct{ Kinds []string }
			Unserved []struct{ Kind, Queue string }
		}
		s.decode(s.ok("queue", "get", "bulk", "-o", "json"), &q)
		if q.Name != "bulk" || q.Paused || q.Counts["available"].Jobs != 1201 || q.Counts["scheduled"].Jobs != 1 ||
			q.Counts["waiting"].Jobs != 1 || len(q.Nodes) != 1 || len(q.Nodes[0].Kinds) == 0 ||
			len(q.Unserved) != 1 || q.Unserved[0].Kind != "mail" {
			t.Errorf("the queue is %+v", q)
		}
		if out := s.ok("queue", "get", "bulk", "-o", "table"); !strings.Contains(out, "available   1201\n") ||
			!strings.Contains(out, "live nodes that serve it:") ||
			!strings.Contains(out, "no live node serves the kind\n") {
			t.Errorf("%s", out)
		}
		s.expect(s.run("queue", "delete", "bulk"), 1, `queue bulk has unfinished jobs; "holdfast queue drain bulk" cancels them`)
		s.expect(s.run("queue", "drain", "bulk"), app.ExitUsage, "this cancels 1203 jobs of namespace default", "use --yes")

		got := s.run("queue", "drain", "bulk", "--dry-run", "-o", "id")
		if got.code != 0 || strings.Count(got.stdout, "\n") != 1203 || got.stderr != "1203 jobs would be cancelled.\n" {
			t.Errorf("a dry run: %d, %d lines, %s", got.code, strings.Count(got.stdout, "\n"), got.stderr)
		}
		got = s.run("queue", "drain", "bulk", "--yes", "--reason", "sent twice", "-o", "table")
		const open = "The queue is not paused: more jobs may come, and start.\n"
		want := "1 job is available; it ends soon, if it is durable after its compensations.\n1202 jobs are cancelled.\n" + open
		if got.code != 0 || got.stdout != "" || got.stderr != want {
			t.Errorf("drained: %+v", got)
		}
		until(t, "the compensations", func() bool { return s.job(begun)["state"] == "cancelled" })
		for id, want := range map[string]string{later: "cancelled", keyed: "cancelled", other: "available"} {
			if v := s.job(id); v["state"] != want {
				t.Errorf("a job is %v, want %s", v["state"], want)
			}
		}
		if actions, _ := s.job(later)["actions"].([]any); len(actions) != 1 {
			t.Errorf("recorded is %v", actions)
		}
		s.expectNote(s.run("queue", "drain", "bulk", "-o", "table"), "No jobs found.\n"+open)
		s.ok("queue", "pause", "bulk")
		s.expectNote(s.run("queue", "drain", "bulk", "-o", "table"), "No jobs found.\n")

		if out := s.ok("queue", "delete", "bulk", "-o", "table"); out != "deleted queue bulk\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("queue", "list", "-o", "id"); out != "other\n" {
			t.Errorf("the queues are %s", out)
		}
		s.expect(s.run("queue", "get", "bulk"), 1, `no such queue in namespace "default": bulk; "holdfast queue list" lists the queues`)
		s.expect(s.run("queue", "drain", "bulk"), 1, "no such queue")
		s.expect(s.run("queue", "get", "other", "-n", "elsewhere"), 1, `no such queue in namespace "elsewhere"`)
		got = s.run("queue", "delete", "bulk", "other", "never", "-o", "jsonl")
		if got.code != 1 || strings.Count(got.stdout, "\n") != 3 ||
			!strings.Contains(got.stdout, `"queue":"other","deleted":false,"error":"queue other has unfinished jobs`) ||
			!strings.HasSuffix(got.stderr, "holdfast: 3 of 3 queues were not deleted\n") {
			t.Errorf("%+v", got)
		}
		got = s.run("queue", "pause", "mial", "mial", "-o", "jsonl")
		if strings.Count(got.stdout, `"new":true`) != 1 || got.stderr != "Queue mial did not exist; created it.\n" {
			t.Errorf("%+v", got)
		}
		if out := s.ok("queue", "rm", "mial", "-o", "id"); out != "mial\n" {
			t.Errorf("%s", out)
		}
	})
}

// TestKindList: kinds that nodes serve, and those that wait in vain.
func TestKindList(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.ok("migrate", "up")
		s.expectNote(s.run("kind", "list", "-o", "table"), "No kinds: no node is alive, no job waits for one, and none is described.\n")
		s.enqueue("mail", "--queue", "bulk")
		s.enqueue("mail")
		s.enqueue("http", "--queue", "bulk", "--args", `{"url":"http://127.0.0.1:1/"}`)
		s.enqueue("elsewhere", "-n", "other")
		s.start("worker", "--queue", "default")
		var kinds []struct {
			Name     string
			Nodes    []string
			Unserved []struct {
				Queue string
				Known bool
			}
		}
		s.decode(s.ok("kind", "list", "-o", "json"), &kinds)
		if len(kinds) != 2 || kinds[0].Name != "http" || len(kinds[0].Nodes) != 1 || len(kinds[0].Unserved) != 1 || !kinds[0].Unserved[0].Known ||
			kinds[1].Name != "mail" || len(kinds[1].Nodes) != 0 || len(kinds[1].Unserved) != 2 || kinds[1].Unserved[0].Known {
			t.Errorf("the kinds are %+v", kinds)
		}
		if out := s.ok("kinds", "ls", "-q"); out != "http\nmail\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("kind", "list", "-o", "name", "-n", "other"); out != "kind/elsewhere\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("kind", "list", "-o", "table", "--columns", "name,nodes"); out != "NAME  NODES\nhttp  1\nmail  0\n" {
			t.Errorf("%s", out)
		}
	})
}

// TestAliases: words of other commands.
func TestAliases(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail")
	s.ok("schedule", "create", "nightly", "mail", "--cron", "@daily")
	for _, pair := range [][2][]string{
		{{"job", "ls"}, {"job", "list"}},
		{{"jobs", "ls", "-q"}, {"job", "list", "-q"}},
		{{"job", "show", id}, {"job", "get", id}},
		{{"job", "describe", id}, {"job", "get", id}},
		{{"job", "inspect", id[:13]}, {"job", "get", id}},
		{{"queue", "show", "default"}, {"queue", "get", "default"}},
		{{"node", "ls"}, {"node", "list"}},
		{{"kind", "ls"}, {"kind", "list"}},
		{{"schedules", "ls"}, {"schedule", "list"}},
		{{"schedule", "show", "nightly", "--output", "yaml"}, {"schedule", "get", "nightly", "--output", "yaml"}},
	} {
		if alias, verb := s.ok(pair[0]...), s.ok(pair[1]...); alias != verb {
			t.Errorf("%v prints\n%s, and %v\n%s", pair[0], alias, pair[1], verb)
		}
	}
	if out := s.ok("job", "add", "mail", "-q"); len(out) != len(id)+1 {
		t.Errorf("%q", out)
	}
}
