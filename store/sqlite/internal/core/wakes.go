package core

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// notesWakes reports whether the transaction has to note each job that becomes available or due. It
// has not if the caller finds that out itself, nor in a transaction of a user's: when that commits,
// the version of the data tells every process.
func (t *Tx) notesWakes() bool { return t.Own != nil && !t.CallerWakes }

// noteDue remembers that nodes should promote what is due at a time.
func (t *Tx) noteDue(due int64) {
	t.Woken = store.AddWake(t.Woken, store.Wake{Kind: store.WakeDeferred, Due: db.TimeOf(due)})
}

// NoteWoken remembers that nodes should look at a queue.
func (t *Tx) NoteWoken(l *Lane) {
	t.Woken = store.AddWake(t.Woken, store.Wake{Kind: store.WakeReady, Namespace: l.Namespace, Queue: l.QueueName})
}
