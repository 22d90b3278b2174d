//go:build unix

package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func binary(t *testing.T) string {
	t.Helper()
	return binaries.Path(t, "../../cmd/holdfast")
}

// process is a holdfast in a process of its own.
type process struct {
	cmd    *exec.Cmd
	stderr *buffer
}

// startProcess starts "holdfast dev" in a directory and returns when it serves. It is killed at the
// end of the test.
func startProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return startNode(t, dir, exec.Command(binary(t), append([]string{"dev"}, args...)...))
}

func startNode(t *testing.T, dir string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, stderr: &buffer{}}
	p.cmd.Dir, p.cmd.Stderr = dir, p.stderr
	p.cmd.Env = environ()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("holdfast dev said:\n%s", p.stderr)
		}
	})
	until(t, "the start of holdfast dev", func() bool { return strings.Contains(p.stderr.String(), "node started") })
	return p
}

// environ is the environment of a user without variables for Holdfast.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, app.EnvDatabase+"=") || strings.HasPrefix(v, app.EnvNamespace+"=")
	})
}

// command runs holdfast in a directory, as a user would.
func command(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = environ()
	_ = cmd.Run() // the exit code is in cmd
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// enqueueExec enqueues a shell script and returns the job's id.
func enqueueExec(t *testing.T, dir, script string) string {
	t.Helper()
	s := &shell{T: t}
	var v views.Enqueued
	got := command(t, dir, "job", "enqueue", "exec", "--args", scriptArgs(script))
	s.decode(s.expect(got, 0), &v)
	return v.ID
}

func scriptArgs(script string) string {
	data, err := output.Encode(map[string]any{"command": []string{"sh", "-c", script}}, "", "")
	if err != nil {
		panic(err)
	}
	return string(data)
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// TestDevEndToEnd follows the README for new users.
func TestDevEndToEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := strings.Repeat("a line of a big log\n", 10_000)
	if err := os.WriteFile(filepath.Join(dir, "big.log"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	dev := startProcess(t, dir)
	s := &shell{T: t}
	out := s.expect(command(t, dir, "job", "enqueue", "exec", "--args", `{"command":["gzip","-kf","big.log"]}`, "--wait", "--quiet"), 0)
	if out != `{"exit_code":0,"stdout":"","stderr":""}`+"\n" {
		t.Errorf("%q", out)
	}
	file, err := os.Open(filepath.Join(dir, "big.log.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(unzipped); err != nil || string(got) != content {
		t.Errorf("the copy holds %d bytes (%v), want %d", len(got), err, len(content))
	}

	// The commands of its hints work as printed.
	tried := 0
	for line := range strings.Lines(dev.stderr.String()) {
		if line, ok := strings.CutPrefix(line, "  "+binary(t)+" "); ok {
			tried++
			cmd := exec.Command("sh", "-c", binary(t)+" "+line)
			cmd.Dir, cmd.Env = dir, environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		}
	}
	if tried < 4 {
		t.Errorf("it says to try %d commands", tried)
	}

	begin := time.Now()
	if err := dev.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := dev.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("stopping took %v", took)
	}
	s.expect(command(t, dir, "job", "list", "--state", "running"), 0)
}

func (s *shell) isKilledCopying(target string, jobs int64) {
	s.Helper()
	s.ok("migrate", "up", "--database", target)
	copied := func() int64 {
		var count struct{ Jobs int64 }
		s.decode(s.ok("job", "count", "--database", target), &count)
		return count.Jobs
	}
	args := []string{"copy", "--from", s.db, "--to", target}
	killed := 0
	for copied() < jobs {
		before := copied()
		cmd := exec.Command(binary(s.T), args...)
		cmd.Env = environ()
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		until(s.T, "a page is copied", func() bool { return copied() > before })
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
	}
	if killed == 0 {
		s.Error("no copy was killed before its end")
	}
	var last views.Copied
	s.decode(s.ok(args...), &last)
	if last.Source != jobs || last.Target != jobs || copied() != jobs {
		s.Errorf("%+v", last)
	}
}
