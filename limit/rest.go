package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// DefaultCurve is how long queues rest for Throttled: a second, and twice as long each time that a
// rest follows another one, up to five minutes.
var DefaultCurve = store.Backoff{Base: time.Second, Cap: 5 * time.Minute, Jitter: 0.1}

// Throttled is returned by a handler to which a service has said that it gets too many requests. No
// job of the queue starts for d, or for longer by the curve; then this job runs again. The attempt
// does not count.
//
// Of several handlers of the queue that say so at once the first begins the rest; another one can
// only make it last until its own d is over. A rest that begins within two minutes of the end of
// the one before lasts as long as the curve says for the next level. d of 0 leaves it to the curve;
// it is at most 30 days.
//
// It can be wrapped: the error's text is kept as that of the attempt.
func Throttled(d time.Duration) error {
	return &usercode.ThrottledError{Delay: d, Curve: DefaultCurve}
}

// ThrottledBy is Throttled with a curve: of base, twice as long each time, up to most. With a base
// of 0 there is none, and the queue rests for d.
func ThrottledBy(d, base, most time.Duration) error {
	return &usercode.ThrottledError{Delay: d, Curve: store.Backoff{Base: base, Cap: most}}
}

// Rest lets a queue rest: no job of it starts for d, at most 30 days. What runs goes on. If it
// rests already it does so for the longer of the two times. It returns when the rest ends;
// ResumeQueue ends it before. A queue that does not exist is created. The error is ErrInvalid.
func Rest(ctx context.Context, c *holdfast.Client, queue string, d time.Duration) (until time.Time, err error) {
	e, actor := access.Engine(c)
	if d <= 0 {
		return time.Time{}, fmt.Errorf("%w: queue %q cannot rest for %v, which is not above 0 and at most %v",
			store.ErrInvalid, queue, d, store.MaxRest)
	}
	r, err := e.Store.Rest(ctx, store.RestParams{Namespace: c.Namespace(), Queue: queue, For: d, Actor: actor})
	return r.Until, err
}
