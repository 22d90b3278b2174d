package rawpg

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// maxOps bounds a transaction of the committer.
const maxOps = 2000

// The durable points.
const (
	opJob = iota
	opStart
	opStep
	opFinish
)

type op struct {
	what     int
	instance int64
	seq      int32
	data     []byte
	ack      chan error
}

var errClosed = errors.New("the committer is closed")

// committer puts everything that waits into one transaction, one after the other. It never waits
// for more.
type committer struct {
	ops   chan op
	stop  chan struct{}
	ended chan error
}

func newCommitter(pool *pgxpool.Pool) *committer {
	c := &committer{ops: make(chan op, maxOps), stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() { c.ended <- c.loop(pool) }()
	return c
}

// do returns when the operation is durable.
func (c *committer) do(ctx context.Context, o op) error {
	o.ack = make(chan error, 1)
	select {
	case c.ops <- o:
	case <-c.stop:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.ack:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *committer) close() error {
	close(c.stop)
	return <-c.ended
}

func (c *committer) loop(pool *pgxpool.Pool) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ops := make([]op, 0, maxOps)
	for {
		ops = ops[:0]
		select {
		case o := <-c.ops:
			ops = append(ops, o)
		case <-c.stop:
			return nil
		}
	more:
		for len(ops) < maxOps {
			select {
			case o := <-c.ops:
				ops = append(ops, o)
			default:
				break more
			}
		}
		err := commit(ctx, pool, ops)
		for _, o := range ops {
			o.ack <- err
		}
	}
}

// commit writes all operations by at most four statements in one round trip, which is one
// transaction.
func commit(ctx context.Context, pool *pgxpool.Pool, ops []op) error {
	var jobs, startData, stepData, finishData [][]byte
	var starts, steps, finishes []int64
	var seqs []int32
	for _, o := range ops {
		switch o.what {
		case opJob:
			jobs = append(jobs, o.data)
		case opStart:
			starts, startData = append(starts, o.instance), append(startData, o.data)
		case opStep:
			steps, seqs, stepData = append(steps, o.instance), append(seqs, o.seq), append(stepData, o.data)
		case opFinish:
			finishes, finishData = append(finishes, o.instance), append(finishData, o.data)
		}
	}
	batch := &pgx.Batch{}
	if len(jobs) > 0 {
		batch.Queue(`INSERT INTO job (kind, args) SELECT 'bench.noop', unnest($1::bytea[])`, jobs)
	}
	if len(starts) > 0 {
		batch.Queue(`INSERT INTO instance (id, name, input) SELECT i, 'bench.flow', d FROM unnest($1::bigint[], $2::bytea[]) AS _(i, d)`,
			starts, startData)
	}
	if len(steps) > 0 {
		batch.Queue(`INSERT INTO history (instance, seq, data) SELECT i, s, d FROM unnest($1::bigint[], $2::int[], $3::bytea[]) AS _(i, s, d)`,
			steps, seqs, stepData)
	}
	if len(finishes) > 0 {
		batch.Queue(`UPDATE instance SET state = 1, output = d FROM unnest($1::bigint[], $2::bytea[]) AS _(i, d) WHERE id = i`,
			finishes, finishData)
	}
	return pool.SendBatch(ctx, batch).Close()
}
