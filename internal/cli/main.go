package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Env is what a command gets from its process.
type Env struct {
	Args []string // without the program's name
	// Program is how the program is called, for people to type it again; "holdfast" if it is empty.
	Program string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// LookupEnv is os.LookupEnv: a variable that is set and empty is not the same as one that is not set.
	LookupEnv func(string) (string, bool)
	Now       func() time.Time
	// Terminal tells whether a stream is one.
	Terminal func(stream any) bool
	// Signals are the requests to stop. After release the next one ends the process at once.
	Signals <-chan os.Signal
	Release func()
	// OutlivePipes makes errors of writes to standard output and error that nobody reads any more. Until then they end the process,
	// as they should where the output is all there is: "holdfast job list --all | head".
	OutlivePipes func()
	// CompletionTime bounds how long a shell waits for a completion. What is not known by then is left out.
	CompletionTime time.Duration
}

// Main runs the command of this process and returns its exit code.
func Main() int {
	signals := make(chan os.Signal, 2)
	stops := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(os.Interrupt) { // as a shell without job control makes it for what runs in the background
		stops = append(stops, os.Interrupt)
	}
	signal.Notify(signals, stops...)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup makes it
		signal.Notify(signals, syscall.SIGHUP)
	}
	return Run(context.Background(), Env{
		Args:      os.Args[1:],
		Program:   programOf(os.Args[0], exec.LookPath),
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Now:       time.Now,
		Terminal: func(stream any) bool {
			file, ok := stream.(*os.File)
			return ok && term.IsTerminal(int(file.Fd()))
		},
		Signals: signals,
		// Not of SIGHUP: a terminal that goes away may say so several times.
		Release: func() { signal.Reset(stops...) },
		// Ignoring the signal would make the commands that a node runs ignore it, too.
		OutlivePipes:   func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) },
		CompletionTime: time.Second,
	})
}

// app is one run of the command.
type app struct {
	env Env
	out *bufio.Writer // standard output

	// The global flags.
	database  string
	byFlag    bool // a flag named the database, and not the environment
	namespace string
	output    string
	quiet     bool
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, env Env) int {
	a := &app{env: env, out: bufio.NewWriter(env.Stdout)}
	root := a.rootCommand()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(a.out)
	root.SetErr(env.Stderr)
	ownHelp(root, env.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if flushErr := a.out.Flush(); err == nil && flushErr != nil {
		err = &runError{fmt.Errorf("writing the output: %w", flushErr)}
	}
	code := exitCode(err)
	if err == nil || err.Error() == "" {
		return code
	}
	text := explain(err)
	if code == exitUsage {
		text += "; see: " + cmd.CommandPath() + " --help"
	}
	fmt.Fprintln(env.Stderr, "holdfast: "+text)
	return code
}

// complain prints an error after which the command continues.
func (a *app) complain(err error) {
	fmt.Fprintln(a.env.Stderr, "holdfast: "+explain(err))
}

// notef tells people something that is not data.
func (a *app) notef(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.env.Stderr, format+"\n", args...)
	}
}

// interruptible returns a context that ends with errInterrupted at the first signal; the second one ends the process. After stop the
// signals are somebody else's again.
func (a *app) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-a.env.Signals:
			a.env.Release()
			cancel(errInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}
