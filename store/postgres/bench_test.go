package postgres_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// BenchmarkCycle takes jobs from enqueue to completion, in batches of several sizes. Beside the time it reports the CPU time of
// the server's processes, where they are on this machine, and the log that is written.
func BenchmarkCycle(b *testing.B) {
	for _, mode := range []string{"session", "pooler"} {
		for _, batch := range []int{1, 60, 500} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, batch), func(b *testing.B) {
				url, schema := pgtest.Shared(b).Schema(b)
				s, err := postgres.Config{URL: url, SchemaName: schema, NoSession: mode == "pooler"}.Open(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				conn, err := pgx.Connect(b.Context(), url)
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close(b.Context())
				node, err := s.Join(b.Context(), store.NodeInfo{})
				if err != nil {
					b.Fatal(err)
				}
				seq := int64(0)
				cycle := func(n int) {
					in := &store.Batch{}
					for range n {
						in.Enqueues = append(in.Enqueues, &store.Enqueue{Job: store.Job{
							ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, MaxAttempts: 25,
							Args: []byte(`{"order":"0198f2d4-7c1a-7d3e-9c55-1f2e3d4c5b6a","amount":12345}`),
						}})
					}
					if err := s.Apply(b.Context(), in); err != nil {
						b.Fatal(err)
					}
					seq += 20
					runs, err := s.Claim(b.Context(), demand(node, seq, n))
					if err != nil || len(runs) != n {
						b.Fatalf("claimed %d of %d, %v", len(runs), n, err)
					}
					out := &store.Batch{}
					for _, run := range runs {
						out.Outcomes = append(out.Outcomes, completed(run))
					}
					if err := s.Apply(b.Context(), out); err != nil {
						b.Fatal(err)
					}
				}
				for range 8 {
					cycle(batch)
				}
				wal, cpu := written(b, conn), serverCPU(b, conn)
				done := 0
				for b.Loop() {
					cycle(batch)
					done += batch
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(done), "us/job")
				b.ReportMetric((written(b, conn)-wal)/float64(done), "walB/job")
				if used := serverCPU(b, conn) - cpu; used > 0 {
					b.ReportMetric(used*1e6/float64(done), "serverCPUus/job")
				}
			})
		}
	}
}

func written(b *testing.B, conn *pgx.Conn) (n float64) {
	b.Helper()
	if err := conn.QueryRow(b.Context(), "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// serverCPU is the CPU time in seconds of the server's processes that live, by the proc file system; 0 where there is none.
func serverCPU(b *testing.B, conn *pgx.Conn) (seconds float64) {
	b.Helper()
	rows, err := conn.Query(b.Context(), "SELECT pid FROM pg_stat_activity")
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			seconds += float64(ticks) / 100
		}
	}
	return seconds
}
