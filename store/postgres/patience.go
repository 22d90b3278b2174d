package postgres

import (
	"context"
	"fmt"
	"time"
)

const (
	// briefly is how long a batch waits for the first lock that somebody else has: longer than any
	// transaction of ours takes, and not so long that those would notice who wait behind it.
	briefly = 50 * time.Millisecond
	// atOnce is how long it waits for each further one, and for the first one while a transaction of
	// a caller is known: what holds one thing mostly holds many.
	atOnce = 2 * time.Millisecond
	// mostTries bounds how often it does. All in all that is another 50 ms.
	mostTries = 25
	// besideTries is how often, if others wait with it, for what was found held before.
	besideTries = 2
)

// lose notes that a lock was waited for in vain.
func (p *patience) lose() {
	if p.wait > atOnce {
		p.wait, p.waited = atOnce, true
		return
	}
	p.tries--
}

// isOver reports whether nothing is to be waited for any more.
func (p *patience) isOver() bool { return p.tries <= 0 }

// waitAtMost is the statement after which no other of its transaction waits longer for a lock.
func waitAtMost(limit time.Duration) statement {
	return statement{name: "wait_at_most", args: []any{fmt.Sprintf("%dms", limit.Milliseconds())}}
}

// try runs f behind a savepoint, and waits for locks no longer than limit.
func (t session) try(ctx context.Context, limit time.Duration, f func(session) error) error {
	if err := t.runAll(ctx, []statement{waitAtMost(limit)}); err != nil {
		return err
	}
	return t.attempt(ctx, f)
}

// contend is try for what may have to wait for transactions of callers. held tells that it did, and
// longer than the batch has patience for.
func (b *batch) contend(ctx context.Context, t session, f func(session) error) (held bool, err error) {
	err = t.try(ctx, b.patience.wait, f)
	if held = codeOf(err) == codeLockTimeout; held {
		b.patience.lose()
	}
	return held, err
}
