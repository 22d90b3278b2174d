package keys

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// WereSent answers those of the enqueues with a Send that have happened before, and returns them.
func WereSent(ctx context.Context, t pg.Runner, enqueues []*store.Enqueue) (map[*store.Enqueue]bool, error) {
	ids, namespaces := make([]pgtype.UUID, len(enqueues)), make([]string, len(enqueues))
	for i, q := range enqueues {
		ids[i], namespaces[i] = pg.UUIDOf(q.Job.ID), q.Job.Namespace
	}
	were := map[*store.Enqueue]bool{}
	err := t.Run(ctx, "key_sent", func(r pg.Row) error {
		var place, seq int64
		var job string
		var differs bool
		var runAt *int64
		if err := r.Scan(&place, &job, &seq, &differs, &runAt); err != nil {
			return err
		}
		id, err := uuid.Parse(job)
		q := enqueues[place-1]
		were[q], q.Send.Job = true, id
		q.Send.Result = store.SendResult{Seq: seq, Duplicate: true}
		q.Result, q.Err = store.EnqueueResult{ID: id, Existing: true, RunAt: pg.OptTime(runAt), Differs: differs}, nil
		return err
	}, ids, namespaces)
	return were, err
}

// ErrSentMeanwhile is of an enqueue with a Send that another transaction has done: nothing of it
// may happen again. It is answered when it is repeated.
var ErrSentMeanwhile = fmt.Errorf("%w: the enqueue has just happened in another transaction", store.ErrBusy)

// NoteSent remembers what became of enqueues with a Send. If one of them has happened meanwhile
// nothing of the transaction may be kept.
func NoteSent(ctx context.Context, t pg.Runner, enqueues []*store.Enqueue, now int64) error {
	n := len(enqueues)
	ids, namespaces, jobs := make([]pgtype.UUID, n), make([]string, n), make([]pgtype.UUID, n)
	seqs, differs := make([]int64, n), make([]bool, n)
	for i, q := range enqueues {
		ids[i], namespaces[i], jobs[i] = pg.UUIDOf(q.Job.ID), q.Job.Namespace, pg.UUIDOf(q.Send.Job)
		seqs[i], differs[i] = q.Send.Result.Seq, q.Result.Differs
	}
	noted := 0
	err := t.Run(ctx, "key_sent_note", func(pg.Row) error { noted++; return nil }, ids, namespaces, jobs, seqs, differs, now)
	if err == nil && noted < n {
		err = ErrSentMeanwhile
	}
	return err
}
