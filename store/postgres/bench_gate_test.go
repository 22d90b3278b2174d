package postgres_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// BenchmarkDeletedLimit lets a hundred thousand jobs go on that wait for a limit per key which was
// deleted, while runs of another limit end: after how many calls and how long the next jobs of
// those gates have gone on, and all. "keys" is how many keys the hundred thousand have.
func BenchmarkDeletedLimit(b *testing.B) {
	for _, keys := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(keys)+"_keys", func(b *testing.B) {
			for range b.N {
				deletedLimit(b, keys)
			}
		})
	}
}

func deletedLimit(b *testing.B, keys int) {
	const gates = 20
	jobs := benchsize.Of(100_000, 10_000)
	b.StopTimer()
	url, schema := pgtest.Shared(b).Schema(b)
	s, err := postgres.Config{URL: url, SchemaName: schema}.Open(b.Context())
	must(b, err)
	defer func() { must(b, s.Close()) }()
	conn, err := pgx.Connect(b.Context(), url)
	must(b, err)
	defer func() { _ = conn.Close(context.Background()) }()
	settings := store.LimitSettings{Capacity: 1, PerKey: true}
	for _, name := range []string{"gone", "stays"} {
		_, err := s.SaveLimit(b.Context(), store.Limit{Namespace: "default", Name: name, LimitSettings: settings}, 0, "")
		must(b, err)
	}
	node, err := s.Join(b.Context(), store.NodeInfo{Name: "bench"})
	must(b, err)
	enqueues := &store.Batch{}
	add := func(limit, key string) {
		enqueues.Enqueues = append(enqueues.Enqueues, newJob(func(q *store.Enqueue) {
			q.Job.Options.Limit, q.Job.Options.LimitKey, q.Job.Queue = limit, key, limit
		}))
	}
	add("gone", "k")
	for range 2 {
		for i := range gates {
			add("stays", strconv.Itoa(i))
		}
	}
	must(b, store.ApplyEach(b.Context(), s, enqueues))
	runs, err := s.Claim(b.Context(), demand(node, 1, 1000))
	must(b, err)
	_, err = conn.Exec(b.Context(), `INSERT INTO `+schema+`.gated (gate, priority, run_at, id, lane)
		SELECT hashint8extended(i % $1, 1), 2, i, gen_random_uuid(), (
			SELECT l.id FROM `+schema+`.lane l JOIN `+schema+`.queue q ON q.id = l.queue WHERE q.name = 'gone'
		)
		FROM generate_series(1, $2) i`, keys, jobs)
	must(b, err)
	must(b, s.DeleteLimit(b.Context(), "default", "gone", false, ""))
	b.StartTimer()
	began, calls, other := time.Now(), 0, 0
	for more := true; more; calls++ {
		if calls == 1 { // as it has begun, and runs of the deleted limit have ended, too
			_, err := conn.Exec(b.Context(), `INSERT INTO `+schema+`.gate_check (gate)
				SELECT DISTINCT gate FROM (
					SELECT gate FROM `+schema+`.gated WHERE lane = (SELECT min(lane) FROM `+schema+`.gated) ORDER BY gate LIMIT 5000
				) g`)
			must(b, err)
			ends := &store.Batch{}
			for _, run := range runs {
				o := completed(run)
				o.Gate = run.Job.Gate()
				ends.Outcomes = append(ends.Outcomes, o)
			}
			must(b, store.ApplyEach(b.Context(), s, ends))
		}
		p, err := s.Promote(b.Context(), 1000)
		must(b, err)
		more = p.More
		if other == 0 && calls > 0 {
			var waits bool
			must(b, conn.QueryRow(b.Context(), `SELECT EXISTS (SELECT 1 FROM `+schema+`.gated g JOIN `+schema+`.lane l ON l.id = g.lane
				JOIN `+schema+`.queue q ON q.id = l.queue WHERE q.name = 'stays')`).Scan(&waits))
			if !waits {
				other = calls
				b.ReportMetric(time.Since(began).Seconds()*1e3, "ms-others")
			}
		}
	}
	b.ReportMetric(float64(other), "calls-others")
	b.ReportMetric(float64(calls), "calls-all")
	b.ReportMetric(time.Since(began).Seconds()*1e3, "ms-all")
	var left int
	must(b, conn.QueryRow(b.Context(), "SELECT count(*) FROM "+schema+".gated").Scan(&left))
	if left > 0 {
		b.Fatalf("%d jobs still wait", left)
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
