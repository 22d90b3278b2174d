package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// answer tells the parent of a job that it finished, in the transaction that finishes it. A parent that is completed, or gone, is
// told nothing; one that failed or was cancelled may be resumed, and finds the answer then.
func (t *tx) answer(parent store.ID, m *store.Message) error {
	to, found, err := t.addressee(parent)
	if err != nil || !found || to.ended == store.Completed {
		return err
	}
	_, err = t.deliver(parent, to, m, "")
	return err
}

// closeLater makes a note of a job that finishes if there are children to close. One that runs again later, because a person asked, is not
// closed for what its parent was.
func (t *tx) closeLater(id store.ID) error {
	s := t.stmt("children_has")
	bindID(s, id)
	if has, err := exists(s); !has || err != nil {
		return err
	}
	s = t.stmt("closed_put")
	bindID(s, id)
	return exec(s)
}

func (t *tx) forgetClosed(id store.ID) error {
	s := t.stmt("closed_delete")
	bindID(s, id)
	return exec(s)
}
