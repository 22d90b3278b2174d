// Package retention has the classes of retention: for how long the finished jobs of the queues that
// name a class are kept, by how they ended.
//
// A class belongs to the database, and queues of all namespaces may name it. holdfast.WithRetention
// says how long jobs of other queues are kept, and what a class leaves open. A queue names a class
// by Name, or by "holdfast queue set QUEUE --retention CLASS"; both, and changes of a class, hold
// within a minute for all finished jobs of the queue, also for those that had finished before.
// Nothing is written at the end of a job.
//
// docs/retention.md says what is kept for how long, and what it costs.
//
// # Imports
//
// The root package, internal/access, internal/valid and store.
package retention

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Set makes a class what it says: one that is there is replaced as a whole. A time of 0 leaves it
// to holdfast.WithRetention, and store.KeepForever keeps jobs until a person deletes them; any
// other is at least a second, and whole microseconds. It returns the class with when it was last
// changed and by whom, and changes nothing if it is so already: a program may call it whenever it
// starts. The errors are holdfast.ErrInvalid, and holdfast.ErrConflict if there are
// store.MostRetentionClasses others.
//
// A class that was read before has SetAt: if another has changed or deleted it since, nothing
// changes, and the error is a *store.ChangedError, an ErrConflict.
func Set(ctx context.Context, c *holdfast.Client, class store.RetentionClass) (store.RetentionClass, error) {
	if err := valid.Name("retention class", class.Name); err != nil {
		return store.RetentionClass{}, err
	}
	e, actor := access.Engine(c)
	class.SetBy = actor
	return e.Store.SetRetention(ctx, class)
}

// List returns all classes of the database, by name.
func List(ctx context.Context, c *holdfast.Client) ([]store.RetentionClass, error) {
	e, _ := access.Engine(c)
	return e.Store.RetentionClasses(ctx)
}

// Get returns a class, or holdfast.ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, name string) (store.RetentionClass, error) {
	all, err := List(ctx, c)
	if err != nil {
		return store.RetentionClass{}, err
	}
	for i := range all {
		if all[i].Name == name {
			return all[i], nil
		}
	}
	return store.RetentionClass{}, store.NoRetention(name)
}

// Delete deletes a class. The errors are holdfast.ErrNotFound, and holdfast.ErrConflict while a
// queue of any namespace names it.
func Delete(ctx context.Context, c *holdfast.Client, name string) error {
	return DeleteFrom(ctx, c, store.RetentionClass{Name: name})
}

// DeleteFrom is Delete of a class that was read before, which has SetAt: if another has changed it
// since, it stays, and the error is a *store.ChangedError, an ErrConflict.
func DeleteFrom(ctx context.Context, c *holdfast.Client, was store.RetentionClass) error {
	e, actor := access.Engine(c)
	was.SetBy = actor
	return e.Store.DeleteRetention(ctx, was)
}

// Name lets a queue of the client's namespace name a class; "": none any more. A queue that does
// not exist is created. The errors are holdfast.ErrNotFound if there is no such class, and
// holdfast.ErrInvalid.
func Name(ctx context.Context, c *holdfast.Client, queue, class string) error {
	var unset store.Setting
	if class == "" {
		unset = store.SettingRetention
	}
	_, err := c.SetQueue(ctx, queue, store.AttemptSettings{Retention: class}, unset)
	return err
}

// Removed returns how many jobs of the client's namespace retention has removed: a row for each day
// (UTC), queue and state, the latest days first, at most limit rows (1 to 1000). queue "" is all.
// It is kept for store.RemovedKept. What people delete is not counted. The error is
// holdfast.ErrInvalid.
func Removed(ctx context.Context, c *holdfast.Client, queue string, limit int) ([]store.Removed, error) {
	e, _ := access.Engine(c)
	return e.Store.Removed(ctx, store.RemovedParams{Namespace: c.Namespace(), Queue: queue, Limit: limit})
}
