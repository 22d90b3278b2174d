package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/apikeys"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/audits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/descriptors"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/endpoints"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/facts"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/feed"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/joblog"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/move"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/namespaces"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/schedules"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/tend"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/view"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

var _ store.Source = Config{}

// File returns the source for the database file at path, with the defaults of Config.
func File(path string) Config { return Config{Path: path} }

// String implements store.Source.
func (c Config) String() string { return "sqlite:" + c.Path }

// Store is an open database. Use Config.Open.
type Store struct {
	working
	tending
	viewing
	moving
	naming
	updating
	logging
	counting
	telling
	scheduling
	limiting
	batching
	retaining
	describing
	searching
	spacing
	admitting
	sending
	auditing

	d         *core.Database
	config    Config
	temporary string // the directory to remove at Close, or ""
	close     sync.Once
}

type (
	working  = work.Verbs
	tending  = tend.Verbs
	viewing  = view.Verbs
	naming   = keys.Verbs
	updating = updates.Verbs
	moving   = move.Verbs
	logging  = joblog.Verbs
	counting = facts.Verbs
	telling  = feed.Verbs

	scheduling = schedules.Verbs
	limiting   = limits.Verbs
	batching   = batches.Verbs
	retaining  = classes.Verbs
	describing = descriptors.Verbs
	searching  = attributes.Verbs
	spacing    = namespaces.Verbs
	admitting  = apikeys.Verbs
	sending    = endpoints.Verbs
	auditing   = audits.Verbs
)

var (
	_ store.Store  = (*Store)(nil)
	_ store.Copies = (*Store)(nil)
)

// Open implements store.Source. It fails with ErrInvalid if the directory does not exist or the
// file is damaged or not a database, ErrReadOnly if the file cannot be written, or, with NoMigrate,
// not even be read, and ErrSchema if its schema does not fit.
func (c Config) Open(ctx context.Context) (store.Store, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, db.Classify("", db.OfFile(c.Path, err))
	}
	return s, nil
}

func (c Config) open(ctx context.Context) (_ *Store, err error) {
	c, err = c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c}
	configured := c.Path
	if c.Path == Memory {
		if s.temporary, err = os.MkdirTemp("", "holdfast-"); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrReadOnly, err)
		}
		configured = filepath.Join(s.temporary, "holdfast.db")
		defer func() {
			if err != nil {
				_ = os.RemoveAll(s.temporary) // the first error is the one to tell
			}
		}()
	}
	found, err := c.appear(configured)
	if err != nil {
		return nil, err
	}
	denied, err := c.denied(configured)
	if err != nil {
		return nil, err
	}
	writer, err := c.openWriter(ctx, configured)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = writer.Close()
		}
	}()
	path, err := filepath.EvalSymlinks(configured)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if err := c.checkSchema(ctx, writer); err != nil {
		return nil, err
	}
	s.d, err = core.New(ctx, core.Opened{
		Writer: writer, Configured: configured, Path: path, Found: found, Denied: denied, Readers: c.Readers, Clock: c.Clock,
	})
	if err != nil {
		return nil, err
	}
	s.working, s.tending, s.viewing = work.New(s.d), tend.New(s.d), view.New(s.d, c.Poll)
	s.naming, s.updating, s.moving = keys.New(s.d), updates.New(s.d), move.New(s.d)
	s.logging, s.counting = joblog.New(s.d), facts.New(s.d)
	s.telling = feed.New(s.d)
	s.retaining, s.describing, s.searching = classes.New(s.d), descriptors.New(s.d), attributes.New(s.d)
	s.spacing, s.admitting, s.sending = namespaces.New(s.d, s.List), apikeys.New(s.d), endpoints.New(s.d)
	s.auditing = audits.New(s.d)
	s.scheduling, s.limiting, s.batching = schedules.New(s.d), limits.New(s.d), batches.New(s.d)
	return s, nil
}

// checkSchema brings the schema up to date, or checks that it is.
func (c Config) checkSchema(ctx context.Context, writer *db.Conn) error {
	if !c.NoMigrate {
		_, err := c.migrate(ctx, writer)
		return err
	}
	schema, err := c.schemaOf(ctx, writer)
	if err != nil {
		return err
	}
	return schema.Check()
}

// privateMode is the mode of a file that is made.
const privateMode = 0o600

// appear makes sure that there is a file, so that what is opened is known to be what is there
// before and after. It may be empty.
func (c Config) appear(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case !errors.Is(err, fs.ErrNotExist):
		return info, err
	}
	if c.NoMigrate && c.Path != Memory {
		return nil, fmt.Errorf("%w: there is no database; run holdfast migrate up", store.ErrSchema)
	}
	made, err := db.OpenConn(path, true)
	if err != nil {
		return nil, db.CantOpen(path, err)
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	if info, err = os.Stat(path); err != nil {
		return nil, err
	}
	// Args are private to the owner, unless the file is given another mode. SQLite gives the files
	// beside it the same one.
	if err := os.Chmod(path, info.Mode().Perm()&privateMode); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	return os.Stat(path)
}

// denied tells why this process may only look, which is an error where it is to bring the schema up
// to date.
func (c Config) denied(path string) (denied, err error) {
	if denied = db.DeniesWrites(path); denied == nil {
		return nil, nil
	}
	if denied = fmt.Errorf("%w: %w", store.ErrReadOnly, denied); !c.NoMigrate {
		return nil, denied
	}
	return denied, nil
}

// openWriter opens the connection that writes, and finds out whether it may.
func (c Config) openWriter(ctx context.Context, path string) (*db.Conn, error) {
	w, err := db.OpenConn(path, true)
	if err != nil {
		return nil, db.CantOpen(path, err)
	}
	if err := c.readyWriter(ctx, w); err != nil {
		_ = w.Close()
		return nil, db.CantOpen(path, err)
	}
	return w, nil
}

func (c Config) readyWriter(ctx context.Context, w *db.Conn) error {
	// The cache bounds memory, not size: 64 MB hold the hot end of any table. The log is copied
	// back every 16 MB: at the default of 4 MB a sixth of all CPU time goes there.
	pragmas := "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864;"
	if c.Synchronous == Normal {
		pragmas += "PRAGMA synchronous = NORMAL"
	} else {
		pragmas += "PRAGMA synchronous = FULL"
	}
	if err := db.Patient(ctx, func() error { return w.Script(pragmas) }); err != nil {
		return err
	}
	if err := w.UseWAL(ctx); err != nil {
		return err
	}
	// A file without write permission opens well, read-only, and says so here. Busy is an answer,
	// too.
	err := w.BeginImmediate()
	w.Rollback()
	if db.IsBusy(err) {
		return nil
	}
	return err
}

// Traits implements store.Store.
func (s *Store) Traits() store.Traits {
	return store.Traits{Name: core.StoreName, Wakeups: s.config.Poll > 0, MaxBatch: 1000}
}

// Close implements store.Store. The nodes of this store that did not leave are dead from then on,
// as if they had been killed.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		err = s.d.Close()
		if s.temporary != "" {
			err = errors.Join(err, os.RemoveAll(s.temporary))
		}
	})
	return db.Classify("close", err)
}

// Now implements store.Store: the clock of the process, or the one that was injected.
func (s *Store) Now() time.Time { return db.TimeOf(s.d.Micros()) }
