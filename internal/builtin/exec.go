package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
)

// Exec is the kind that runs a command.
var Exec = holdfast.NewKind[ExecArgs, ExecResult]("exec")

// ExecArgs says what to run. There is no shell unless the command names one.
type ExecArgs struct {
	// Command is the program and its arguments. A name without a slash is looked up in the worker's PATH.
	Command []string `help:"array of the program and its arguments; no shell is involved" json:"command"`
	// Dir is where it runs. Default: where the worker runs.
	Dir string `help:"working directory (default: that of the node)" json:"dir,omitempty"`
	// Env is added to the worker's environment.
	Env map[string]string `help:"object of variables to add to the environment of the node" json:"env,omitempty"`
	// Stdin is what the command reads. Default: nothing.
	Stdin string `help:"text for standard input (default: empty)" json:"stdin,omitempty"`

	wrong error // with the args, if they are JSON and nothing else
}

// ExecResult is what became of a command that ended with status 0.
type ExecResult struct {
	ExitCode int `json:"exit_code"`
	// Stdout and Stderr are the last 64 KiB of each output; bytes that are not UTF-8 are replaced.
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	StdoutTruncated bool   `json:"stdout_truncated,omitempty"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty"`
}

// UnmarshalJSON takes note of fields that it does not know, for check to refuse them: a misspelt
// one would otherwise run something else than was meant.
func (a *ExecArgs) UnmarshalJSON(data []byte) error {
	type plain ExecArgs
	err := strict(data, (*plain)(a))
	a.wrong = wrongArgs(Exec.Name(), err)
	return nil
}

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// execGrace is how long a command may go on after it was asked to stop. It is shorter than the engine's patience with a
// handler whose context has ended.
const execGrace = 5 * time.Second

// messageLimit is how much of an output goes into an error's text.
const messageLimit = 1 << 10

// RegisterExec makes the client's node run commands.
func RegisterExec(c *holdfast.Client, opts ...holdfast.HandleOption) error {
	return Exec.Handle(c, func(run *holdfast.Run, args ExecArgs) (ExecResult, error) {
		return runCommand(run, args, []string{
			"HOLDFAST_JOB_ID=" + run.ID().String(),
			"HOLDFAST_ATTEMPT=" + strconv.Itoa(run.Attempt()),
			"HOLDFAST_LEASE=" + strconv.FormatInt(run.Lease().Number, 10),
		}, execGrace)
	}, opts...)
}

// runCommand runs a command to its end. When ctx ends, its process group is asked to stop, and killed after the grace.
func runCommand(ctx context.Context, args ExecArgs, identity []string, grace time.Duration) (ExecResult, error) {
	if err := args.check(); err != nil {
		return ExecResult{}, holdfast.Fail(err)
	}
	name := args.Command[0]
	cmd := exec.CommandContext(ctx, name, args.Command[1:]...)
	cmd.Dir = args.Dir
	cmd.Env = append(os.Environ(), identity...)
	for _, key := range sortedKeys(args.Env) {
		cmd.Env = append(cmd.Env, key+"="+args.Env[key])
	}
	group := newGroup(cmd)
	var killer *time.Timer
	cmd.Cancel = func() error {
		killer = time.AfterFunc(grace, group.kill)
		return group.terminate()
	}
	// A command that has left its group is killed by itself.
	cmd.WaitDelay = grace + time.Second

	// Linux kills a child together with the thread that started it (see newGroup), so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := startStreams(cmd, args.Stdin)
	if err != nil {
		return ExecResult{}, startError(ctx, name, args.Dir, err)
	}
	err = cmd.Wait()
	if killer != nil {
		killer.Stop()
	}
	// What the command left behind would go on without a lease.
	group.kill()
	s.finish(ctx)

	result := ExecResult{
		ExitCode: cmd.ProcessState.ExitCode(),
		Stdout:   s.stdout.String(), StdoutTruncated: s.stdout.cut,
		Stderr: s.stderr.String(), StderrTruncated: s.stderr.cut,
	}
	// Whoever ends with status 0 has done it, also if it was told to stop meanwhile: then err is the context's.
	if cmd.ProcessState.Success() {
		return result, nil
	}
	return ExecResult{}, endError(ctx, name, err, result)
}

func (a ExecArgs) check() error {
	if a.wrong != nil {
		return fmt.Errorf("exec: %w", a.wrong)
	}
	if len(a.Command) == 0 || a.Command[0] == "" {
		return errors.New(`exec: the args have no command; write them like {"command":["gzip","-kf","big.log"]}`)
	}
	for key, value := range a.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("exec: %q is not a valid name of an environment variable, or its value contains NUL", key)
		}
	}
	if slices.ContainsFunc(append([]string{a.Dir}, a.Command...), func(s string) bool { return strings.Contains(s, "\x00") }) {
		return errors.New("exec: the command or its directory contains NUL")
	}
	return nil
}

// startError tells what can never start from what may start the next time, such as in a directory that is not mounted yet.
func startError(ctx context.Context, name, dir string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &stoppedError{"did not start " + name, cause, ""}
	}
	// The system says "no such file" of a missing directory, too.
	if _, missing := os.Stat(dir); dir != "" && missing != nil {
		return fmt.Errorf("cannot start %s: %w", name, missing)
	}
	for _, hopeless := range []error{exec.ErrNotFound, exec.ErrDot, fs.ErrNotExist, fs.ErrPermission, errNotExecutable} {
		if errors.Is(err, hopeless) {
			return holdfast.Fail(fmt.Errorf("cannot start %s: %w", name, err))
		}
	}
	return fmt.Errorf("cannot start %s: %w", name, err)
}

// stoppedError says what the end of its context did to a command.
type stoppedError struct {
	what  string
	cause error
	said  string // by the command
}

func (e *stoppedError) Error() string {
	return e.what + ": " + strings.TrimPrefix(e.cause.Error(), "holdfast: ") + e.said // which a job's error needs no name for
}

func (e *stoppedError) Unwrap() error { return e.cause }

// endError says how a command ended that did not succeed. The cause of its context comes first: the exit status of a command
// that was told to stop says nothing.
func endError(ctx context.Context, name string, err error, result ExecResult) error {
	said := last(result.Stderr, messageLimit)
	if said != "" {
		said = ": " + said
	}
	short := filepath.Base(name)
	if cause := context.Cause(ctx); cause != nil {
		return &stoppedError{short + " was stopped", cause, said}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Errorf("%s ended with exit status %d%s", short, exit.ExitCode(), said)
	case errors.As(err, &exit):
		return fmt.Errorf("%s was terminated by %s%s", short, exit.ProcessState, said)
	}
	return fmt.Errorf("%s: %w%s", short, err, said)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
