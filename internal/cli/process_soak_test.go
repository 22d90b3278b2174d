//go:build soak && unix

package cli

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestStopping: the first signal waits for jobs, the second does not.
func TestStopping(t *testing.T) {
	t.Parallel()
	t.Run("the first signal waits", func(t *testing.T) {
		t.Parallel()
		if signal.Ignored(os.Interrupt) {
			t.Skip("the tests run in the background of a script")
		}
		dir := t.TempDir()
		dev := startProcess(t, dir)
		id := enqueueExec(t, dir, "touch begun; until [ -e go ]; do sleep 0.02; done")
		until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
		_ = dev.cmd.Process.Signal(os.Interrupt)
		until(t, "the answer to the signal", func() bool { return strings.Contains(dev.stderr.String(), "node stopping") })
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := dev.cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		s := &shell{T: t}
		s.expect(command(t, dir, "job", "wait", id, "--wait-timeout", "60s"), 0)
	})
	t.Run("the second does not", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		dev := startProcess(t, dir, "--stop-timeout", "10m")
		id := enqueueExec(t, dir, "touch begun; sleep 1000")
		until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
		_ = dev.cmd.Process.Signal(syscall.SIGTERM)
		until(t, "the answer to the signal", func() bool { return strings.Contains(dev.stderr.String(), "Stopping:") })
		_ = dev.cmd.Process.Signal(syscall.SIGTERM)
		if err := dev.cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		s := &shell{T: t}
		var v map[string]any
		s.decode(s.expect(command(t, dir, "job", "get", id), 0), &v)
		if v["state"] != "available" || v["attempt"] != 0.0 {
			t.Errorf("the job is %v after %v attempts; want it available, and the attempt not counted", v["state"], v["attempt"])
		}
	})
	t.Run("the timeout ends the wait", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		dev := startProcess(t, dir, "--stop-timeout", "100ms")
		enqueueExec(t, dir, "touch begun; sleep 1000")
		until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
		_ = dev.cmd.Process.Signal(syscall.SIGTERM)
		if err := dev.cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// TestStoppingWithoutATerminal: a node stops cleanly when the terminal, or the reader of its log,
// goes away.
func TestStoppingWithoutATerminal(t *testing.T) {
	t.Parallel()
	const untilGo = "touch begun; until [ -e go ]; do sleep 0.02; done"
	letGo := func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the reader of the log goes", func(t *testing.T) {
		t.Parallel()
		if signal.Ignored(os.Interrupt) {
			t.Skip("the tests run in the background of a script")
		}
		dir := t.TempDir()
		// The node writes to a pipe whose reader may end first, as in "holdfast dev 2>&1 | tee".
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary(t), "dev", "--stop-timeout", "10m")
		cmd.Dir, cmd.Env, cmd.Stderr = dir, environ(), write
		err = cmd.Start()
		_ = write.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		log := bufio.NewScanner(read)
		for started := false; !started && log.Scan(); {
			started = strings.Contains(log.Text(), "node started")
		}
		id := enqueueExec(t, dir, untilGo)
		until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
		_ = read.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		letGo(t, dir)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		s := &shell{T: t}
		s.expect(command(t, dir, "job", "wait", id, "--wait-timeout", "60s"), 0)
	})
	t.Run("the terminal goes", func(t *testing.T) {
		t.Parallel()
		if signal.Ignored(syscall.SIGHUP) {
			t.Skip("the tests run under nohup")
		}
		dir := t.TempDir()
		dev := startProcess(t, dir, "--stop-timeout", "10m")
		id := enqueueExec(t, dir, untilGo)
		until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
		_ = dev.cmd.Process.Signal(syscall.SIGHUP)
		until(t, "the answer to the signal", func() bool { return strings.Contains(dev.stderr.String(), "node stopping") })
		_ = dev.cmd.Process.Signal(syscall.SIGHUP) // both the shell and the system send it
		letGo(t, dir)
		if err := dev.cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		if strings.Contains(dev.stderr.String(), "Stopping now") {
			t.Error("the second SIGHUP made haste")
		}
		s := &shell{T: t}
		s.expect(command(t, dir, "job", "wait", id, "--wait-timeout", "60s"), 0)
	})
	// Under nohup, and in the background of a script.
	for name, ignored := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT} {
		t.Run(name+" is ignored", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			dev := startNode(t, dir, exec.Command("sh", "-c", `trap "" `+name+`; exec "$0" dev`, binary(t)))
			for range 3 {
				_ = dev.cmd.Process.Signal(ignored)
			}
			s := &shell{T: t}
			s.expect(command(t, dir, "job", "wait", enqueueExec(t, dir, "true"), "--wait-timeout", "60s"), 0)
			_ = dev.cmd.Process.Signal(syscall.SIGTERM)
			if err := dev.cmd.Wait(); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestKilledNode: the job of a killed node is run again by the next one, at once.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev := startProcess(t, dir)
	// The first attempt leaves a mark and hangs; the second one finds the mark.
	id := enqueueExec(t, dir, `if [ -e begun ]; then echo again; else echo $$ > pid; touch begun; exec sleep 1000; fi`)
	until(t, "the start of the job", exists(filepath.Join(dir, "begun")))
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dev.cmd.Wait()

	startProcess(t, dir)
	s := &shell{T: t}
	out := s.expect(command(t, dir, "job", "wait", id, "--wait-timeout", "60s"), 0)
	if !strings.Contains(out, `"stdout":"again\n"`) {
		t.Errorf("%s", out)
	}
	var v struct {
		Attempt  int
		Attempts []attemptReason
	}
	s.decode(s.expect(command(t, dir, "job", "get", id), 0), &v)
	if v.Attempt != 2 || len(v.Attempts) != 1 || v.Attempts[0].Reason != "node_lost" {
		t.Errorf("%+v", v)
	}
	// On Linux the command of the first attempt has died with its node; elsewhere the test ends it.
	number, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil || number < 2 {
		t.Fatalf("%q is the id of no process", pid)
	}
	if syscall.Kill(number, 0) == nil && !isZombie(number) {
		if isLinux {
			t.Error("the command of the first attempt still runs")
		}
		if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
			t.Errorf("process %d is left behind: %v", number, err)
		}
	}
}

