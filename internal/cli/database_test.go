package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	target := filepath.Join(s.dir, "target.db")
	s.expect(s.run("copy", "--to", target), app.ExitUsage, "--from is missing")
	s.expect(s.run("copy", "--from", target), app.ExitUsage, "--to is missing")
	for range 10 { // always the first
		s.expect(s.run("copy"), app.ExitUsage, "--from is missing")
	}
	s.expect(s.run("copy", "--from", s.db, "--to", target), 1, "no such database: sqlite:"+target)
	if _, err := os.Stat(target); err == nil {
		t.Error("a copy that was refused has made its target")
	}
	s.ok("migrate", "up", "--database", target)
	s.ok("job", "enqueue", "mail", "--args", "{}", "--queue", "bulk")
	s.ok("job", "enqueue", "mail", "--args", "{}", "--in", "1h", "--namespace", "other")
	s.ok("queue", "pause", "bulk")

	n := s.start("dev")
	s.expect(s.run("copy", "--from", s.db, "--to", target), 1, "node 1 (", "lives in the source; stop it")
	n.stop(t)

	var copied views.Copied
	got := s.run("copy", "--from", s.db, "--to", target)
	s.decode(s.expect(got, 0), &copied)
	if copied.Source != 2 || copied.Target != 2 || len(copied.States) != 2 || copied.To != "sqlite:"+target {
		t.Errorf("%+v", copied)
	}
	if !strings.Contains(got.stderr, "Copying 2 jobs from sqlite:"+s.db) || !strings.Contains(got.stderr, "The copy is complete.") {
		t.Errorf("it said %q", got.stderr)
	}
	got = s.run("copy", "--from", s.db, "--to", target, "-o", "table")
	s.expect(got, 0)
	if got.stdout != "STATE      SOURCE  TARGET\nscheduled  1       1\navailable  1       1\nall        2       2\n" {
		t.Errorf("%s", got.stdout)
	}
	if !strings.Contains(got.stderr, "Everything was copied before.") {
		t.Errorf("it said %q", got.stderr)
	}
	if out := s.ok("queue", "list", "--database", target, "-o", "table"); !strings.Contains(out, " by ") {
		t.Errorf("%s", out)
	}
	s.ok("job", "enqueue", "mail", "--args", "{}")
	s.expect(s.run("copy", "--from", s.db, "--to", target), 1, "the copy was completed before, and the jobs have changed since")
	s.expect(s.run("copy", "--from", target, "--to", s.db), 1, "the target has jobs of its own")
}

func TestBackup(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.ok("job", "enqueue", "mail", "--args", "{}")
	s.start("dev")
	file := filepath.Join(s.dir, "backup.db")
	var backup views.Backup
	s.decode(s.ok("backup", file), &backup)
	if info, err := os.Stat(file); err != nil || backup.Jobs != 1 || backup.Bytes != info.Size() || backup.File != file {
		t.Errorf("%+v, %v", backup, err)
	}
	if out := s.ok("job", "list", "--database", file, "-o", "id"); strings.Count(out, "\n") != 1 {
		t.Errorf("%s", out)
	}
	s.expect(s.run("backup", file), 1, "holdfast: "+file+" exists; name a new file")
	s.expect(s.run("backup", filepath.Join(s.dir, "none", "x.db")), 1, "holdfast: there is no directory "+filepath.Join(s.dir, "none")+"\n")
	s.expect(s.run("backup", file+"2", "--database", s.db+"-nosuch"), 1, "no such database")
	s.expect(s.run("backup", file+"2", "--database", "postgres://localhost/app"), app.ExitUsage, "pg_dump")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var health struct {
		Healthy       bool
		Problems      []string
		Warnings      []string
		Schema, Nodes int
		Queue         string
	}
	wantIll := func(problem string, args ...string) {
		t.Helper()
		got := s.run(append([]string{"health"}, args...)...)
		s.expect(got, 1, problem)
		s.decode(got.stdout, &health)
		if health.Healthy || len(health.Problems) == 0 || !strings.Contains(fmt.Sprint(health.Problems), problem) {
			t.Errorf("%+v", health)
		}
	}
	wantIll("no such database")
	s.ok("migrate", "up")
	wantIll(`0 nodes are alive in namespace "default", not 1`)
	s.ok("health", "--nodes", "0")
	s.holds(s.ok("health", "--nodes", "0", "-o", "table"), ", 0 nodes alive\n")
	s.start("dev")
	s.holds(s.ok("health", "-o", "table"), ", 1 node alive\n")
	s.decode(s.ok("health"), &health)
	if !health.Healthy || health.Nodes != 1 || health.Schema == 0 || len(health.Problems) != 0 {
		t.Errorf("%+v", health)
	}
	wantIll(`1 node is alive in namespace "default", not 2`, "--nodes", "2")
	wantIll(`0 nodes are alive in namespace "other"`, "--namespace", "other")

	s.ok("job", "enqueue", "mail", "--args", "{}", "--queue", "slow")
	s.now = func() time.Time { return time.Now().Add(3 * time.Second) }
	s.ok("health", "--max-lag", "1h")
	wantIll("a job of queue slow is available for ", "--max-lag", "2s")
	if health.Queue != "slow" {
		t.Errorf("%+v", health)
	}
	s.ok("queue", "pause", "slow")
	s.now = time.Now
	s.expectNote(s.run("health", "--max-lag", "2s"), "")
	s.now = func() time.Time { return time.Now().Add(15 * time.Second) } // as if the node had not beaten since
	got := s.run("health")
	s.expect(got, 0)
	s.decode(got.stdout, &health)
	if len(health.Warnings) != 1 || !health.Healthy || !regexp.MustCompile(
		`^Warning: node 1 \(.*\) has sent no heartbeat for [12]\ds.*\.\n$`).MatchString(got.stderr) {
		t.Errorf("a silent node: %+v, %s", health, got.stderr)
	}
	s.expect(s.run("health", "--max-lag", "0s"), app.ExitUsage, "--max-lag must be more than 0")
	s.expect(s.run("health", "--nodes", "-1"), app.ExitUsage, "--nodes -1")
}

// TestDoctor: problems fail, warnings do if they are to, and what to do is said.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	warnings := "1 finding to look after"
	if strings.Contains(s.run("doctor", "-o", "table").stdout, "warning  disk ") { // temporary files are in memory here
		warnings = "2 findings to look after"
	}
	s.expect(s.run("doctor", "--fail-on", "note"), app.ExitUsage, `--fail-on "note"`)
	s.expect(s.run("doctor", "--timeout", "0s"), app.ExitUsage, "--timeout must be more than 0")
	s.expect(s.run("doctor"), 1, "1 finding to look after")
	s.ok("migrate", "up")
	table := s.ok("doctor", "-o", "table")
	s.holds(table, "warning  nodes ")
	s.holds(table, "→ start a program with handlers, or holdfast worker\n")
	s.expect(s.run("doctor", "--fail-on", "warning"), 1, warnings)
	s.ok("job", "enqueue", "mail", "--args", "{}")
	var report struct {
		Worst    string
		Findings []struct {
			Check, Severity, Text string
			Do                    *string
		}
	}
	got := s.run("doctor")
	s.expect(got, 1, "1 finding to look after")
	s.decode(got.stdout, &report)
	if report.Worst != "problem" || len(report.Findings) == 0 {
		t.Errorf("%+v", report)
	}
	for _, f := range report.Findings {
		if (f.Check == "jobs without nodes") != (f.Severity == "problem") || (f.Do == nil) != (f.Severity == "ok") {
			t.Errorf("%+v", f)
		}
	}
}
