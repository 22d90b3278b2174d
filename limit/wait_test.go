package limit_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/limit"
)

// TestSlotsMoveFromLongJobs: a job that waits for a slot, which a job on another node has for
// longer than a wish for slots is remembered by the clock, gets it as soon as that has ended.
func TestSlotsMoveFromLongJobs(t *testing.T) {
	long, short := holdfast.NewTask[time.Duration]("long"), holdfast.NewTask[int]("short")
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		other := env.Open()
		err := long.Handle(env.Client, func(_ *holdfast.Run, d time.Duration) error {
			time.Sleep(d) //nolint:forbidigo // the time of the test is virtual
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := short.Handle(other.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := limit.Sync(t.Context(), env.Client, limit.New("one", limit.Capacity(1))); err != nil {
			t.Fatal(err)
		}
		env.Start()
		other.Start()
		env.WaitIdle()
		if _, err := long.Enqueue(t.Context(), env.Client, time.Minute); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Second)
		job, err := short.Enqueue(t.Context(), other.Client, 1)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited < 58*time.Second || waited > 65*time.Second {
			t.Errorf("it waits for %v", waited)
		}
	})
}
