// Package fair lets the jobs of a queue take turns by whom they are for, so that a tenant with a
// million jobs does not delay one with three.
//
// A job gets a fair key when it is enqueued. Of the jobs of a queue and a priority that have one,
// the first of each key is claimed, then the second of each key, and so on. The jobs of one key
// start in the order of their run times. Jobs without a fair key are as before.
//
// Keys are told apart by one of 64 shards, a hash: keys that share one have one turn, and are one
// line. Give the jobs of a key that is far heavier than others a limit per key as well, see
// limit.By.
//
// It imports the root package, and store and internal/access.
package fair

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
)

// Key says for whom the job is, such as a tenant: 1 to 200 bytes of UTF-8, without control
// characters. Such a job does not start in the transaction that enqueues it. Its key cannot be
// changed.
func Key(key string) holdfast.EnqueueOption {
	return access.FairKey(key).(holdfast.EnqueueOption) //nolint:errcheck // always one
}

// KeyOf gives jobs the key that a function makes of their args; "": none. It is an option for
// holdfast.NewKind, and In is that of the kind. The function gets the args as a handler would,
// before enqueue middleware; args that do not decode into In are an ErrInvalid of the enqueue.
func KeyOf[In any](of func(In) string) holdfast.EnqueueOption {
	key := func(args []byte) (string, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return "", fmt.Errorf("the args do not decode into %T: %w", in, err)
		}
		return of(in), nil
	}
	return access.FairKeyOf(key).(holdfast.EnqueueOption) //nolint:errcheck // always one
}
