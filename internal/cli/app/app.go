package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/config"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/redact"
	"github.com/holdfastdev/holdfast/store"
)

// The global flags.
const (
	FlagDatabase  = "database"
	FlagNamespace = "namespace"
	FlagOutput    = "output"
	FlagQuiet     = "quiet"
	FlagCodecKeys = "codec-keys"
	FlagRedact    = "redact"
	FlagServer    = "server"
	FlagTokenFile = "token-file"
	FlagTLSCA     = "tls-ca"
	FlagContext   = "context"
	FlagYes       = "yes"     // also of verbs that ask for reasons of their own
	FlagDryRun    = "dry-run" // of verbs that change nothing then

	FlagAllowWrites = "allow-writes" // of verbs that change something only then
)

// Env is the environment of a command: what its process gives it.
type Env struct {
	Args []string // without the program's name
	// Program is the name under which the program was called, for commands shown to users;
	// "holdfast" if it is empty.
	Program string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// LookupEnv is os.LookupEnv: an empty variable differs from one that is not set.
	LookupEnv func(string) (string, bool)
	// Environ is os.Environ.
	Environ func() []string
	Now     func() time.Time
	// Terminal reports whether a stream is a terminal.
	Terminal func(stream any) bool
	// Width is how many columns the terminal of Stdout has; 0 if that is not known.
	Width int
	// Signals are the requests to stop. After Release the next signal ends the process at once.
	Signals <-chan os.Signal
	Release func()
	// OutlivePipes makes writes to a closed pipe of standard output or error return an error.
	// Without it they end the process, which is right if the output is all there is: "holdfast job
	// list --all | head".
	OutlivePipes func()
	// CompletionTime bounds how long a shell waits for a completion. What is not found by then is
	// left out.
	CompletionTime time.Duration
}

// App is one invocation of the command.
type App struct {
	output.Printer

	Env Env

	// The global flags.
	Database   string
	ByFlag     bool     // Database is from the flag, not from the environment
	Context    string   // of --context, or its variable
	Yes        bool     // do not ask before something is changed in production
	Server     string   // the URL of a server in the place of a database; "": none
	TokenFile  string   // has the token for it; "": the environment has
	TLSCA      string   // a file with the authorities that vouch for it; "": those of the system
	Namespace  string   // the first of Namespaces
	Namespaces []string // of a verb for which they may be many
	Quiet      bool
	CodecKeys  string // a file; "": none
	RedactRule string // rules; "": those of redact.Default

	configFile    string                                   // of --config; "": none
	rulesOf       map[*cobra.Command]func() []func() error // of those that read settings from a file, see AddConfigFlag
	variables     map[string]string                        // that have set a flag, by its name; also places in that file
	used          *config.Context                          // which says where the command goes; nil: none does
	rules         *redact.Rules                            // what is hidden
	kept          *holdfast.Client                         // that is open already, for WithClient; nil: none
	opts          []holdfast.Option                        // of the client that the verb opens
	tokenVariable string                                   // has the token, in the place of EnvToken; "": none of its own
	notes         io.Writer                                // takes notes in the place of Env.Stderr; nil: none does
	transport     *http.Transport                          // to a server that TLSCA vouches for; nil: none was made
}

// New returns an App.
func New(env Env) *App {
	a := &App{Env: env, Printer: output.NewPrinter(env.Stdout, env.Terminal(env.Stdout))}
	if env.Terminal(env.Stdout) {
		a.Width = env.Width
	}
	return a
}

// Close closes the connections that the invocation has kept.
func (a *App) Close() {
	if a.transport != nil {
		a.transport.CloseIdleConnections()
	}
}

// Complain prints an error after which the command continues.
func (a *App) Complain(err error) {
	fmt.Fprintln(a.Env.Stderr, "holdfast: "+Explain(err))
}

// Notef prints a note for the user, which is not data.
func (a *App) Notef(format string, args ...any) {
	if a.Quiet {
		return
	}
	to := a.Env.Stderr
	if a.notes != nil {
		to = a.notes
	}
	fmt.Fprintf(to, format+"\n", args...)
}

// Interruptible returns a context that ends with ErrInterrupted at the first signal; the second one
// ends the process. stop gives up the signals.
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

// Hide returns a payload as it is shown to people: without what --redact hides. What is no JSON,
// such as a payload that cannot be decoded, stays as it is.
func (a *App) Hide(data []byte, number int) []byte {
	if number != 0 || a.Redact == nil {
		return data
	}
	return a.Redact(data)
}

// HideAttributes returns search attributes as they are shown to people.
func (a *App) HideAttributes(list []store.Attribute) []store.Attribute {
	shown := make([]store.Attribute, len(list))
	for i := range list {
		shown[i] = a.hideAttribute(list[i])
	}
	return shown
}

// hideAttribute is a search attribute as it is shown to people: its value is hidden if that of a
// field of its name would be.
func (a *App) hideAttribute(one store.Attribute) store.Attribute {
	doc, err := json.Marshal(map[string]string{one.Name: one.Value.String()})
	if err != nil {
		return one
	}
	hidden := a.Hide(doc, 0)
	var shown map[string]string
	if bytes.Equal(hidden, doc) || json.Unmarshal(hidden, &shown) != nil || shown[one.Name] == one.Value.String() {
		return one
	}
	one.Value = store.KeywordValue(shown[one.Name])
	return one
}

// HideRecord hides in the payloads of a job what people are not to see. The record is only good to
// be shown then.
func (a *App) HideRecord(r *store.Record) {
	r.Args, r.Result, r.Metadata = a.Hide(r.Args, r.Codec), a.Hide(r.Result, r.ResultCodec), a.Hide(r.Metadata, 0)
	r.Attributes = a.HideAttributes(r.Attributes)
	if r.Checkpoint != nil {
		c := *r.Checkpoint
		c.Value = a.Hide(c.Value, 0)
		r.Checkpoint = &c
	}
}
