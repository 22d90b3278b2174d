package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

var _ store.Examines = Config{}

const (
	// largeLog is how large the write-ahead log becomes only if a reader keeps it from being copied
	// back: it is cut to 64 MB.
	largeLog = 256 << 20
	// emptyPages is how much of a file may be of no use before that is told.
	emptyPages = 256 << 20
	// littleLeft is how much the disk should have left at least, and tinyLeft when it is urgent.
	littleLeft, tinyLeft = 1 << 30, 128 << 20
	// longLock is how long a writer should wait for the lock at the most, and longestLock how long
	// the examination does.
	longLock, longestLock = 250 * time.Millisecond, 2 * time.Second
)

// Examine implements store.Examines. It takes the write lock for a moment, to see how long that
// takes. Of a Memory database, and where there is no file, there is nothing to examine.
func (c Config) Examine(ctx context.Context) ([]store.Finding, error) {
	if c.Path == Memory {
		return nil, nil
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, db.Classify("examine "+c.Path, err)
	}
	p, err := placeOf(filepath.Dir(c.Path))
	found := []store.Finding{diskFinding(p, err), c.durability()}
	if _, err := os.Stat(c.Path); err != nil {
		return found, nil //nolint:nilerr // Schema tells
	}
	inside, err := c.examineFile(ctx)
	return append(found, inside...), db.Classify("examine "+c.Path, db.OfFile(c.Path, err))
}

// durability tells what a commit survives.
func (c Config) durability() store.Finding {
	f := store.Finding{Check: "durability", Text: "every commit is on the disk before it is acknowledged"}
	if c.Synchronous == Normal {
		f.Severity = store.Note
		f.Text = "commits are synced now and then: after a power loss the last ones may be missing"
		f.Do = "open the file without synchronous=normal if that must not be"
	}
	return f
}

func (c Config) examineFile(ctx context.Context) ([]store.Finding, error) {
	r, err := db.OpenReader(ctx, c.Path)
	if err != nil {
		return nil, db.CantOpen(c.Path, err)
	}
	pages, err := pagesFinding(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	lock, err := c.lockFinding(ctx)
	if err != nil {
		return nil, err
	}
	return []store.Finding{lock, c.logFinding(), pages}, nil
}

// pagesFinding tells how much of the file is of no use.
func pagesFinding(r *db.Conn) (store.Finding, error) {
	f := store.Finding{Check: "size"}
	var n [3]int64
	for i, name := range []string{"page_size", "page_count", "freelist_count"} {
		text, err := r.One("PRAGMA " + name)
		if err == nil {
			n[i], err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return f, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
	}
	whole, empty := n[0]*n[1], n[0]*n[2]
	f.Text = "the file has " + inBytes(whole)
	if empty > emptyPages && empty > whole/2 {
		f.Severity = store.Note
		f.Text += ", of which " + inBytes(empty) + " are empty and will be used again"
		f.Do = "to make the file smaller, stop all programs that use it and run VACUUM in it"
	}
	return f, nil
}

// logFinding tells of a write-ahead log that cannot be copied back.
func (c Config) logFinding() store.Finding {
	f := store.Finding{Check: "write-ahead log", Text: "it is as small as it should be"}
	if log, err := os.Stat(c.Path + "-wal"); err == nil && log.Size() > largeLog {
		f.Severity = store.Warning
		f.Text = "it has " + inBytes(log.Size()) + ": a reader does not end its transaction, and every read looks through the log"
		f.Do = "find the program that has the file open (lsof " + filepath.Base(c.Path) + ") and end its read transaction"
	}
	return f
}

// lockFinding tells how long a writer waits.
func (c Config) lockFinding(ctx context.Context) (store.Finding, error) {
	f := store.Finding{Check: "write lock"}
	if denied := db.DeniesWrites(c.Path); denied != nil {
		f.Severity, f.Text = store.Note, "this process may not write the file: "+denied.Error()
		f.Do = "look as the user that the programs run as"
		return f, nil
	}
	w, err := db.OpenConn(c.Path, false)
	if err != nil {
		return f, db.CantOpen(c.Path, err)
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, longestLock)
	defer cancel()
	err = db.Patient(limited, w.BeginImmediate)
	waited := time.Since(began)
	if err == nil {
		w.Rollback()
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case limited.Err() != nil && err != nil:
		f.Severity = store.Problem
		f.Text = fmt.Sprintf("another process has held it for longer than %v, and nothing else can write", longestLock)
		f.Do = "find the program that has the file open in a transaction (lsof " + filepath.Base(c.Path) + ") and end that"
		return f, nil
	case err != nil:
		return f, err
	}
	f.Text = fmt.Sprintf("it was free after %v", waited.Round(time.Microsecond))
	if waited > longLock {
		f.Severity = store.Warning
		f.Do = "keep transactions of your own short, and look for a disk that is slow or full of other work"
	}
	return f, nil
}

// diskFinding tells of a file system that jobs are not safe on, or that is nearly full.
func diskFinding(p place, err error) store.Finding {
	f := store.Finding{Check: "disk"}
	switch {
	case err != nil:
		f.Severity, f.Text = store.Note, "it could not be looked at: "+err.Error()
	case p.network:
		f.Severity = store.Problem
		f.Text = "the file is on a network file system (" + p.kind +
			"), where the locks and the shared memory of SQLite do not work between machines"
		f.Do = "put it on a disk of this machine, or use PostgreSQL"
	case p.gone != "":
		f.Severity, f.Text = store.Warning, "the file is on "+p.kind+", and is gone "+p.gone
		f.Do = "put it on a disk, or on a volume that stays"
	case p.left < tinyLeft:
		f.Severity, f.Text = store.Problem, "only "+inBytes(p.left)+" are left on it"
		f.Do = "free some space: when the disk is full nothing can be written"
	case p.left < littleLeft:
		f.Severity, f.Text = store.Warning, "only "+inBytes(p.left)+" are left on it"
		f.Do = "free some space, or keep finished jobs for a shorter time"
	default:
		f.Text = inBytes(p.left) + " are left on it"
	}
	return f
}

// place is what is known of a file system.
type place struct {
	kind    string
	network bool
	gone    string // when what is on it is gone; "": it stays
	left    int64  // bytes
}

// inBytes is a size for people.
func inBytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, unit := float64(n), -1
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", size, units[unit])
}
