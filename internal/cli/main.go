package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// Main runs the command of this process and returns its exit code.
func Main() int {
	signals := make(chan os.Signal, 2)
	stops := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(os.Interrupt) { // ignored for background jobs of a shell without job control
		stops = append(stops, os.Interrupt)
	}
	signal.Notify(signals, stops...)
	if !signal.Ignored(syscall.SIGHUP) { // ignored under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return Run(context.Background(), app.Env{
		Args:      os.Args[1:],
		Program:   app.ProgramOf(os.Args[0], exec.LookPath),
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Environ:   os.Environ,
		Now:       time.Now,
		Terminal: func(stream any) bool {
			file, ok := stream.(*os.File)
			return ok && term.IsTerminal(int(file.Fd()))
		},
		Width:   terminalWidth(),
		Signals: signals,
		// Not for SIGHUP, which a closing terminal may send several times.
		Release: func() { signal.Reset(stops...) },
		// Caught rather than ignored: the commands of exec jobs would inherit the latter.
		OutlivePipes:   func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) },
		CompletionTime: time.Second,
	})
}

// terminalWidth is how many columns the terminal of standard output has, 0 if it is none.
func terminalWidth() int {
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, env app.Env) int {
	a := app.New(env)
	defer a.Close()
	root := verbs{a}.rootCommand()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(&a.Printer)
	root.SetErr(env.Stderr)
	ownHelp(root, env.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if flushErr := a.Flush(); err == nil && flushErr != nil {
		err = app.WorkFailed(flushErr)
	}
	code := app.ExitCode(err)
	if err == nil || err.Error() == "" {
		return code
	}
	text := app.Explain(err)
	if code == app.ExitUsage {
		text += "; see: " + cmd.CommandPath() + " --help"
	}
	fmt.Fprintln(env.Stderr, "holdfast: "+text)
	return code
}
