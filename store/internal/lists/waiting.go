package lists

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Waits is the set of the states of jobs that wait to run.
var Waits = store.SetOf(store.Scheduled, store.Available, store.Retryable)

// Waiting is what a store is asked about keys, and has to know of it.
type Waiting struct {
	store.WaitingOfKeysParams

	Places map[store.KeyOfLimit]int // of the keys in the answer
	Limits []string                 // of the keys, each once
}

// NewWaiting checks the parameters; the error is ErrInvalid.
func NewWaiting(p store.WaitingOfKeysParams) (*Waiting, error) {
	if p.Namespace == "" || p.Queue == "" || p.Most <= 0 || p.Few > store.CountBound {
		return nil, fmt.Errorf("%w: counting up to %d jobs of keys in the queue %.60q of the namespace %.60q",
			store.ErrInvalid, p.Most, p.Queue, p.Namespace)
	}
	if p.Few == 0 {
		p.Few = store.CountBound
	}
	p.Few = max(p.Few, 0)
	w := &Waiting{WaitingOfKeysParams: p, Places: make(map[store.KeyOfLimit]int, len(p.Keys))}
	seen := map[string]bool{}
	for i, k := range p.Keys {
		w.Places[k] = i
		if !seen[k.Limit] {
			seen[k.Limit] = true
			w.Limits = append(w.Limits, k.Limit)
		}
	}
	return w, nil
}
