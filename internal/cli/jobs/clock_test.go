package jobs

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// whenTheClockJumps runs a test in virtual time, with a clock of the database that is set forward
// by an hour, and back by one.
func whenTheClockJumps(t *testing.T, test func(t *testing.T, st store.Store, set func(time.Duration), by time.Duration)) {
	t.Helper()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				st := model.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
				test(t, st, func(d time.Duration) { ahead.Store(int64(d)) }, by)
			})
		})
	}
}

// TestWaitWhenTheClockJumps: "job wait --for" waits for as long as it is told, and sees the state
// when it comes.
func TestWaitWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, st store.Store, set func(time.Duration), by time.Duration) {
		client, err := holdfast.Open(t.Context(), given{Store: st}, holdfast.WithLogger(app.Silent()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
		job, err := holdfast.NewKind[int, int]("k").Enqueue(t.Context(), client, 1, holdfast.Delay(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		a, stdout, _ := bulkApp(output.FormatJSON)
		set(by)
		began := time.Now()
		err = a.waitForState(t.Context(), client, job.ID, []store.State{store.Completed}, time.Minute)
		if took := time.Since(began); app.ExitCode(err) != app.ExitTimeout || took != time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		set(0)
		go func() {
			time.Sleep(10 * time.Minute)
			set(by)
			time.Sleep(10 * time.Minute)
			if _, err := client.Retry(t.Context(), "", job.ID); err != nil {
				t.Error(err)
			}
		}()
		began = time.Now()
		err = a.waitForState(t.Context(), client, job.ID, []store.State{store.Available}, 0)
		if took := time.Since(began); err != nil || took < 20*time.Minute || took > 20*time.Minute+time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if err := a.Flush(); err != nil {
			t.Error(err)
		}
		if got := strings.TrimSpace(stdout.String()); got != `"available"` {
			t.Errorf("it prints %s", got)
		}
	})
}

// TestDrainWhenTheClockJumps: between two pages the clock is set; each job that was there is
// cancelled, once.
func TestDrainWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, st store.Store, set func(time.Duration), by time.Duration) {
		const jobs = 3 * bulkSize
		m := &moving{Store: st}
		client, err := holdfast.Open(t.Context(), given{Store: m}, holdfast.WithLogger(app.Silent()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
		kind := holdfast.NewKind[int, int]("k")
		for _, delay := range []time.Duration{0, 30 * time.Minute, 2 * time.Hour} {
			if _, err := kind.EnqueueMany(t.Context(), client, make([]int, jobs/3), holdfast.Delay(delay), holdfast.Queue("mail")); err != nil {
				t.Fatal(err)
			}
		}
		m.move = func(page int) { set(time.Duration(page%2) * by) }
		a, _, stderr := bulkApp(output.FormatTable)
		var how cancelling
		b := &bulk{change: how.change, doing: how.doing()}
		cmd := &cobra.Command{}
		b.confirm.Add(cmd, "")
		if err := cmd.Flags().Set(app.FlagYes, "true"); err != nil {
			t.Fatal(err)
		}
		filter := store.Filter{Queues: []string{"mail"}, States: waitingStates}
		if err := a.changeAll(t.Context(), client, filter, b); err != nil {
			t.Fatal(err)
		}
		if stderr.String() != "1500 jobs are cancelled.\n" {
			t.Errorf("it tells %q", stderr)
		}
		if left, err := client.Count(t.Context(), filter); err != nil || left.N != 0 {
			t.Errorf("%d jobs are left, %v", left.N, err)
		}
	})
}
