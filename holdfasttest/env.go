package holdfasttest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// Env is a Holdfast in memory, in virtual time.
type Env struct {
	T      *testing.T // the T of the bubble
	Client *holdfast.Client

	running sync.WaitGroup
}

// Run calls f in virtual time, with a database of its own. opts are options of holdfast.Open. Lines
// at WARN or above are written to the output of the test, unless WithLogger sets another logger.
func Run(t *testing.T, f func(env *Env), opts ...holdfast.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		env := &Env{T: t, Client: open(t, model.New(time.Now), opts)}
		defer env.close() // also when the test fails: the bubble would not end otherwise
		f(env)
	})
}

func (e *Env) close() {
	if err := e.Client.Close(context.WithoutCancel(e.T.Context())); err != nil {
		e.T.Errorf("holdfasttest: closing: %v", err)
	}
	e.running.Wait()
}

func open(t *testing.T, st store.Store, opts []holdfast.Option) *holdfast.Client {
	t.Helper()
	client, err := holdfast.Open(t.Context(), source{st}, append([]holdfast.Option{holdfast.WithLogger(logger(t))}, opts...)...)
	if err != nil {
		t.Fatalf("holdfasttest: %v", err)
	}
	return client
}

// logger returns a logger that writes warnings to the output of the test.
func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Start starts the node. Register handlers before.
func (e *Env) Start() {
	e.T.Helper()
	e.running.Go(func() {
		if err := e.Client.Run(context.WithoutCancel(e.T.Context())); err != nil {
			e.T.Errorf("holdfasttest: the node: %v", err)
		}
	})
	synctest.Wait()
}

// After calls f when d of virtual time has passed. It returns at once; the test does not end before
// f has returned.
func (e *Env) After(d time.Duration, f func()) {
	e.running.Go(func() {
		time.Sleep(d)
		f()
	})
}

// Journal returns the journal of a job.
func (e *Env) Journal(id holdfast.ID) holdfast.Journal {
	e.T.Helper()
	j, err := e.Client.Journal(e.T.Context(), id)
	if err != nil {
		e.T.Fatalf("holdfasttest: the journal of job %s: %v", id, err)
	}
	return j
}

// RequireJournal fails the test unless the entries of a job's journal are those given: each is the
// entry's kind, followed by its name if it has one, such as "step charge" or "selected".
func (e *Env) RequireJournal(id holdfast.ID, want ...string) {
	e.T.Helper()
	var have []string
	for _, entry := range e.Journal(id).Entries {
		text := entry.Kind
		if entry.Kind != "callback" { // its name is a random token
			text = strings.TrimSpace(text + " " + entry.Name)
		}
		have = append(have, text)
	}
	if !slices.Equal(have, want) {
		e.T.Fatalf("the journal of job %s has\n\t%s\nnot\n\t%s", id, strings.Join(have, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// SaveJournal writes a job's journal to a file, for Replay.
func (e *Env) SaveJournal(id holdfast.ID, file string) {
	e.T.Helper()
	data, err := json.MarshalIndent(e.Journal(id), "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		e.T.Fatalf("holdfasttest: %v", err)
	}
}

// source is a store.Source for a store that is open already.
type source struct{ st store.Store }

func (s source) Open(context.Context) (store.Store, error)   { return s.st, nil }
func (source) Migrate(context.Context) (store.Schema, error) { return store.Schema{}, nil }
func (source) Schema(context.Context) (store.Schema, error)  { return store.Schema{}, nil }
func (source) Migrations() []store.Migration                 { return nil }
func (source) String() string                                { return "memory" }
