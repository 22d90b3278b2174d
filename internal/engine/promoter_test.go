package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/promoter"
	"github.com/holdfastdev/holdfast/store"
)

// TestDueJobThatIsHeldIsNotLookedAtAllTheTime: while a caller's transaction locks a due job, the
// promoter backs off.
func TestDueJobThatIsHeldIsNotLookedAtAllTheTime(t *testing.T) {
	for name, answer := range map[string]store.Promoted{
		"due":  {NextDue: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)},
		"more": {More: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				b.handle("k", ok)
				b.run()
				const atMost = 150 // in ten seconds, with the first looks at shorter intervals
				var looks atomic.Int64
				var open atomic.Bool
				b.st.hook(func(p *probe) {
					p.promote = func() (store.Promoted, bool) {
						return answer, !open.Load() && looks.Add(1) < 10*atMost
					}
				})
				b.runner().node.promote.Hint(time.Now())
				time.Sleep(10 * time.Second)
				if n := looks.Load(); n < 50 || n > atMost {
					t.Errorf("%d looks in ten seconds", n)
				}
				q := b.job("k", func(e *store.Enqueue) { e.Delay = time.Second })
				b.enqueue(q)
				time.Sleep(2 * time.Second)
				open.Store(true)
				began := time.Now()
				b.expect(b.wait(q.Job.ID), store.Completed, "")
				if took := time.Since(began); took > 2*promoter.LastBlocked {
					t.Errorf("it began %v after the transaction had ended", took)
				}
			})
		})
	}
}
