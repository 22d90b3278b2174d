//go:build unix

package holdfasttest_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
)

// month is how much virtual time the benchmarks let pass.
const month = 30 * 24 * time.Hour

// BenchmarkIdleMonth is a virtual month of a node without jobs.
func BenchmarkIdleMonth(b *testing.B) {
	kind := holdfast.NewKind[int, int]("nothing.to.do")
	benchmarkMonth(b, func(env *holdfasttest.Env) {
		if err := kind.Handle(env.Client, func(*holdfast.Run, int) (int, error) { return 0, nil }); err != nil {
			env.T.Fatal(err)
		}
		env.Start()
		time.Sleep(month)
	})
}

// BenchmarkSleepingMonth is a virtual month of a durable run that wakes up once a day, while a
// caller waits for its end.
func BenchmarkSleepingMonth(b *testing.B) {
	kind := holdfast.NewKind[int, int]("sleeps")
	benchmarkMonth(b, func(env *holdfasttest.Env) {
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
		job, err := kind.Enqueue(t.Context(), env.Client, 30)
		if err != nil {
			t.Fatal(err)
		}
		if days, err := job.Wait(t.Context()); days != 30 || err != nil {
			t.Errorf("%d days, %v", days, err)
		}
	})
}

// benchmarkMonth reports the processor time that f takes. A bubble of virtual time is made for a
// test, so that each turn runs one.
func benchmarkMonth(b *testing.B, f func(env *holdfasttest.Env)) {
	b.Helper()
	var used time.Duration
	months := 0
	test := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) {
		began := processorTime(t)
		holdfasttest.Run(t, f)
		used += processorTime(t) - began
		months++
	}}
	always := func(string, string) (bool, error) { return true, nil }
	for b.Loop() {
		if !testing.RunTests(always, []testing.InternalTest{test}) {
			b.FailNow()
		}
	}
	b.ReportMetric(float64(used.Microseconds())/1000/float64(months), "ms-cpu/month")
}

// processorTime is the time that the process has used of its processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
