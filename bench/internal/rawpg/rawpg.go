package rawpg

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

const (
	claimBatch = 500
	claimers   = 2
)

const schema = `
CREATE TABLE job (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	queue    text NOT NULL DEFAULT 'default',
	kind     text NOT NULL,
	priority smallint NOT NULL DEFAULT 2,
	state    smallint NOT NULL DEFAULT 0,
	attempt  smallint NOT NULL DEFAULT 0,
	run_at   timestamptz NOT NULL DEFAULT now(),
	args     bytea NOT NULL
);
CREATE INDEX job_ready ON job (queue, priority, run_at, id) WHERE state = 0;
CREATE TABLE instance (
	id     bigint PRIMARY KEY,
	name   text NOT NULL,
	state  smallint NOT NULL DEFAULT 0,
	input  bytea NOT NULL,
	output bytea
);
CREATE TABLE history (
	instance bigint NOT NULL,
	seq      int NOT NULL,
	kind     smallint NOT NULL DEFAULT 1,
	at       timestamptz NOT NULL DEFAULT now(),
	data     bytea NOT NULL,
	PRIMARY KEY (instance, seq)
);`

// System is a ceiling.
type System struct {
	Label string
	Owner bool // of a lane, instead of claims
}

// Name is what the results call it.
func (s System) Name() string { return s.Label }

// Settings are the sizes of its batches.
func (s System) Settings(system.Database) map[string]string {
	d := map[string]string{"batch": strconv.Itoa(claimBatch), "claimers": strconv.Itoa(claimers)}
	if s.Owner {
		d["claimers"] = "1"
	}
	return d
}

// Open creates the tables and connects. The plans are those for full tables, whatever the
// statistics say.
func (s System) Open(ctx context.Context, db system.Database, opts system.Options) (system.Client, error) {
	config, err := pgxpool.ParseConfig(db.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10
	maps.Copy(config.ConnConfig.RuntimeParams, map[string]string{"enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off"})
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &client{owner: s.Owner, steps: opts.Steps, pool: pool, seq: &atomic.Int64{}}
	var exists bool
	err = pool.QueryRow(ctx, `SELECT to_regclass('job') IS NOT NULL`).Scan(&exists)
	if err == nil && !exists {
		_, err = pool.Exec(ctx, schema)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	c.committer = newCommitter(pool)
	return c, nil
}

type client struct {
	owner     bool
	steps     int
	pool      *pgxpool.Pool
	committer *committer
	seq       *atomic.Int64 // of instances
}

const kind = "bench.noop"

func (c *client) Insert(ctx context.Context, args system.Args) error {
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	return c.committer.do(ctx, op{what: opJob, data: text})
}

func (c *client) InsertMany(ctx context.Context, args []system.Args) error {
	_, err := c.pool.CopyFrom(ctx, pgx.Identifier{"job"}, []string{"kind", "args"},
		pgx.CopyFromSlice(len(args), func(i int) ([]any, error) {
			text, err := json.Marshal(args[i])
			return []any{kind, text}, err
		}))
	return err
}

func (c *client) Settle(ctx context.Context) error {
	_, err := c.pool.Exec(ctx, `VACUUM ANALYZE job`)
	return err
}

func (c *client) Left(ctx context.Context) (n int64, err error) {
	err = c.pool.QueryRow(ctx, `SELECT count(*) FROM job`).Scan(&n)
	return n, err
}

func (c *client) Close(context.Context) error {
	err := c.committer.close()
	c.pool.Close()
	return err
}

// Flow runs a durable function: each point is durable before the next.
func (c *client) Flow(ctx context.Context) error {
	id := c.seq.Add(1)
	err := c.committer.do(ctx, op{what: opStart, instance: id, data: []byte(`{"n":1}`)})
	for i := 0; i < c.steps && err == nil; i++ {
		err = c.committer.do(ctx, op{what: opStep, instance: id, seq: int32(i), data: []byte(`{"result":1}`)})
	}
	if err != nil {
		return err
	}
	return c.committer.do(ctx, op{what: opFinish, instance: id, data: []byte(`{}`)})
}

func (c *client) Work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	loop, n := c.claim, claimers
	if c.owner {
		loop, n = c.own, 1
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &worker{cancel: cancel, handle: handle, loops: n, ended: make(chan error, n)}
	for range n {
		go func() { w.ended <- loop(ctx, w) }()
	}
	return w, nil
}

type worker struct {
	cancel context.CancelFunc
	handle func(system.Args)
	done   system.Counter // committed
	loops  int
	ended  chan error
}

func (w *worker) Done() int64 { return w.done.Count() }

func (w *worker) Wait(ctx context.Context, jobs int64) error { return w.done.Wait(ctx, jobs, w.ended) }

func (w *worker) Stop(context.Context) (int64, error) {
	w.cancel()
	var err error
	for ; w.loops > 0; w.loops-- {
		if e := <-w.ended; e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	return w.done.Count(), err
}
