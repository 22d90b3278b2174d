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
	"github.com/holdfastdev/holdfast/internal/procgroup"
)

// Exec is the kind that runs a command.
var Exec = holdfast.NewKind[ExecArgs, ExecResult]("exec")

// ExecArgs are the args of exec. There is no shell unless the command names one.
type ExecArgs struct {
	// Command is the program and its arguments. A name without a slash is looked up in the worker's
	// PATH.
	Command []string `help:"array of the program and its arguments; no shell is involved" json:"command"`
	// Dir is the working directory. Default: that of the worker.
	Dir string `help:"working directory (default: that of the node)" json:"dir,omitempty"`
	// Env is added to the worker's environment.
	Env map[string]string `help:"object of variables to add to the environment of the node" json:"env,omitempty"`
	// Stdin is the standard input of the command. Default: empty.
	Stdin string `help:"text for standard input (default: empty)" json:"stdin,omitempty"`

	wrong error // error in args that are valid JSON
	trace trace // that of the job, which the command carries on
}

// ExecResult is the result of a command that exited with status 0.
type ExecResult struct {
	ExitCode int `json:"exit_code"`
	// Stdout and Stderr are the last 64 KiB of each output; invalid UTF-8 is replaced.
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	StdoutTruncated bool   `json:"stdout_truncated,omitempty"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty"`
}

// UnmarshalJSON records unknown fields, so that check refuses them: a misspelt field would
// otherwise run something else than was meant.
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

// execGrace is the time between SIGTERM and SIGKILL. It is shorter than the time after which the
// engine reports a handler as stuck.
const execGrace = 5 * time.Second

// messageLimit is how much of an output an error text quotes.
const messageLimit = 1 << 10

// RegisterExec makes the client's node run commands.
func RegisterExec(c *holdfast.Client, opts ...holdfast.HandleOption) error {
	return Exec.Handle(c, func(run *holdfast.Run, args ExecArgs) (ExecResult, error) {
		args.trace = traceOf(run)
		return runCommand(run, args, []string{
			"HOLDFAST_JOB_ID=" + run.ID().String(),
			"HOLDFAST_ATTEMPT=" + strconv.Itoa(run.Attempt()),
			"HOLDFAST_LEASE=" + strconv.FormatInt(run.Lease().Number, 10),
		}, execGrace)
	}, opts...)
}

// runCommand runs a command to its end. When ctx ends it sends SIGTERM to the process group, and
// SIGKILL after the grace.
func runCommand(ctx context.Context, args ExecArgs, identity []string, grace time.Duration) (ExecResult, error) {
	if err := args.check(); err != nil {
		return ExecResult{}, holdfast.Fail(err)
	}
	name := args.Command[0]
	cmd := exec.CommandContext(ctx, name, args.Command[1:]...)
	cmd.Dir = args.Dir
	cmd.Env = append(args.trace.environ(os.Environ()), identity...)
	for _, key := range sortedKeys(args.Env) {
		cmd.Env = append(cmd.Env, key+"="+args.Env[key])
	}
	group := procgroup.New(cmd)
	var killer *time.Timer
	cmd.Cancel = func() error {
		killer = time.AfterFunc(grace, group.Kill)
		return group.Terminate()
	}
	// A command that has left its group is killed on its own.
	cmd.WaitDelay = grace + time.Second

	// Linux kills a child when the thread that started it ends (see procgroup), so this goroutine
	// keeps its thread.
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
	// Processes that the command left behind would run without a lease.
	group.Kill()
	s.finish(ctx)

	result := ExecResult{
		ExitCode: cmd.ProcessState.ExitCode(),
		Stdout:   s.stdout.String(), StdoutTruncated: s.stdout.cut,
		Stderr: s.stderr.String(), StderrTruncated: s.stderr.cut,
	}
	// Status 0 is success even if ctx has ended meanwhile, which err would report.
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

// startError makes errors permanent that a retry cannot fix; a directory, for example, may be
// mounted later.
func startError(ctx context.Context, name, dir string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &stoppedError{"did not start " + name, cause, ""}
	}
	// The system also reports a missing directory as "no such file".
	if _, missing := os.Stat(dir); dir != "" && missing != nil {
		return fmt.Errorf("cannot start %s: %w", name, missing)
	}
	for _, permanent := range []error{exec.ErrNotFound, exec.ErrDot, fs.ErrNotExist, fs.ErrPermission, procgroup.ErrNotExecutable} {
		if errors.Is(err, permanent) {
			return holdfast.Fail(fmt.Errorf("cannot start %s: %w", name, err))
		}
	}
	return fmt.Errorf("cannot start %s: %w", name, err)
}

// stoppedError reports that a command was stopped because its context ended.
type stoppedError struct {
	what  string
	cause error
	said  string // what the command wrote
}

func (e *stoppedError) Error() string {
	return e.what + ": " + strings.TrimPrefix(e.cause.Error(), "holdfast: ") + e.said // a job's error needs no prefix
}

func (e *stoppedError) Unwrap() error { return e.cause }

// endError returns the error of a command that failed. The cause of its context comes first,
// because the exit status of a stopped command says nothing.
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
