package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// answer tells the parent of a job how it finished, in the transaction that finishes it. A parent
// that is completed, or gone, is told nothing; one that failed or was cancelled may be resumed, and
// finds the answer then.
func answer(t *core.Tx, parent, child store.ID, e *Ending) error {
	to, found, err := addresseeOf(t, parent)
	if err != nil || !found || to.ended == store.Completed {
		return err
	}
	m := &store.Message{Kind: store.MessageChild, From: child, State: e.State}
	if e.State == store.Completed {
		m.Data, m.Codec = e.result, e.codec
	} else {
		m.Error, m.Reason = e.err, e.Reason
	}
	_, err = deliver(t, parent, to, m, "")
	return err
}

// closeLater makes a note of a job that finishes if there are children to close. One that runs
// again later, because a person asked, is not closed for what its parent was.
func closeLater(t *core.Tx, id store.ID) error {
	s := t.Stmt("children_has")
	db.BindID(s, id)
	if has, err := db.Exists(s); !has || err != nil {
		return err
	}
	s = t.Stmt("closed_put")
	db.BindID(s, id)
	return db.Exec(s)
}

func forgetClosed(t *core.Tx, id store.ID) error {
	s := t.Stmt("closed_delete")
	db.BindID(s, id)
	return db.Exec(s)
}
