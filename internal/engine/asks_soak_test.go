//go:build soak

package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestLargeArgsOverASlowLine: jobs are claimed, and run once, although the answer to a claim for
// all slots takes longer than the call's time limit; both if a late claim is rolled back and if it
// is committed. Small jobs go on.
func TestLargeArgsOverASlowLine(t *testing.T) {
	const jobs, size = 60, 200 << 10
	for _, stays := range []bool{false, true} {
		for _, rate := range []int{500 << 10, 60 << 10, 25 << 10} { // one takes 0.4 s, 3 s, 8 s
			t.Run(fmt.Sprintf("%d KiB per second, claimed %v", rate>>10, stays), func(t *testing.T) {
				inBed(t, Config{}, func(b *bed) {
					runs := map[store.ID]int{}
					count := make(chan store.ID, 2*jobs)
					run := func(_ context.Context, r Attempt) ([]byte, error) { count <- r.Job().ID; return nil, nil }
					b.handle("large", run)
					b.handle("small", run)
					var ids []store.ID
					for range jobs {
						ids = append(ids, b.enqueue(b.job("large", func(e *store.Enqueue) { e.Job.Args = make([]byte, size) })))
					}
					line, slow := slowLine{rate}, 0
					b.st.hook(func(p *probe) {
						p.convey = func(
							ctx context.Context, params store.ClaimParams, claim func() ([]store.Claimed, error),
						) ([]store.Claimed, error) {
							began := time.Now()
							defer func() {
								if time.Since(began) > b.e.cfg.Node.Beat {
									slow++
								}
							}()
							if !stays && !params.Repeat {
								// The answer would have this size; when the connection breaks the
								// claim is rolled back.
								if err := line.travel(ctx, min(params.Limit, jobs-len(count))*size); err != nil {
									return nil, err
								}
								return claim()
							}
							claimed, err := claim()
							if err != nil {
								return nil, err
							}
							return claimed, line.travel(ctx, len(claimed)*size)
						}
					})
					began := time.Now()
					b.run()
					small := b.enqueue(b.job("small"))
					for _, id := range append(ids, small) {
						b.expect(b.wait(id), store.Completed, "")
					}
					took, least := time.Since(began), time.Duration(jobs*size)*time.Second/time.Duration(rate)
					if took > 2*least+2*time.Minute {
						t.Errorf("it took %v; the line alone takes %v", took, least)
					}
					if rate > 100<<10 && slow > 8 {
						t.Errorf("%d claims took longer than a beat", slow)
					}
					close(count)
					for id := range count {
						if runs[id]++; runs[id] > 1 {
							t.Errorf("job %v ran again", id)
						}
					}
				})
			})
		}
	}
}
