package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// AwaitTx implements store.Writer. There is one writer: when this one may write, no transaction is
// open any more that has written before, to whatever job.
//
// It waits without the write connection, and takes it only to try: those who want to write wait for
// the same transaction, and are to go on when it ends; and those who only look whether there is
// something to do, such as a claim or Watch, need not wait at all.
func (v Verbs) AwaitTx(ctx context.Context, job store.ID) error {
	for n := 0; ; n++ {
		err := v.d.TryWriting(ctx)
		if !db.IsBusy(err) {
			return db.Classify("wait for a transaction on job "+job.String(), v.d.OrGone(err))
		}
		if db.Pause(ctx, db.BetweenTries(n)) != nil {
			return db.Classify("wait for a transaction on job "+job.String(), db.Impatient(ctx, "a transaction of the caller"))
		}
	}
}
