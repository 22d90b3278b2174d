package store

import (
	"errors"
	"fmt"
)

// The classes of errors. Every error of a store is one of these under errors.Is, or the context's.
var (
	// ErrInvalid: the request can never succeed as it is.
	ErrInvalid = errors.New("holdfast: invalid request")
	// ErrPermission, which is an ErrInvalid: the database does not let its user do that.
	ErrPermission = fmt.Errorf("%w: permission denied", ErrInvalid)
	// ErrNotFound: no such job, queue or node.
	ErrNotFound = errors.New("holdfast: not found")
	// ErrConflict: the request contradicts what is stored: a unique key is taken, a finished job is
	// to be cancelled.
	ErrConflict = errors.New("holdfast: conflict")
	// ErrLeaseLost: the lease that the write carried is not the job's live lease. Nothing was
	// changed.
	ErrLeaseLost = errors.New("holdfast: lease lost")
	// ErrNodeDead: the node was declared dead. It must cancel what it runs and join again under a
	// new id.
	ErrNodeDead = errors.New("holdfast: node declared dead")
	// ErrUnavailable: the database did not answer, or not in time. The operation may or may not
	// have happened; it may be repeated.
	ErrUnavailable = errors.New("holdfast: database unavailable")
	// ErrBusy, which is an ErrUnavailable: a transaction of a caller holds what this one operation
	// needs. Nothing of it has happened; repeating it holds up nothing else.
	ErrBusy = fmt.Errorf("%w: another transaction holds the lock", ErrUnavailable)
	// ErrRefused: nothing of a batch was written, because of some of its operations. It is a
	// *RefusedError.
	ErrRefused = errors.New("holdfast: batch refused")
	// ErrReadOnly: the database refuses writes.
	ErrReadOnly = errors.New("holdfast: database is read-only")
	// ErrFull: the disk is full. Nothing was changed; it may be repeated once there is room.
	ErrFull = errors.New("holdfast: disk full")
	// ErrSchema: the schema is newer than this program, or is not there and was not to be created.
	ErrSchema = errors.New("holdfast: schema does not fit")
	// ErrDatabaseGone: the database was deleted or replaced while it was open. Nothing more can be
	// stored there, and what was under way is not confirmed. It does not pass: the program has to
	// open the database again.
	ErrDatabaseGone = errors.New("holdfast: database deleted or replaced")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("holdfast: store closed")
)

// IsRetryable reports whether the same operation may succeed when it is repeated a little later.
func IsRetryable(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrFull) }
