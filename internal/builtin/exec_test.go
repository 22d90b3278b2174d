//go:build unix

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
)

func sh(script string) ExecArgs { return ExecArgs{Command: []string{"sh", "-c", script}} }

// until polls a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within five minutes", what)
		case <-tick.C:
		}
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result, err := runCommand(t.Context(), ExecArgs{
		Command: []string{"sh", "-c", `pwd; echo "$WHO $HOLDFAST_JOB_ID"; cat; echo oops >&2`},
		Dir:     dir,
		Env:     map[string]string{"WHO": "ada=x"},
		Stdin:   "from stdin\n",
	}, []string{"HOLDFAST_JOB_ID=j1"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := ExecResult{Stdout: resolved + "\nada=x j1\nfrom stdin\n", Stderr: "oops\n"}
	if result != want {
		t.Errorf("%+v, want %+v", result, want)
	}
}

func TestExecResultAsJSON(t *testing.T) {
	t.Parallel()
	result, err := runCommand(t.Context(), sh(`printf 'a\000b\377c'`), nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"exit_code":0,"stdout":"a` + "\uFFFD" + `b` + "\uFFFD" + `c","stderr":""}`; string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}

func TestExecOutputIsCapped(t *testing.T) {
	t.Parallel()
	lines := sh(`i=0; while [ $i -lt 9000 ]; do echo "line $i......"; i=$((i+1)); done; echo end`)
	result, err := runCommand(t.Context(), lines, nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Stdout) != outputLimit || !result.StdoutTruncated || !strings.HasSuffix(result.Stdout, "8999......\nend\n") {
		t.Errorf("%d bytes, truncated %t, end %q", len(result.Stdout), result.StdoutTruncated, last(result.Stdout, 30))
	}
}

func TestExecVerdicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args    ExecArgs
		want    string
		message string
	}{
		"status":         {sh("echo first; echo why >&2; exit 3"), "retry", "sh ended with exit status 3: why"},
		"signal":         {sh("kill -9 $$"), "retry", "sh was terminated by signal: killed"},
		"not found":      {ExecArgs{Command: []string{"holdfast-no-such-command"}}, "fail", "holdfast-no-such-command"},
		"no such file":   {ExecArgs{Command: []string{filepath.Join(dir, "gone")}}, "fail", "no such file"},
		"not executable": {ExecArgs{Command: []string{plain}}, "fail", "permission denied"},
		"no program":     {ExecArgs{Command: []string{text}}, "fail", "exec format error"},
		"no directory":   {ExecArgs{Command: []string{"true"}, Dir: filepath.Join(dir, "gone")}, "retry", "no such file"},
		"no command":     {ExecArgs{}, "fail", "have no command"},
		"empty command":  {ExecArgs{Command: []string{""}}, "fail", "have no command"},
		"NUL":            {ExecArgs{Command: []string{"echo", "a\x00b"}}, "fail", "NUL"},
		"env":            {ExecArgs{Command: []string{"true"}, Env: map[string]string{"a=b": "c"}}, "fail", "environment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := runCommand(t.Context(), test.args, nil, time.Minute)
			if verdict(err) != test.want || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%s (%v), want %s with %q", verdict(err), err, test.want, test.message)
			}
		})
	}
}

func TestExecArgsAreStrict(t *testing.T) {
	t.Parallel()
	var args ExecArgs
	if err := json.Unmarshal([]byte(`{"cmd":["true"]}`), &args); err != nil || args.check() == nil {
		t.Errorf("a misspelt field was accepted, %v", err)
	}
	if err := json.Unmarshal([]byte(`{"command":["a"],"dir":"d","env":{"x":"y"},"stdin":"s"}`), &args); err != nil || args.Stdin != "s" {
		t.Errorf("%+v, %v", args, err)
	}
}

// waitForFile returns what a script wrote into a file.
func waitForFile(t *testing.T, path string) string {
	t.Helper()
	var data []byte
	until(t, path, func() bool {
		var err error
		data, err = os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
	return strings.TrimSpace(string(data))
}

// TestExecStops: the end of the context reaches the command and its children, with SIGTERM first.
func TestExecStops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		grace  time.Duration
		said   string
	}{
		"polite":   {`trap 'echo bye >&2; exit 3' TERM; echo $$ > pid; while :; do sleep 0.01; done`, time.Minute, "bye"},
		"child":    {`sleep 1000 & echo $! > pid; wait`, time.Minute, ""},
		"stubborn": {`trap '' TERM; (trap '' TERM; sleep 1000) & echo $! > pid; wait`, 50 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := sh(test.script)
			args.Dir = dir
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := runCommand(ctx, args, nil, test.grace)
				ended <- err
			}()
			pid := waitForFile(t, filepath.Join(dir, "pid"))
			cancel(usercode.ErrCancelled)
			err := <-ended
			if !errors.Is(err, usercode.ErrCancelled) || !strings.Contains(err.Error(), test.said) {
				t.Errorf("%v", err)
			}
			until(t, "the end of process "+pid, func() bool { return gone(number(t, pid)) })
		})
	}
}

// TestExecSucceedsThoughStopped: a command that completes its work succeeds, although it was told
// to stop.
func TestExecSucceedsThoughStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := sh(`trap 'echo saved; exit 0' TERM; echo $$ > pid; while :; do sleep 0.01; done`)
	args.Dir = dir
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		waitForFile(t, filepath.Join(dir, "pid"))
		cancel(usercode.ErrShutdown)
	}()
	result, err := runCommand(ctx, args, nil, time.Minute)
	if err != nil || result.Stdout != "saved\n" {
		t.Errorf("%+v, %v", result, err)
	}
}

// number parses the id of a process.
func number(t *testing.T, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil || n < 2 {
		t.Fatalf("%q is the id of no process", pid)
	}
	return n
}

// gone reports whether a process has ended; a zombie has ended too, where the system shows that.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, found := strings.Cut(string(status), ") ")
	return err == nil && found && strings.HasPrefix(state, "Z")
}

// TestExecLeavesNothing: processes that a command leaves running are killed, because they would run
// without a lease. They are not waited for, which would take an hour here.
func TestExecLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, stdin string }{
		"alone":             {`sleep 1000 >/dev/null 2>&1 & echo $! > pid; echo done`, ""},
		"holds the outputs": {`sleep 1000 & echo $! > pid; echo done`, ""},
		"holds the input":   {`exec 3<&0; sleep 1000 <&3 >/dev/null 2>&1 & echo $! > pid; echo done`, strings.Repeat("x", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := sh(test.script)
			args.Dir, args.Stdin = dir, test.stdin
			if result, err := runCommand(t.Context(), args, nil, time.Hour); err != nil || result.Stdout != "done\n" {
				t.Errorf("%+v, %v", result, err)
			}
			pid := waitForFile(t, filepath.Join(dir, "pid"))
			until(t, "the end of process "+pid, func() bool { return gone(number(t, pid)) })
		})
	}
}

// TestExecWaitsForNoDaemon: a process that has left the group and keeps the outputs open does not
// block the job.
func TestExecWaitsForNoDaemon(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid, which only Linux has")
	}
	dir := t.TempDir()
	args := sh(`setsid sh -c 'echo $$ > pid; exec sleep 1000' & until [ -s pid ]; do sleep 0.01; done; echo done`)
	args.Dir = dir
	result, err := runCommand(t.Context(), args, nil, time.Hour)
	pid := waitForFile(t, filepath.Join(dir, "pid"))
	daemon := number(t, pid)
	if gone(daemon) {
		t.Error("the daemon was ended with the job")
	}
	if err := syscall.Kill(daemon, syscall.SIGKILL); err != nil {
		t.Errorf("process %d is left behind: %v", daemon, err)
	}
	if err != nil || result.Stdout != "done\n" {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestExecNotStartedAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(usercode.ErrShutdown)
	_, err := runCommand(ctx, sh("exit 3"), nil, time.Minute)
	if !errors.Is(err, usercode.ErrShutdown) || verdict(err) != "retry" {
		t.Errorf("%v", err)
	}
}
