package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/redact"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/remote"
)

const (
	// OpenTimeout bounds how long a command waits for a database that does not answer.
	OpenTimeout = 30 * time.Second
	// closeTimeout bounds the cleanup at the end of a command.
	closeTimeout = 10 * time.Second
)

// MaxPage is the page size of queries.
const MaxPage = 1000

// Source is the database that the user named, or the server of one. It must be visible to other
// processes.
func (a *App) Source(opts ...dsn.Option) (store.Source, error) {
	if a.Server != "" {
		return a.serverSource()
	}
	source, err := a.SourceOf(a.Database, opts...)
	return source, a.ofVariable(FlagDatabase, err)
}

// SourceOf is Source for a database that another flag names.
func (a *App) SourceOf(database string, opts ...dsn.Option) (store.Source, error) {
	source, err := dsn.Parse(database, opts...)
	if err != nil {
		return nil, arg.Usage(err)
	}
	if source.String() == "sqlite:"+dsn.Memory {
		return nil, arg.Usagef("no other process can see a database in memory; name a file")
	}
	return source, nil
}

// CheckPlace reports why a text names no server, or another one no database; "": it is not given.
func (a *App) CheckPlace(server, database string) error {
	if server != "" {
		return remote.Server(server, "").Validate()
	}
	if database != "" {
		_, err := a.SourceOf(database)
		return err
	}
	return nil
}

// open opens a database that must exist, and does not migrate it.
func (a *App) open(ctx context.Context) (*holdfast.Client, error) {
	source, err := a.Source(dsn.NoMigrate())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	return a.OpenClient(ctx, source)
}

// OpenClient opens a source. Its errors tell mistakes on the command line from failures of the
// database.
func (a *App) OpenClient(ctx context.Context, source store.Source, opts ...holdfast.Option) (*holdfast.Client, error) {
	reached := &reachedSource{Source: source}
	encodes, err := a.codecOption()
	if err != nil {
		return nil, err
	}
	if encodes != nil {
		opts = append(opts, encodes)
	}
	if name := personName(); name != "" {
		opts = append(opts, holdfast.WithActor(name))
	}
	opts = slices.Concat([]holdfast.Option{holdfast.WithLogger(Silent()), redact.With(a.rules)}, a.opts, opts) // defaults first
	client, err := holdfast.Open(ctx, reached, append(opts, holdfast.WithNamespace(a.Namespace))...)
	switch {
	case err != nil && !reached.opened:
		return nil, a.ofVariable(FlagNamespace, arg.Usage(err)) // the only option of a user's
	case errors.Is(err, holdfast.ErrSchema) && a.Server == "":
		return nil, a.ofVariable(FlagDatabase, SchemaError(ctx, source, err))
	case err != nil && reached.err != nil:
		return nil, reached.err // it names what was opened
	}
	return client, err
}

// personName is the name recorded for actions of the command: that of the user on this machine, ""
// if unknown.
func personName() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	host, err := os.Hostname()
	if name := who.Username + "@" + host; err == nil && len(name) <= 200 {
		return name
	}
	return ""
}

// reachedSource records whether Open was called, and its error.
type reachedSource struct {
	store.Source

	opened bool
	err    error
}

func (s *reachedSource) Open(ctx context.Context) (store.Store, error) {
	s.opened = true
	st, err := s.Source.Open(ctx)
	s.err = err
	return st, err
}

// SchemaError explains what to do about a schema version that does not fit.
func SchemaError(ctx context.Context, source store.Source, err error) error {
	schema, lookErr := source.Schema(ctx)
	switch {
	case lookErr != nil:
		return err
	case schema.Version == 0 && isThere(source):
		return fmt.Errorf("%s has no Holdfast schema; create it with \"holdfast migrate up\" or \"holdfast dev\"", source)
	case schema.Version == 0:
		return fmt.Errorf("no such database: %s; create it with \"holdfast migrate up\" or \"holdfast dev\"", source)
	case schema.Version < schema.Latest:
		return fmt.Errorf("%s has schema version %d, but this holdfast needs %d; run \"holdfast migrate up\"",
			source, schema.Version, schema.Latest)
	case schema.Version > schema.Latest && schema.Serves > 0 && !schema.IsServed():
		return fmt.Errorf("%s has schema version %d, which serves programs from version %d on, but this holdfast has %d; use a newer holdfast",
			source, schema.Version, schema.Serves, schema.Latest)
	case schema.Version > schema.Latest:
		return fmt.Errorf("%s has schema version %d, but this holdfast supports up to %d; use a newer holdfast",
			source, schema.Version, schema.Latest)
	}
	return err
}

// isThere reports whether the database exists; a SQLite database is a file.
func isThere(source store.Source) bool {
	path, isFile := strings.CutPrefix(source.String(), "sqlite:")
	if !isFile {
		return true
	}
	_, err := os.Stat(path)
	return err == nil
}

// WithClient calls work with a client of an existing database.
func (a *App) WithClient(ctx context.Context, work func(*holdfast.Client) error) error {
	client := a.kept
	if a.kept = nil; client == nil {
		var err error
		if client, err = a.open(ctx); err != nil {
			return err
		}
	}
	return errors.Join(work(client), CloseClient(ctx, client))
}

// CloseClient closes a client, even if the command was interrupted.
func CloseClient(ctx context.Context, client *holdfast.Client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return client.Close(ctx)
}

// Find returns a job of the client's namespace.
func (a *App) Find(ctx context.Context, client *holdfast.Client, id holdfast.ID) (store.Record, error) {
	record, err := client.Get(ctx, id)
	switch {
	case errors.Is(err, holdfast.ErrNotFound):
		if archived := (*store.ArchivedError)(nil); errors.As(err, &archived) {
			return record, fmt.Errorf("%w; \"holdfast archive find %s DIR\" shows it", err, id)
		}
		return record, fmt.Errorf("no such job in namespace %q: %s; it may have been removed after its retention", client.Namespace(), id)
	case err != nil:
		return record, err
	}
	return record, nil
}

// FindQueue returns a queue of the client's namespace.
func FindQueue(ctx context.Context, client *holdfast.Client, name string) (store.Queue, error) {
	queues, err := client.Queues(ctx)
	if err != nil {
		return store.Queue{}, err
	}
	for i := range queues {
		if queues[i].Name == name {
			return queues[i], nil
		}
	}
	return store.Queue{}, NoQueue(client, name)
}

// noQueueError is an ErrNotFound that says it in words of its own.
type noQueueError struct{ error }

func (noQueueError) Is(target error) bool { return target == holdfast.ErrNotFound }

// NoQueue is the error of a queue that is not there.
func NoQueue(client *holdfast.Client, name string) error {
	return noQueueError{fmt.Errorf("no such queue in namespace %q: %s; \"holdfast queue list\" lists the queues",
		client.Namespace(), output.OneLine(name))}
}

// codecOption is the codec of --codec-keys, for Open; nil: none.
func (a *App) codecOption() (holdfast.Option, error) {
	c, err := a.Codec()
	if c == nil || err != nil {
		return nil, err
	}
	return codec.With(c), nil
}

// Codec is the codec of --codec-keys; nil: none.
func (a *App) Codec() (store.Codec, error) {
	if a.CodecKeys == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	keys, err := codec.ReadKeys(a.CodecKeys)
	if err != nil {
		return nil, arg.Usagef("%s: %w", a.NameOf(FlagCodecKeys), err)
	}
	c, err := codec.AES(keys...)
	if err != nil {
		return nil, arg.Usagef("%s: %w", a.NameOf(FlagCodecKeys), err)
	}
	return c, nil
}
