package operate

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// request is one of a person whose job does not run.
type request struct {
	id            store.ID
	reason, actor string
}

// cancelling is a request to cancel on its way, and what became of it.
type cancelling struct {
	store.CancelParams
	recorded bool // it is what a person does, at this moment
	states   map[store.ID]store.State
	ended    map[store.ID]bool // by this very request
	busy     map[store.ID]bool // a caller's transaction holds it
	woken    write.Woken
	wakes    []store.Wake // what nodes are to be told of, once all is done
}

// found is what one try to cancel jobs has found and done: state 0 is a job that moved at that
// moment.
type found struct {
	states map[store.ID]store.State
	ended  map[store.ID]bool
	busy   map[store.ID]bool // another transaction has locked them
	woken  write.Woken
}
