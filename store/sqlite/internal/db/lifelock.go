package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"

	"github.com/holdfastdev/holdfast/store"
)

// LifeLocks are locks of the operating system that nodes hold as long as they live: one file for
// each, beside the database. The system releases the lock of a process that dies, however it dies.
//
//	no file            nothing is known; the heartbeat decides
//	the lock is taken  the node's process lives
//	the lock is free   the node is dead
type LifeLocks struct {
	Dir  string
	Like fs.FileInfo // the database, who may use which may use the locks

	mu   sync.Mutex
	held map[int64]*flock.Flock
}

func (l *LifeLocks) path(node int64) string {
	return filepath.Join(l.Dir, strconv.FormatInt(node, 10)+".lock")
}

// Take locks the file of a node that joins. It happens before the node can be seen by others, so
// that no process can find the file without its lock.
func (l *LifeLocks) Take(node int64) error {
	mode := l.Like.Mode().Perm() | 0o600
	lock := flock.New(l.path(node), flock.SetPermissions(mode))
	for range 3 { // the last node to leave removes the directory
		err := os.Mkdir(l.Dir, 0o700)
		if err == nil { // who may read may enter
			err = shareLike(l.Dir, l.Like, mode|mode&0o444>>2)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return lockFailed(err)
		}
		locked, err := lock.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return lockFailed(err)
		}
		if !locked {
			return fmt.Errorf("%w: %s is already locked, although the node is new", store.ErrUnavailable, lock.Path())
		}
		break
	}
	if !lock.Locked() {
		return lockFailed(fmt.Errorf("%s: %w", l.Dir, fs.ErrNotExist))
	}
	if err := shareLike(lock.Path(), l.Like, mode); err != nil {
		l.Remove(lock)
		return lockFailed(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[int64]*flock.Flock{}
	}
	l.held[node] = lock
	return nil
}

func lockFailed(err error) error {
	class := store.ErrUnavailable
	if errors.Is(err, fs.ErrPermission) {
		class = store.ErrReadOnly
	}
	return fmt.Errorf("%w: lock file of the node: %w", class, err)
}

// Drop releases and removes the lock of a node that ended, if this store held it.
func (l *LifeLocks) Drop(node int64) {
	l.mu.Lock()
	lock := l.held[node]
	delete(l.held, node)
	l.mu.Unlock()
	if lock != nil {
		l.Remove(lock)
	}
}

// Remove removes a lock file that is locked by us. The order matters on systems that cannot remove
// an open file; where it fails the file stays, and is free, as is right for a dead node.
func (l *LifeLocks) Remove(lock *flock.Flock) {
	if os.Remove(lock.Path()) == nil {
		_ = lock.Unlock()
	} else {
		_ = lock.Unlock()
		_ = os.Remove(lock.Path())
	}
	_ = os.Remove(l.Dir) // succeeds when it was the last
}

// TryDead returns the lock of a node whose process died, or nil. The caller removes it when the
// death is recorded, or unlocks it.
func (l *LifeLocks) TryDead(node int64) *flock.Flock {
	lock := flock.New(l.path(node), flock.SetFlag(os.O_RDWR)) // not created if it is missing
	if locked, err := lock.TryLock(); err == nil && locked {
		return lock
	}
	return nil
}

// ReleaseAll releases the locks of the nodes that did not leave, but keeps their files: that says
// that they are dead.
func (l *LifeLocks) ReleaseAll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for node, lock := range l.held {
		err = errors.Join(err, lock.Unlock())
		delete(l.held, node)
	}
	return err
}
