package usercode

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// MessageError is the error of a wait whose message does not decode into what the code wants. It is
// a store.ErrInvalid, and the same one when the run is replayed, whatever the code could decode by
// then. Who goes on from it has received the message. If the attempt fails with it, the message is
// refused: the next attempt does not get it again, so that no message stops a run for good.
type MessageError struct {
	Job      store.ID
	Message  int64  // its number among the messages of the job
	Signal   string // its name; "" for the answer to a callback
	Callback string // the name of the callback; "" for a signal
	Problem  string // why it does not decode
}

func (e *MessageError) Error() string {
	what := fmt.Sprintf("signal %q", e.Signal)
	if e.Callback != "" {
		what = fmt.Sprintf("answer to callback %q", e.Callback)
	}
	return fmt.Sprintf("%v: job %s: cannot decode message %d (%s): %s", store.ErrInvalid, e.Job, e.Message, what, e.Problem)
}

// Unwrap makes the error an ErrInvalid.
func (e *MessageError) Unwrap() error { return store.ErrInvalid }
