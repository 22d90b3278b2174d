//go:build soak

package faulttest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// endings are those of people and of outside systems. A parent that has something to undo ends
// itself, in a run, of which hooks are told.
var endings = map[string]ending{
	"CompleteTx": {parentHandsOver, func(ctx context.Context, hf *holdfast.Client, tx store.Tx, id holdfast.ID) error {
		return parentKind.CompleteTx(ctx, hf, tx, id, 42)
	}, store.Completed, 0},
	"FailTx": {parentHandsOver, func(ctx context.Context, hf *holdfast.Client, tx store.Tx, id holdfast.ID) error {
		return hf.FailTx(ctx, tx, id, errFamily)
	}, store.Failed, 1},
	"CancelTx": {parentWaits, func(ctx context.Context, hf *holdfast.Client, tx store.Tx, id holdfast.ID) error {
		results, err := hf.CancelTx(ctx, tx, "not needed", id)
		if err != nil {
			return err
		}
		return results[0].Err
	}, store.Cancelled, 1},
	"CancelTx of one handed over": {parentHandsOver, func(ctx context.Context, hf *holdfast.Client, tx store.Tx, id holdfast.ID) error {
		results, err := hf.CancelTx(ctx, tx, "not needed", id)
		if err != nil {
			return err
		}
		return results[0].Err
	}, store.Cancelled, 1},
}

// TestFamilyEndedInATransaction ends a parent in a caller's transaction. Rolled back, that leaves
// no trace of any job of the family. Committed, children are closed as their policies say, before
// the parent compensates where it waits for one; and the parent's parent is told, once. So it is if
// all processes die at that moment, and others come.
func TestFamilyEndedInATransaction(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		for name, e := range endings {
			for _, dies := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, dies %t", name, dies), func(t *testing.T) {
					t.Parallel()
					db := map[bool]func(*testing.T) *database{true: onSQLite, false: onPostgres}[db.url == ""](t)
					h := newHouse(t, db)
					caller := db.open(t)
					node := h.work()
					f := h.found(e.how)
					before := f.memories()
					f.do(caller, e, (*sql.Tx).Rollback)
					h.passes(node)
					f.wantSame("rolled back", before)
					f.do(caller, e, func(tx *sql.Tx) error {
						err := tx.Commit()
						if dies {
							node.cutOff()
						}
						return err
					})
					if dies {
						closeClient(t, caller)
						h.work()
					}
					f.wantEnd(e.state, e.told)
				})
			}
		}
	})
}

// TestFamilyEndedByItself: the parent ends its job in a transaction of its handler's, which it
// rolls back at first. Its process may die when it has committed.
func TestFamilyEndedByItself(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		for how, state := range map[string]store.State{parentCompletes: store.Completed, parentFails: store.Failed} {
			for _, dies := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, dies %t", how, dies), func(t *testing.T) {
					t.Parallel()
					db := map[bool]func(*testing.T) *database{true: onSQLite, false: onPostgres}[db.url == ""](t)
					h := newHouse(t, db)
					var node *severed
					var commits, late atomic.Int64
					gone := make(chan struct{})
					defer close(gone)
					h.ended = func(run *holdfast.Run, tx *sql.Tx) error {
						if commits.Load() > 0 {
							late.Add(1)
						}
						if run.Attempt() == 1 {
							return errors.Join(errFamily, tx.Rollback())
						}
						err := tx.Commit()
						if err == nil {
							commits.Add(1)
						}
						if dies {
							node.cutOff()
							<-gone
						}
						return errors.Join(err, errFamily) // the end is that of the transaction
					}
					node = h.work()
					f := h.found(how)
					send := func() {
						if _, err := familyNote.Send(t.Context(), h.hf, f.parent, 1); err != nil {
							t.Fatal(err)
						}
					}
					send()
					eventually(t, "the first attempt has failed", func() bool { return get(t, h.hf, f.parent).State == store.Retryable })
					h.passes(node)
					if top := get(t, h.hf, f.top); top.State != store.Waiting || top.Messages != 0 {
						t.Errorf("rolled back: the grandparent is %s", told(top))
					}
					for who, id := range f.children {
						if r := get(t, h.hf, id); r.State != store.Waiting {
							t.Errorf("rolled back: the child that is to be %s is %s", who, told(r))
						}
					}
					results, err := h.hf.Retry(t.Context(), "", f.parent)
					if err != nil || results[0].Err != nil {
						t.Fatal(results, err)
					}
					eventually(t, "it has committed", func() bool { return commits.Load() > 0 })
					if dies {
						h.work()
					}
					f.wantEnd(state, 1)
					if commits.Load() != 1 || late.Load() != 0 {
						t.Errorf("%d transactions were committed, and the handler has ended its job %d times after that", commits.Load(), late.Load())
					}
				})
			}
		}
	})
}
