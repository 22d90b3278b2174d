package write

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// Briefly is how long a batch waits for the first lock that another transaction holds: longer
	// than any transaction of ours takes, and too short to be noticed by the batches behind it.
	Briefly = 50 * time.Millisecond
	// AtOnce is how long it waits for each further one, and for the first one while a transaction
	// of a caller is known: what holds one thing mostly holds many.
	AtOnce = 2 * time.Millisecond
	// MostTries bounds how often it does. All in all that is another 50 ms.
	MostTries = 25
	// besideTries is how often, if others wait with it, for what was found held before.
	besideTries = 2
)

// lose notes that a lock was waited for in vain.
func (p *patience) lose() {
	if p.wait > AtOnce {
		p.wait, p.waited = AtOnce, true
		return
	}
	p.tries--
}

// isOver reports whether nothing is to be waited for any more.
func (p *patience) isOver() bool { return p.tries <= 0 }

// contend is try for what may have to wait for transactions of callers. held tells that it did, and
// longer than the batch has patience for.
func (b *batch) contend(ctx context.Context, t pg.Session, f func(pg.Session) error) (held bool, err error) {
	err = t.Try(ctx, b.patience.wait, f)
	if held = pg.IsLockTimeout(err); held {
		b.patience.lose()
	}
	return held, err
}
