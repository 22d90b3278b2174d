package holdfasttest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestAMonthIsCheap counts how often a database is asked for something in a virtual month, for
// which it looks at its clock: a few times an hour. A node with a disk asks a million times.
func TestAMonthIsCheap(t *testing.T) {
	t.Parallel()
	kind := holdfast.NewKind[int, int]("sleeps")
	for name, days := range map[string]int{"without a job": 0, "with a run that sleeps for a day at a time": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looks atomic.Int64
			clock := func() time.Time {
				looks.Add(1)
				return time.Now()
			}
			run(t, clock, func(env *Env) {
				t := env.T
				if err := kind.Handle(env.Client, func(run *holdfast.Run, days int) (int, error) {
					for range days {
						if err := run.Sleep(24 * time.Hour); err != nil {
							return 0, err
						}
					}
					return days, nil
				}); err != nil {
					t.Fatal(err)
				}
				env.Start()
				if days == 0 {
					env.Advance(30 * 24 * time.Hour)
					return
				}
				job, err := kind.Enqueue(t.Context(), env.Client, days)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := job.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}, nil)
			t.Logf("%d looks", looks.Load())
			if most := int64(30 * 30 * 24); looks.Load() > most {
				t.Errorf("the clock was looked at %d times in a month, of at most %d", looks.Load(), most)
			}
		})
	}
}
