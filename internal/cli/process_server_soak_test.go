//go:build soak

package cli

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/remote"
)

// TestServerIsKilled: a server is killed again and again under a worker and a producer that have no
// database. What was confirmed is done, each job once and in its first attempt: nobody's jobs are
// rescued.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), freeAddress(t)
	url := "http://" + address
	serve := func() *process {
		return startNode(t, dir, exec.Command(binary(t), "server", "--database", "jobs.db", "--listen", address, "--auth", "none"))
	}
	server := serve()
	startNode(t, dir, exec.Command(binary(t), "worker", "--server", url, "--allow-exec", "--slots", "4"))
	hf, err := holdfast.Open(t.Context(), remote.Server(url, ""), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hf.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	execs := holdfast.NewKind[map[string]any, any]("exec")
	type produced struct {
		jobs   []*holdfast.Job[any]
		failed int
	}
	stop, all := make(chan struct{}), make(chan produced, 1)
	var confirmed atomic.Int32
	go func() {
		var p produced
		defer func() { all <- p }()
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			script := `echo ran >> "ran-$HOLDFAST_JOB_ID"`
			job, err := execs.Enqueue(t.Context(), hf, map[string]any{"command": []string{"sh", "-c", script}})
			if err != nil {
				p.failed++ // it may have happened; nothing was confirmed
				continue
			}
			p.jobs = append(p.jobs, job)
			confirmed.Add(1)
		}
	}()
	for range 4 {
		seen := confirmed.Load()
		until(t, "a storm of jobs", func() bool { return confirmed.Load() >= seen+10 })
		if err := server.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = server.cmd.Wait()
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // an outage of that length
		server = serve()
	}
	close(stop)
	p := <-all
	t.Logf("%d jobs were confirmed, and %d not", len(p.jobs), p.failed)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, job := range p.jobs {
		if _, err := job.Wait(ctx); err != nil {
			t.Fatalf("job %s: %v", job.ID, err)
		}
		record, err := job.Get(ctx)
		if err != nil || record.Attempt != 1 || len(record.Attempts) != 0 {
			t.Errorf("job %s took attempt %d, after %+v, %v", job.ID, record.Attempt, record.Attempts, err)
		}
		if ran, err := os.ReadFile(filepath.Join(dir, "ran-"+job.ID.String())); err != nil || strings.Count(string(ran), "ran") != 1 {
			t.Errorf("job %s ran %q, %v", job.ID, ran, err)
		}
	}
}
