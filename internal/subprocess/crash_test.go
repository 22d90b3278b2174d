//go:build unix

package subprocess

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	crash "github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// asNode has the database of which the test binary is a node.
const asNode = "HOLDFAST_TEST_SUBPROCESS_NODE"

// quick are the leases of nodes that are killed.
func quick() holdfast.Option { return holdfast.WithLeases(100*time.Millisecond, 2*time.Second) }

// beNode runs jobs until it is killed, and prints what its processes write to standard error.
func beNode() {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	hf, err := holdfast.Open(ctx, sqlite.File(os.Getenv(asNode)), quick(), holdfast.WithLogger(log))
	must(err)
	pool, err := Start(Config{Kind: kind.Name(), Command: self(), Count: 1}, log)
	must(err)
	must(pool.Register(hf))
	must(hf.Run(ctx))
}

// TestKilledNode: when a node is killed its processes end, and another node has their jobs run
// again.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asNode+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	node, err := crash.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Kill)
	hf, err := holdfast.Open(t.Context(), sqlite.File(path), quick(), holdfast.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	job, err := kind.Enqueue(t.Context(), hf, order{"!deaf"}, holdfast.MaxAttempts(5))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it runs", func() bool {
		info, err := kind.Get(t.Context(), hf, job.ID)
		return err == nil && info.Attempt == 1
	})
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if _, text, ok := strings.Cut(lines.Text(), "pid="); ok {
			if _, err := fmt.Sscan(text, &pid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	node.Kill()
	until(t, "the process ends", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })

	// Another program has the kind now.
	err = kind.Handle(hf, func(run *holdfast.Run, _ order) (json.RawMessage, error) {
		return json.Marshal(run.Attempt())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err := job.Wait(t.Context()); err != nil || string(result) != "2" {
		t.Errorf("%s, %v", result, err)
	}
}
