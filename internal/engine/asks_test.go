package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
)

// TestLargeArgsOverASlowLine: jobs are claimed, and run once, although the answer to a claim for
// all slots takes longer than the call's time limit; both if a late claim is rolled back and if it
// is committed. Small jobs go on.
func TestLargeArgsOverASlowLine(t *testing.T) {
	racing.Off(t) // there is very much of what others have at work under it
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

// TestClaimGrowsAgain: claims that became small on a slow line grow again when the line is good.
func TestClaimGrowsAgain(t *testing.T) {
	a := asks{Portion: portion.New(1000, time.Second)}
	params := store.ClaimParams{Limit: 100}
	for range 10 {
		a.repeat(&params, claimTimeout(5*time.Second))
	}
	if !params.Repeat || params.Sent != 100 || params.Limit != 1 || a.limit() != 1 {
		t.Errorf("after failures: %+v, then %d", params, a.limit())
	}
	large := make([]store.Claimed, 1000)
	for i := range large {
		large[i].Job.Args = make([]byte, 64<<10)
	}
	for range 20 {
		a.answered(large[:a.limit()], time.Millisecond)
	}
	if n := a.limit(); n < 10 || n > 16 {
		t.Errorf("%d at once of 64 KiB", n)
	}
	for range 30 {
		a.answered(make([]store.Claimed, a.limit()), time.Millisecond)
	}
	if n := a.limit(); n != 1000 {
		t.Errorf("%d at once of small ones", n)
	}
}
