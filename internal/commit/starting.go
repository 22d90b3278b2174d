package commit

import (
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Starting are enqueues of a batch for which a node has made room, so that their jobs run as soon as the batch is committed.
type Starting struct {
	Start *store.Start // of the batch
	// Settle is called once, when it is known what became of the enqueues: Start.Claimed are those that run.
	Settle func()

	lost    bool // an answer: the jobs may run already
	settled bool
}

// settle passes on what is known. Nil has nothing to settle.
func (s *Starting) settle() {
	if s != nil {
		s.settled = true
		s.Settle()
	}
}

// failed is called when the enqueues are to be repeated. A full or read-only database has said that they did not happen, unless they did
// before: then they are enqueues like any other.
func (s *Starting) failed(err error) {
	if s == nil {
		return
	}
	if s.lost = s.lost || errors.Is(err, store.ErrUnavailable); !s.lost {
		s.cancel()
	}
}

// cancel is settle for enqueues that did not happen, or whose fate is unknown.
func (s *Starting) cancel() {
	if s != nil {
		s.Start.Claimed = nil
		s.settle()
	}
}
