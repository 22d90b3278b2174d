package postgres_test

import (
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// BenchmarkDemands claims 60 jobs with a look at everything, where jobs wait in one queue, or in
// each of a thousand: of whatever there is, of queues, and of kinds in queues.
func BenchmarkDemands(b *testing.B) {
	const batch = 60
	for _, queues := range []int{1, 1000} {
		for what, demanded := range demandsOf(queues, batch) {
			b.Run(fmt.Sprintf("queues=%d/%s", queues, what), func(b *testing.B) {
				d := newBed(b, "session")
				postgres.FakeCursors(d.store, nil)
				n := 0
				refill := func(jobs *store.Batch) {
					for _, q := range jobs.Enqueues {
						q.Job.Queue = fmt.Sprint("q", n%queues)
						n++
					}
					d.apply(jobs)
				}
				for range 4 {
					refill(jobs(1000))
				}
				for b.Loop() {
					d.seq += 20
					params := demand(d.node, d.seq, batch)
					params.Queues = demanded
					runs, err := d.store.Claim(b.Context(), params)
					b.StopTimer()
					if err != nil || len(runs) != batch {
						b.Fatalf("claimed %d, %v", len(runs), err)
					}
					out := jobs(batch)
					for _, run := range runs {
						out.Outcomes = append(out.Outcomes, completed(run))
					}
					refill(out)
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/claim")
			})
		}
	}
}

// demandsOf are demands for all of so many queues.
func demandsOf(queues, most int) map[string][]store.QueueDemand {
	all := map[string][]store.QueueDemand{"none": nil}
	for i := range queues {
		all["kinds"] = append(all["kinds"], store.QueueDemand{Name: fmt.Sprint("q", i), Kind: "send", Limit: most})
		all["queues"] = append(all["queues"], store.QueueDemand{Name: fmt.Sprint("q", i), Limit: most})
	}
	return all
}
