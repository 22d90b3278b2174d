package cli

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// fullDisk is a file on a full disk.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// complete returns the completions of the last word of a command line.
func (s *shell) complete(args ...string) (found []string, files bool) {
	s.Helper()
	got := s.run(append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if got.code != 0 {
		s.Fatalf("completing %v: %+v", args, got)
	}
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	last := len(lines) - 1
	if strings.Contains(got.stderr, "rror") {
		s.Errorf("completing %v: %s", args, got.stderr)
	}
	return lines[:last], lines[last] == ":0"
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if found, _ := s.complete("job", "enqueue", ""); !slices.Equal(found, []string{"exec", "http"}) {
		t.Errorf("without a database: %v", found)
	}
	s.start("worker", "--namespace", "prod")
	job := s.enqueue("mail", "--queue", "bulk", "--tag", "nightly")
	done := s.enqueue("push", "--queue", "other")
	s.ok("job", "cancel", done)
	s.ok("schedule", "create", "nightly", "mail", "--cron", "@daily")
	s.ok("schedule", "create", "weekly", "mail", "--cron", "@weekly", "--namespace", "default")
	s.ok("namespace", "create", "shop")
	s.ok("endpoint", "create", "pay", "--url", "https://example.com/pay")
	s.ok("event", "on")
	s.ok("webhook", "create", "crm", "--url", "https://example.com/crm", "--event", "job.failed")
	for _, test := range []struct {
		args string
		want []string
	}{
		{"job get ", []string{done, job}},
		{"job cancel ", []string{job}},
		{"job cancel " + job + " ", nil},
		{"job retry ", []string{done}},
		{"job resume ", []string{done}},
		{"job complete ", nil},
		{"job fail ", nil},
		{"job get " + job + " ", nil},
		{"job get " + job[:34], []string{done, job}},
		{"job enqueue ", []string{"exec", "http", "mail", "push"}},
		{"job enqueue m", []string{"mail"}},
		{"job list --kind ", []string{"exec", "http", "mail", "push"}},
		{"job list --queue ", []string{"bulk", "other"}},
		{"job list --tag ", []string{"nightly"}},
		{"job list --parent ", []string{done, job}},
		{"job list --state c", []string{"completed", "cancelled"}},
		{"queue pause ", []string{"bulk", "other"}},
		{"queue pause bulk ", []string{"other"}},
		{"schedule get ", []string{"nightly", "weekly"}},
		{"schedule get n", []string{"nightly"}},
		{"schedule pause nightly ", []string{"weekly"}},
		{"schedule get nightly ", nil},
		{"schedule backfill ", []string{"nightly", "weekly"}},
		{"schedule create x ", []string{"exec", "http", "mail", "push"}},
		{"schedule create ", nil},
		{"schedule create x mail --overlap buffer", []string{"buffer-one", "buffer-all"}},
		{"schedule update nightly --missed c", []string{"coalesce", "catch-up"}},
		{"schedule list --columns name,f", []string{"name,fires_left", "name,fired"}},
		{"queue list --namespace ", []string{"default", "prod", "shop"}},
		{"namespace get ", []string{"default", "prod", "shop"}},
		{"namespace create ", nil},
		{"endpoint get ", []string{"pay"}},
		{"endpoint create ", []string{"exec", "http", "mail", "push"}},
		{"webhook get ", []string{"crm"}},
		{"key create ", nil},
		{"job enqueue mail --unique args,q", []string{"args,queue"}},
		{"job enqueue mail --on-conflict re", []string{"return", "reject", "replace"}},
		{"job enqueue mail --priority ", []string{"1", "2", "3", "4"}},
		{"job list -o ", []string{"table", "json", "jsonl", "yaml", "id", "name"}},
		{"job list -o j", []string{"json", "jsonl"}},
		{"job list --columns id,created", []string{"id,created_at"}},
		{"queue list --columns name,p", []string{"name,paused", "name,paused_at", "name,paused_by"}},
		{"node list --columns dead", []string{"dead_after"}},
		{"worker --namespace prod,", []string{"prod,default", "prod,shop"}},
		{"worker --queue bulk,o", []string{"bulk,other"}},
		{"queue list --namespace prod,", nil},
		{"worker --log-level ", []string{"debug", "info", "warn", "error"}},
		{"dev --log-format ", []string{"short", "text", "json"}},
		{"job enqueue mail --on-failure only", []string{"only-failed", "only-cancelled"}},
		{"batch create --on-failure m", []string{"mail"}},
		{"batch create --on-end p", []string{"push"}},
		{"key create ci --role ", []string{"viewer", "operator", "admin"}},
		{"key create ci --scope nodes", []string{"nodes:read", "nodes:write"}},
		{"server --auth keys,o", []string{"keys,oidc"}},
		{"server --only ", []string{"callbacks"}},
		{"webhook create w --event job.f", []string{"job.failed"}},
		{"callback complete ", nil},
		{"callback answer ", nil},
		{"signal send " + job + " ", nil},
		{"help job w", []string{"wait", "why"}},
		{"help job wait ", nil},
	} {
		args := strings.Split(test.args, " ")
		if strings.HasSuffix(test.args, job[:34]) {
			test.want = slices.DeleteFunc(test.want, func(id string) bool { return !strings.HasPrefix(id, job[:34]) })
		}
		if found, _ := s.complete(args...); !slices.Equal(found, test.want) {
			t.Errorf("%s: %q, want %q", test.args, found, test.want)
		}
	}
	// Without a database there are no completions, and no error.
	if found, files := s.complete("job", "get", "--database", "postgres://127.0.0.1:1/x?sslmode=disable", ""); len(found) > 0 || files {
		t.Errorf("%v, files %t", found, files)
	}
	if code := Run(t.Context(), s.environment(strings.NewReader(""), fullDisk{}, io.Discard, "completion", "bash")); code != app.ExitError {
		t.Errorf("completion to a full disk: exit %d", code)
	}
	for _, args := range [][]string{{"completion", "tcsh"}, {"help", "nosuch"}, {"help", "job", "nosuch"}} {
		if out := s.expect(s.run(args...), app.ExitUsage, args[len(args)-1]); out != "" {
			t.Errorf("%v: %q", args, out)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := s.ok("completion", shell); len(out) < 1000 {
			t.Errorf("%s: %q", shell, out)
		}
	}
	line := s.ok("--version")
	if line != s.ok("version", "-o", "table") || s.ok("--version", "-o", "json") != s.ok("version") || !strings.HasPrefix(line, "holdfast ") {
		t.Errorf("%q", line)
	}
}

// TestCompletionsOfDurableJobs: names from what a job waits for, has done and has published.
func TestCompletionsOfDurableJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.serve((&shop{}).register)
		id := s.enqueue("order", "--args", `{"to":"ada"}`)
		s.waits(id, "signal approved")
		for args, want := range map[string][]string{
			"signal send " + id + " ":            {"approved"},
			"job stream " + id + " ":             {"log"},
			"job published " + id + " ":          {"progress"},
			"job fork " + id + " --from c":       {"charge"},
			"job fork " + id + " --from p":       {"progress"},
			"job published " + id + " p":         {"progress"},
			"job stream " + arg.ExampleID + " ":  nil,
			"job published " + id + " progress ": nil,
		} {
			if found, _ := s.complete(strings.Split(args, " ")...); !slices.Equal(found, want) {
				t.Errorf("%s: %q, want %q", args, found, want)
			}
		}
	})
}
