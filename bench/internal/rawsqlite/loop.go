package rawsqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// idlePause is how long a loop that found nothing waits.
const idlePause = time.Millisecond

const (
	claimSQL = `UPDATE job SET state = 1, attempt = attempt + 1 WHERE id IN (
			SELECT id FROM job WHERE state = 0 AND queue = 'default' ORDER BY priority, run_at, id LIMIT ?1)
		RETURNING id, args`
	ownSQL    = `SELECT id, args FROM job ORDER BY id LIMIT ?1`
	finishSQL = `DELETE FROM job WHERE id = ?1`
)

func (c *client) Work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &worker{client: c, cancel: cancel, handle: handle, ended: make(chan error, 1)}
	go func() { w.ended <- w.loop(ctx) }()
	return w, nil
}

type worker struct {
	client  *client
	cancel  context.CancelFunc
	handle  func(system.Args)
	done    system.Counter // committed
	ended   chan error
	stopped bool
}

func (w *worker) Done() int64 { return w.done.Count() }

func (w *worker) Wait(ctx context.Context, jobs int64) error { return w.done.Wait(ctx, jobs, w.ended) }

func (w *worker) Stop(context.Context) (int64, error) {
	w.cancel()
	var err error
	if !w.stopped {
		w.stopped = true
		if err = <-w.ended; errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	return w.done.Count(), err
}

type job struct {
	id   int64
	text []byte
}

// loop takes a batch in the transaction that finishes the one before, and runs it when that is
// durable. It ends when its context does, after it has finished what it ran.
func (w *worker) loop(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	take := claimSQL
	if w.client.owner {
		take = ownSQL
	}
	var jobs []job
	for {
		more := ctx.Err() == nil
		if !more && len(jobs) == 0 {
			return ctx.Err()
		}
		var next []job
		err := w.client.writer.do(work, func(conn *sqlite.Conn) error {
			next = next[:0]
			if err := finish(conn, jobs); err != nil || !more {
				return err
			}
			var err error
			next, err = collect(conn, take)
			return err
		})
		if err != nil {
			return err
		}
		w.done.Add(int64(len(jobs)))
		for _, j := range next {
			var args system.Args
			if err := json.Unmarshal(j.text, &args); err != nil {
				return err
			}
			w.handle(args)
		}
		jobs = next
		if len(jobs) == 0 && more {
			if err := system.Pause(ctx, idlePause); err != nil {
				return err
			}
		}
	}
}

func finish(conn *sqlite.Conn, jobs []job) error {
	statement, err := conn.Prepare(finishSQL)
	for _, j := range jobs {
		if err != nil {
			return err
		}
		statement.BindInt64(1, j.id)
		err = step(statement)
	}
	return err
}

func collect(conn *sqlite.Conn, sql string) (jobs []job, err error) {
	statement, err := conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, statement.Reset()) }()
	statement.BindInt64(1, claimBatch)
	for {
		row, err := statement.Step()
		if err != nil || !row {
			return jobs, err
		}
		j := job{id: statement.ColumnInt64(0), text: make([]byte, statement.ColumnLen(1))}
		statement.ColumnBytes(1, j.text)
		jobs = append(jobs, j)
	}
}
