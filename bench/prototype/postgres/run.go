package main

import (
	"context"

	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var files embed.FS

type id = [16]byte

// statements holds the text of each named statement.
func statements() map[string]string {
	text, err := files.ReadFile("sql/queries.sql")
	if err != nil {
		panic(err)
	}
	named := map[string]string{}
	for _, block := range strings.Split(string(text), "-- name: ")[1:] {
		name, body, _ := strings.Cut(block, "\n")
		named[name] = strings.TrimSuffix(strings.TrimSpace(body), ";")
	}
	named["claim_join"] = strings.Replace(named["claim"], "%BODY%", named["body_join"], 1)
	named["claim_none"] = strings.Replace(named["claim"], "%BODY%", " "+named["body_none"], 1)
	return named
}

func connect(ctx context.Context, dsn string, v variant) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["search_path"] = "proto"
	config.RuntimeParams["application_name"] = "holdfast prototype"
	if v.settings != "" {
		config.RuntimeParams["jit"] = "off"
	}
	if v.settings == "pinned" {
		config.RuntimeParams["enable_seqscan"] = "off"
		config.RuntimeParams["enable_hashjoin"] = "off"
		config.RuntimeParams["enable_mergejoin"] = "off"
		config.RuntimeParams["enable_bitmapscan"] = "off"
		config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	}
	if v.mode != "" {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return pgx.ConnectConfig(ctx, config)
}

// prelude pins the plans of the transaction that it runs in. In one pipeline with a statement it is in one implicit
// transaction with it, which a pooler in transaction mode keeps on one server connection.
const prelude = `SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// query runs a statement, behind the prelude where the connection has no settings of its own.
func query(ctx context.Context, conn *pgx.Conn, v variant, sql string, args ...any) (pgx.Rows, error) {
	if v.mode != "prelude" {
		return conn.Query(ctx, sql, args...)
	}
	batch := &pgx.Batch{}
	batch.Queue(prelude)
	batch.Queue(sql, args...)
	results := conn.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		return nil, errors.Join(err, results.Close())
	}
	rows, err := results.Query()
	return &batchRows{rows, results}, err
}

// batchRows closes the pipeline with the rows.
type batchRows struct {
	pgx.Rows
	results pgx.BatchResults
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.results.Close()
	return false
}

// prepareTables makes the tables anew, with 14 days of partitions when partitioned: a normal retention.
func prepareTables(ctx context.Context, conn *pgx.Conn, v variant) error {
	text, err := files.ReadFile("sql/schema.sql")
	if err != nil {
		return err
	}
	clause := ""
	if v.partitioned {
		clause = "PARTITION BY RANGE (id)"
	}
	if _, err := conn.Exec(ctx, strings.ReplaceAll(string(text), "%PARTITION%", clause), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if v.partitioned {
		today := time.Now().UTC().Truncate(24 * time.Hour)
		for day := -11; day <= 2; day++ {
			from, to := dayID(today.AddDate(0, 0, day)), dayID(today.AddDate(0, 0, day+1))
			for _, table := range []string{"job", "finished"} {
				sql := fmt.Sprintf("CREATE TABLE %s_%02d PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s')", table, day+12, table, from, to)
				if _, err := conn.Exec(ctx, sql); err != nil {
					return err
				}
			}
		}
		for _, table := range []string{"job", "finished"} {
			if _, err := conn.Exec(ctx, fmt.Sprintf("CREATE TABLE %s_default PARTITION OF %s DEFAULT", table, table)); err != nil {
				return err
			}
		}
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return err
}

func dayID(t time.Time) string {
	hex := fmt.Sprintf("%012x", t.UnixMilli())
	return hex[:8] + "-" + hex[8:] + "-0000-0000-000000000000"
}

var idCounter atomic.Uint64

func newID() (u id) {
	binary.BigEndian.PutUint64(u[:], uint64(time.Now().UnixMilli())<<16|0x7000|idCounter.Add(1)&0xfff)
	binary.BigEndian.PutUint64(u[8:], rand.Uint64()&^(3<<62)|2<<62)
	return u
}

var payload = []byte(`{"order":"0198f2d4-7c1a-7d3e-9c55-1f2e3d4c5b6a","amount":12345}`)

func enqueue(ctx context.Context, conn *pgx.Conn, sql string, lanes, n int) error {
	now := time.Now().UnixMicro()
	ids, laneIDs, runAt := make([]id, n), make([]int32, n), make([]int64, n)
	args, keys := make([][]byte, n), make([]*string, n)
	for i := range n {
		ids[i], laneIDs[i], runAt[i], args[i] = newID(), int32(rand.IntN(lanes)+1), now, payload
	}
	var stored int
	return conn.QueryRow(ctx, sql, ids, laneIDs, runAt, args, keys, now).Scan(&stored)
}

type claimed struct {
	node           int32
	seq            int64
	slot           int32
	id             id
	lane           int32
	attempt, lease int32
	claimedAt      int64
}

// claimer claims and finishes until all jobs of the run are done.
type claimer struct {
	conn    *pgx.Conn
	v       variant
	sql     map[string]string
	node    int32
	seq     int64
	lanes   []int32
	prios   []int32
	running []claimed
}

func (c *claimer) claim(ctx context.Context) (int, error) {
	name := "claim_none"
	if c.v.join {
		name = "claim_join"
	}
	cut := c.v.cut
	if cut == 0 {
		cut = min(c.v.batch, 2*c.v.batch/c.v.lanes+8)
	}
	now := time.Now().UnixMicro()
	rows, err := query(ctx, c.conn, c.v, c.sql[name], c.node, c.seq, c.lanes, c.prios, c.v.batch, now, int64(3600e6), cut)
	if err != nil {
		return 0, err
	}
	first := len(c.running)
	var (
		slot                            int64
		job                             claimed
		maxAttempts                     int32
		codec                           int16
		createdAt                       int64
		args, options, tags, meta, okey []byte
	)
	into := []any{&slot, &job.lane, &job.id}
	if c.v.join {
		into = append(into, &job.attempt, &maxAttempts, &job.lease, &codec, &createdAt, (*pgxRaw)(&args), (*pgxRaw)(&options), (*pgxRaw)(&tags), (*pgxRaw)(&meta), (*pgxRaw)(&okey))
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		job.node, job.seq, job.slot, job.claimedAt = c.node, c.seq+slot/60, int32(slot%60), now
		c.running = append(c.running, job)
		n++
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	c.seq += int64(n+59) / 60
	if c.v.twoQueries && n > 0 {
		batch := make([]id, n)
		for i, j := range c.running[first:] {
			batch[i] = j.id
		}
		slices.SortFunc(batch, func(a, b id) int { return strings.Compare(string(a[:]), string(b[:])) })
		rows, err := query(ctx, c.conn, c.v, c.sql["bodies"], batch, batch[0], batch[n-1])
		if err != nil {
			return 0, err
		}
		got := 0
		for rows.Next() {
			if err := rows.Scan(&job.id, &job.attempt, &maxAttempts, &job.lease, &codec, &createdAt, (*pgxRaw)(&args), (*pgxRaw)(&options), (*pgxRaw)(&tags), (*pgxRaw)(&meta), (*pgxRaw)(&okey)); err != nil {
				return 0, err
			}
			got++
		}
		if got != n {
			return 0, fmt.Errorf("%d bodies of %d", got, n)
		}
	}
	return n, nil
}

// pgxRaw copies the bytes of a column, as the store must.
type pgxRaw []byte

func (r *pgxRaw) ScanBytes(b []byte) error { *r = append([]byte(nil), b...); return nil }

func (c *claimer) finish(ctx context.Context, n int) error {
	if c.v.random {
		rand.Shuffle(len(c.running), func(i, j int) { c.running[i], c.running[j] = c.running[j], c.running[i] })
	}
	jobs := c.running[:n]
	nodes, seqs, slots, ids := make([]int32, n), make([]int64, n), make([]int32, n), make([]id, n)
	lanes, attempts, leases, at, results := make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n), make([][]byte, n)
	for i, j := range jobs {
		nodes[i], seqs[i], slots[i], ids[i], lanes[i] = j.node, j.seq, j.slot, j.id, j.lane
		attempts[i], leases[i], at[i] = j.attempt+1, j.lease+1, j.claimedAt
	}
	rows, err := query(ctx, c.conn, c.v, c.sql["finish"], nodes, seqs, slots, ids, lanes, attempts, leases, at, time.Now().UnixMicro(), results)
	if err != nil {
		return err
	}
	groups := map[int64]bool{}
	for _, s := range seqs {
		groups[s] = true
	}
	matched := 0
	for rows.Next() {
		matched++
	}
	if rows.Err() != nil || matched != len(groups) {
		return fmt.Errorf("%d groups of %d: %v", matched, len(groups), rows.Err())
	}
	c.running = slices.Delete(c.running, 0, n)
	return nil
}

// cpu is the CPU time of all processes of the server under the postmaster, and of this process.
type cpu struct{ server, client time.Duration }

func readCPU(postmaster int) (c cpu) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		ppid, _ := strconv.Atoi(f[1])
		fields := f[11:13]
		if pid == postmaster {
			fields = f[11:15] // with the reaped children
		} else if ppid != postmaster {
			continue
		}
		for _, ticks := range fields {
			n, _ := strconv.Atoi(ticks)
			c.server += time.Duration(n) * 10 * time.Millisecond
		}
	}
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	c.client = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	return c
}

func run(ctx context.Context, dsn string, v variant) (result, error) {
	admin, err := connect(ctx, dsn, variant{})
	if err != nil {
		return result{}, err
	}
	defer admin.Close(ctx)
	if err := prepareTables(ctx, admin, v); err != nil {
		return result{}, err
	}
	sql := statements()
	var dataDir string
	if err := admin.QueryRow(ctx, "SHOW data_directory").Scan(&dataDir); err != nil {
		return result{}, err
	}
	pidFile, err := os.ReadFile(dataDir + "/postmaster.pid")
	if err != nil {
		return result{}, err
	}
	postmaster, _ := strconv.Atoi(strings.SplitN(string(pidFile), "\n", 2)[0])
	wal := func() (n float64) {
		if err := admin.QueryRow(ctx, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").Scan(&n); err != nil {
			panic(err)
		}
		return n
	}

	producer, err := connect(ctx, dsn, v)
	if err != nil {
		return result{}, err
	}
	defer producer.Close(ctx)
	claimers := make([]*claimer, v.claimers)
	for i := range claimers {
		conn, err := connect(ctx, dsn, v)
		if err != nil {
			return result{}, err
		}
		defer conn.Close(ctx)
		c := &claimer{conn: conn, v: v, sql: sql, node: int32(i + 1), seq: 1}
		for l := range v.lanes {
			c.lanes, c.prios = append(c.lanes, int32(l+1)), append(c.prios, 2)
		}
		claimers[i] = c
		if v.warmEmpty {
			// Seven executions: a custom plan five times, then the cached generic one.
			for range 7 {
				if _, err := c.claim(ctx); err != nil {
					return result{}, err
				}
				if err := enqueue(ctx, producer, sql["enqueue"], v.lanes, 1); err != nil {
					return result{}, err
				}
				if n, err := c.claim(ctx); err != nil || n != 1 {
					return result{}, fmt.Errorf("claimed %d: %w", n, err)
				}
				if err := c.finish(ctx, 1); err != nil {
					return result{}, err
				}
			}
		}
	}
	if v.batch == 1 {
		return runSingle(ctx, v, sql, producer, postmaster, wal)
	}

	var out result
	insertBatch := 1000
	jobs := float64(v.jobs)
	var left atomic.Int64
	startCPU, startWAL, start := readCPU(postmaster), wal(), time.Now()
	enqueueName := "enqueue_plain"
	if v.tolerant {
		enqueueName = "enqueue"
	}
	fill := func() error {
		for range v.jobs / insertBatch {
			if err := enqueue(ctx, producer, sql[enqueueName], v.lanes, insertBatch); err != nil {
				return err
			}
			left.Add(int64(insertBatch))
			for v.steady && left.Load() > 5000 {
				time.Sleep(200 * time.Microsecond)
			}
		}
		return nil
	}
	if !v.steady {
		if err := fill(); err != nil {
			return out, err
		}
		used := readCPU(postmaster)
		out.insertCPU = (used.server - startCPU.server).Seconds() * 1e6 / jobs
		out.insertWAL = (wal() - startWAL) / jobs
		if v.analyze {
			if _, err := admin.Exec(ctx, "VACUUM ANALYZE job, ready, claim, finished"); err != nil {
				return out, err
			}
		}
		startCPU, startWAL, start = readCPU(postmaster), wal(), time.Now()
	}
	var done atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, len(claimers)+1)
	if v.steady {
		group.Go(func() { errs <- fill() })
	}
	for _, c := range claimers {
		group.Go(func() {
			keep := 0
			if v.random {
				keep = 500
			}
			for done.Load() < int64(v.jobs) {
				n, err := c.claim(ctx)
				if err != nil {
					errs <- err
					return
				}
				if n == 0 {
					keep = 0
				}
				for len(c.running) > keep {
					k := min(v.batch, len(c.running))
					if err := c.finish(ctx, k); err != nil {
						errs <- err
						return
					}
					done.Add(int64(k))
					left.Add(int64(-k))
				}
				if n == 0 {
					time.Sleep(200 * time.Microsecond)
				}
			}
			errs <- nil
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return out, err
		}
	}
	used := readCPU(postmaster)
	out.rate = jobs / time.Since(start).Seconds()
	out.serverCPU = (used.server - startCPU.server).Seconds() * 1e6 / jobs
	out.clientCPU = (used.client - startCPU.client).Seconds() * 1e6 / jobs
	out.wal = (wal() - startWAL) / jobs
	if !v.steady {
		out.wal += out.insertWAL
		out.serverCPU += out.insertCPU
	}
	var finished int
	if err := admin.QueryRow(ctx, "SELECT count(*) FROM finished").Scan(&finished); err != nil {
		return out, err
	}
	if finished < v.jobs {
		return out, fmt.Errorf("%d finished of %d", finished, v.jobs)
	}
	return out, nil
}

func runSingle(ctx context.Context, v variant, sql map[string]string, conn *pgx.Conn, postmaster int, wal func() float64) (out result, err error) {
	startCPU, startWAL, start := readCPU(postmaster), wal(), time.Now()
	for range v.jobs {
		if err := enqueue(ctx, conn, sql["enqueue"], 1, 1); err != nil {
			return out, err
		}
	}
	jobs := float64(v.jobs)
	used := readCPU(postmaster)
	out.rate = jobs / time.Since(start).Seconds()
	out.serverCPU = (used.server - startCPU.server).Seconds() * 1e6 / jobs
	out.clientCPU = (used.client - startCPU.client).Seconds() * 1e6 / jobs
	out.wal = (wal() - startWAL) / jobs
	return out, nil
}
