package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/tend"
)

// SetPatience makes callers without a deadline wait less, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	before := db.Patience
	db.Patience = d
	t.Cleanup(func() { db.Patience = before })
}

// own returns what is behind the interface.
func own(s store.Store) *core.Database {
	mine, ok := s.(*Store)
	if !ok {
		panic(fmt.Sprintf("%T is not ours", s))
	}
	return mine.d
}

// SetPortion changes how many entries of one job a transaction removes or copies.
func SetPortion(s store.Store, rows int64) { own(s).Portion = rows }

// LimitPages makes the disk full at the given number of pages; 0 makes room again.
func LimitPages(t *testing.T, s store.Store, pages int) {
	t.Helper()
	if pages == 0 {
		pages = 1 << 30
	}
	mine := own(s)
	c, err := mine.TakeWriter(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer mine.GiveWriter(c)
	if err := c.Script(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// PrepareAll prepares every statement there is, and returns the first that is wrong, or that would
// be prepared again all the time (see statements).
func PrepareAll(t *testing.T, s store.Store) error {
	t.Helper()
	mine := own(s)
	c, err := mine.TakeWriter(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer mine.GiveWriter(c)
	for name, text := range db.Statements() {
		if strings.Contains(strings.ReplaceAll(text, "LIMIT ? + 0", ""), "LIMIT ?") {
			return fmt.Errorf("%s has a bare LIMIT ?", name)
		}
		if err := c.Prepare(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Text returns a statement.
func Text(name string) string { return db.TextOf(name) }

// Path returns where the file is.
func Path(s store.Store) string { return own(s).Path }

// BeforeStats calls f before the store looks at a file, with its path.
func BeforeStats(s store.Store, f func(path string)) {
	own(s).Place.Stat = func(path string) (fs.FileInfo, error) {
		f(path)
		return os.Stat(path)
	}
}

// LookAgain makes the next operation look at the files before it begins, even if somebody just did.
func LookAgain(s store.Store) { own(s).Place.Seen.Store(int64(-db.Fresh)) }

// RememberLanes makes stores remember fewer lanes, until the test ends.
func RememberLanes(t *testing.T, n int) {
	before := core.MaxLanes
	core.MaxLanes = n
	t.Cleanup(func() { core.MaxLanes = before })
}

// LanesRemembered returns how many lanes the store remembers.
func LanesRemembered(s store.Store) int { return own(s).Lanes.Size() }

// Confirm looks at the files as every commit does.
func Confirm(s store.Store) error { return own(s).Place.Confirm() }

// TakeForGranted makes the store believe that its files are in their place, without looking.
func TakeForGranted(s store.Store) {
	p := &own(s).Place
	infos := map[string]fs.FileInfo{}
	for _, placed := range []db.Placed{p.Main, p.Log, p.Index} {
		infos[placed.Path] = placed.Info
	}
	p.Stat = func(path string) (fs.FileInfo, error) { return infos[path], nil }
}

// CopyAhead is the beginning of Fork, and returns the rest of it.
func CopyAhead(ctx context.Context, s store.Store, params store.ForkParams) (rest func() error, err error) {
	mine := own(s)
	c, err := tend.CopyAhead(ctx, mine, params)
	return func() error {
		return mine.Write(ctx, "fork", func(t *core.Tx) error { return tend.Fork(t, params, c) })
	}, err
}

// Statement is the text of a statement.
func Statement(name string) string { return db.TextOf(name) }

// Resetting calls f within a reset, after each step, as long as the process lives.
func Resetting(f func(version int)) { resetting = f }

// Later is a file as a program uses it that has one migration more than this one.
func Later(c Config, m store.Migration) Config {
	c.later = &m
	return c
}
