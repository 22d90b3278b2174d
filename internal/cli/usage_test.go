package cli

import (
	"maps"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// noID stands for no job.
const noID = "00000000-0000-0000-0000-000000000000"

// TestMistakesInFilters: they are told by the flag, before anything is written.
func TestMistakesInFilters(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for args, words := range map[string]string{
		"list --metadata a..b=1":                                          `--metadata "a..b=1": a PATH is`,
		"cancel --args /x~2=1 --dry-run":                                  `--args "/x~2=1": a PATH is`,
		"count --metadata .=1":                                            `--metadata ".=1": a PATH is`,
		"list --sort finished --state available":                          "--sort finished: has no available jobs; leave out --state available",
		"list --sort run_at --state completed":                            "--sort run_at: has no completed jobs",
		"list --lost-from 0":                                              `--lost-from: there is no node 0; "holdfast node list" shows`,
		"cancel --lost-from -1":                                           "--lost-from: there is no node -1",
		"cancel --lost-from x":                                            `--lost-from "x" is not an integer`,
		"cancel --parent " + noID:                                         "--parent: no job has the id " + noID,
		"count --root " + noID:                                            "--root: no job has the id " + noID,
		"delete --finished-before 0001-01-01T00:00:00Z":                   `--finished-before: "0001-01-01T00:00:00Z" is too long ago`,
		"list --since 1h --before 2h":                                     "--before is earlier than --since: no job fits both",
		"cancel --finished-since 2026-02-01 --finished-before 2026-01-01": "--finished-before is earlier than --finished-since",
		"list --state failed,done":                                        `--state "done": must be one of`,
		"enqueue mail -1":                                                 "-1 looks like a flag; to pass it as an argument, put -- before it",
		"enqueue mail -1.5e3":                                             "-1.5e3 looks like a flag",
		"enqueue mail -x1":                                                "unknown shorthand flag: 'x' in -x1",
		"cancel":                                                          "holdfast: job cancel needs job ids, or filters",
		"cancel " + arg.ExampleID + " --queue q":                          "holdfast: job cancel takes job ids or filters, not both",
		"set " + arg.ExampleID:                                            "holdfast: job set needs a flag",
		"tag " + arg.ExampleID:                                            "holdfast: job tag needs tags to add",
		"enqueue mail --id abc":                                           `--id "abc": must be a whole UUIDv7`,
		"enqueue mail --id 01936d3e":                                      `--id "01936d3e": must be a whole UUIDv7`,
		"enqueue mail --id 01936d3e-7c2a-4b51-9a0e-3f1d5c8e2b64":          "must be a whole UUIDv7",
		"fork " + arg.ExampleID + " --from 1 --id zz":                     `--id "zz": must be a whole UUIDv7`,
		"complete " + arg.ExampleID + " {bad":                             "RESULT: not JSON",
	} {
		for _, format := range []string{"json", "yaml", "table", "jsonl"} {
			got := s.run(append([]string{"job", "-o", format}, strings.Fields(args)...)...)
			if s.expect(got, app.ExitUsage, words); got.stdout != "" {
				t.Errorf("%s: %q", args, got.stdout)
			}
		}
	}
	s.enqueue("mail")
	s.expect(s.run("job", "enqueue", "mail", "--", "-1"), 0)
	out := s.ok("job", "list", "-o", "table", "--columns", "ID, State")
	if !strings.HasPrefix(out, "ID ") || !strings.Contains(out, "available") {
		t.Errorf("%s", out)
	}
	s.holds(s.ok("job", "list", "-o", "jsonl", "--columns", "STATE"), `{"state":"available"}`)
}

// TestMistakesInVariables: the error names the variable, and shows no password.
func TestMistakesInVariables(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.expect(s.run("job", "list"), app.ExitError, app.EnvDatabase+": no such database")
	s.expect(s.run("job", "list", "--database", s.db), app.ExitError, "holdfast: no such database")
	for _, database := range []string{"mysql://ada:secret@localhost/x", "postgres://ada:secret@h:port/x", "ada:secret@localhost"} {
		s.env[app.EnvDatabase] = database
		got := s.run("job", "list")
		if s.expect(got, app.ExitUsage, app.EnvDatabase+": "); strings.Contains(got.stderr, "secret") {
			t.Errorf("%s", got.stderr)
		}
	}
	s.env[app.EnvDatabase] = s.db
	s.ok("migrate", "up")
	s.env[app.EnvNamespace] = strings.Repeat("n", 300)
	s.expect(s.run("job", "list"), app.ExitUsage, app.EnvNamespace+": ")
}

// TestUnknownVariables: a node tells of them once, by name alone, and not of those that it knows or
// that a job has.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	maps.Copy(s.env, map[string]string{
		"HOLDFAST_SLOT": "secret", "HOLDFAST_QUEUE": "mail", "HOLDFAST_SLOTS": "3", "HOLDFAST_JOB_ID": "x", "HOLDFAST_ATTEMPT": "1",
		"HOLDFAST_LEASE": "1", "PATH": "/bin",
	})
	for _, verb := range []string{"dev", "worker"} {
		n := s.start(verb)
		said := n.stderr.String()
		want := "Not a variable of holdfast " + verb + ", and ignored: HOLDFAST_QUEUE, HOLDFAST_SLOT.\n"
		if strings.Count(said, want) != 1 || strings.Contains(said, "secret") {
			t.Errorf("%s", said)
		}
		n.stop(t)
	}
}
