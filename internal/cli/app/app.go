package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
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

// App is one run of the command.
type App struct {
	output.Printer

	Env Env

	// The global flags.
	Database  string
	ByFlag    bool // a flag named the database, and not the environment
	Namespace string
	Quiet     bool
}

// New begins a run.
func New(env Env) *App {
	return &App{Env: env, Printer: output.NewPrinter(env.Stdout, env.Terminal(env.Stdout))}
}

// Complain prints an error after which the command continues.
func (a *App) Complain(err error) {
	fmt.Fprintln(a.Env.Stderr, "holdfast: "+Explain(err))
}

// Notef tells people something that is not data.
func (a *App) Notef(format string, args ...any) {
	if !a.Quiet {
		fmt.Fprintf(a.Env.Stderr, format+"\n", args...)
	}
}

// Interruptible returns a context that ends with ErrInterrupted at the first signal; the second one ends the process. After stop the
// signals are somebody else's again.
func (a *App) Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-a.Env.Signals:
			a.Env.Release()
			cancel(ErrInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}