// isZombie reports whether a process is a zombie, where the system shows that.
func isZombie(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, found := strings.Cut(string(status), ") ")
	return err == nil && found && strings.HasPrefix(state, "Z")
}

type attemptReason struct{ Reason string }

// TestReadOnlyFile runs the command as a user without write permission.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.enqueue("mail")
	if err := os.Chmod(s.db, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job", "list"}, {"job", "enqueue", "mail"}, {"dev", "--listen", "none"}} {
		cmd := exec.Command(binary(t), append(args, "--database", s.db)...)
		if os.Geteuid() == 0 {
			// Nothing is read-only for root.
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			openTo(t, s.dir)
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		got := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		s.expect(got, 1, "read-only", "run the command as a user who can write there")
	}
}

// openTo makes a directory, and those of the tests above it, readable for all users.
func openTo(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyIsKilled: the process of a copy is killed in the middle, again and again, and the last
// one finds everything there.
func TestCopyIsKilled(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]func(s *shell) string{
		"to SQLite":     func(s *shell) string { return filepath.Join(s.dir, "target.db") },
		"to PostgreSQL": func(s *shell) string { return pgtest.Shared(s).Database(s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := migrated(t)
			const jobs = 9500 // counts stop at 10,000
			s.expect(s.feed(strings.Repeat(`{"pad": "`+strings.Repeat("x", 2000)+"\"}\n", jobs), "job", "enqueue", "mail", "--file", "-", "-q"), 0)
			s.isKilledCopying(target(s), jobs)
		})
	}
}
