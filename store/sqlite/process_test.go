package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// The test binary is its own second process: with this variable set it plays a part instead of
// running tests.
const part = "HOLDFAST_SQLITE_TEST_PART"

func TestMain(m *testing.M) {
	if name := os.Getenv(part); name != "" {
		if err := parts[name](context.Background(), os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	lists.Dense = 0 // lists go by buckets where they can: what tests have is in no large history
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println("error:", err)
		code = 1
	}
	os.Exit(code)
}

var parts = map[string]func(ctx context.Context, args []string) error{
	"work":  playWorker,
	"hang":  playHanging,
	"open":  playOpener,
	"look":  playLooker,
	"own":   playOwner,
	"reset": playResetting,
}

// process starts the test binary in a part, and returns a reader of what it prints.
func process(t *testing.T, name string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), part+"="+name)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command, bufio.NewScanner(output)
}

// open opens a store that is closed at the end of the test.
func open(t *testing.T, source sqlite.Config) store.Store {
	t.Helper()
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "holdfast.db") }

func newJob() *store.Enqueue {
	return &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte(`{}`),
	}}
}

func enqueue(ctx context.Context, s store.Store, n int) error {
	batch := &store.Batch{}
	for range n {
		batch.Enqueues = append(batch.Enqueues, newJob())
	}
	return store.ApplyEach(ctx, s, batch)
}

func claim(ctx context.Context, s store.Store, node, seq int64, limit int) ([]store.Claimed, error) {
	return s.Claim(ctx, store.ClaimParams{Node: node, Seq: seq, Namespace: "default", Kinds: []string{"send"}, Limit: limit})
}

// playWorker enqueues jobs one by one and completes whatever it finds, until all jobs of all
// workers are completed.
func playWorker(ctx context.Context, args []string) error {
	jobs, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s, err := sqlite.File(args[0]).Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	node, err := s.Join(ctx, store.NodeInfo{Name: "worker"})
	if err != nil {
		return err
	}
	for seq := int64(1); ; seq++ {
		if seq <= int64(jobs) {
			if err := enqueue(ctx, s, 1); err != nil {
				return err
			}
		}
		claimed, err := claim(ctx, s, node, seq, 3)
		if err != nil {
			return err
		}
		batch := &store.Batch{}
		for _, c := range claimed {
			batch.Outcomes = append(batch.Outcomes, &store.Outcome{Lease: c.Lease, State: store.Completed})
		}
		if err := store.ApplyEach(ctx, s, batch); err != nil {
			return err
		}
		for _, o := range batch.Outcomes {
			if o.Err != nil {
				return o.Err
			}
			fmt.Println(o.Lease.Job)
		}
		if seq > int64(jobs) && len(claimed) == 0 {
			_, err := s.Leave(ctx, node)
			return err
		}
	}
}

// TestProcessesShareAFile: processes that write all the time never see that the database is locked,
// and run each job once.
func TestProcessesShareAFile(t *testing.T) {
	const processes, jobs = 4, 150
	path := file(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	ran := map[string]int{}
	for range processes {
		command, output := process(t, "work", path, strconv.Itoa(jobs))
		wg.Go(func() {
			for output.Scan() {
				mu.Lock()
				ran[output.Text()]++
				mu.Unlock()
			}
			if err := command.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for line, n := range ran {
		if _, err := uuid.Parse(line); err != nil || n != 1 {
			t.Errorf("%d times %q", n, line)
		}
	}
	if len(ran) != processes*jobs {
		t.Errorf("%d jobs ran, want %d", len(ran), processes*jobs)
	}
}

// playHanging claims a job and waits to be killed.
func playHanging(ctx context.Context, args []string) error {
	s, err := sqlite.File(args[0]).Open(ctx)
	if err != nil {
		return err
	}
	node, err := s.Join(ctx, store.NodeInfo{Name: "hanging"})
	if err != nil {
		return err
	}
	claimed, err := claim(ctx, s, node, 1, 1)
	if err != nil || len(claimed) != 1 {
		return fmt.Errorf("claimed %d jobs: %w", len(claimed), err)
	}
	fmt.Println(node)
	select {}
}

// TestKilledProcessIsRescuedAtOnce: its lock tells, long before its heartbeat would. A process that
// lives is left alone.
func TestKilledProcessIsRescuedAtOnce(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	if err := enqueue(ctx, s, 1); err != nil {
		t.Fatal(err)
	}
	command, output := process(t, "hang", path)
	if !output.Scan() {
		t.Fatal("the process said nothing")
	}
	node, err := strconv.ParseInt(output.Text(), 10, 64)
	if err != nil {
		t.Fatal(output.Text())
	}
	params := store.RescueParams{}
	if rescued, err := s.Rescue(ctx, params); err != nil || len(rescued.Jobs) != 0 {
		t.Fatalf("rescued %v of a process that lives, %v", rescued.Jobs, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	rescued, err := s.Rescue(ctx, params)
	if err != nil || len(rescued.Jobs) != 1 {
		t.Fatalf("rescued %+v, %v", rescued.Jobs, err)
	}
	if r := rescued.Jobs[0]; r.Node != node || r.State != store.Retryable || r.Queue != "mail" {
		t.Fatalf("rescued %+v, %v", rescued.Jobs, err)
	}
	if _, err := os.Stat(path + ".nodes"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("lock files are left: %v", err)
	}
	if rescued, err = s.Rescue(ctx, params); err != nil || len(rescued.Jobs) != 0 {
		t.Fatalf("rescued again: %v, %v", rescued.Jobs, err)
	}
}

// playOpener opens a file and says which class of error that gave.
func playOpener(ctx context.Context, args []string) error {
	s, err := sqlite.File(args[0]).Open(ctx)
	if err == nil {
		err = errors.Join(enqueue(ctx, s, 1), s.Close())
	}
	fmt.Println(errors.Is(err, store.ErrReadOnly), strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	return nil
}

// playLooker counts the jobs of a file, and then tries to add one.
func playLooker(ctx context.Context, args []string) error {
	s, err := sqlite.Config{Path: args[0], NoMigrate: true}.Open(ctx)
	if err != nil {
		fmt.Println("refused", errors.Is(err, store.ErrReadOnly), strings.ReplaceAll(err.Error(), "\n", " "))
		return nil
	}
	page, err := s.List(ctx, store.ListParams{Limit: 100})
	if err != nil {
		return err
	}
	err = enqueue(ctx, s, 1)
	fmt.Println(len(page.Jobs), errors.Is(err, store.ErrReadOnly), strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	return s.Close()
}

// playOwner adds a job.
func playOwner(ctx context.Context, args []string) error {
	s, err := sqlite.File(args[0]).Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(enqueue(ctx, s, 1), s.Close())
}
