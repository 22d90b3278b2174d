package holdfast_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestQueuePattern: a node that serves queues by a pattern runs the jobs of each queue that
// matches, also of one that is new, with so many slots for each, and none of others.
func TestQueuePattern(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, holdfast.WithQueue("tenant-*", 2), holdfast.WithQueue("tenant-big", 3))
	var mu sync.Mutex
	running, most := map[string]int{}, map[string]int{}
	var done sync.WaitGroup
	both := map[string]chan struct{}{}
	for _, queue := range []string{"tenant-1", "tenant-2", "tenant-big", "tenant-new"} {
		both[queue] = make(chan struct{})
	}
	task := holdfast.NewTask[string]("count")
	if err := task.Handle(hf, func(_ *holdfast.Run, queue string) error {
		defer done.Done()
		mu.Lock()
		running[queue]++
		if most[queue] = max(most[queue], running[queue]); running[queue] == 2 && both[queue] != nil {
			close(both[queue])
			both[queue] = nil
		}
		wait := both[queue]
		mu.Unlock()
		if wait != nil {
			<-wait // until two run
		}
		mu.Lock()
		defer mu.Unlock()
		running[queue]--
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	enqueue := func(queue string, n int) {
		done.Add(n)
		for range n {
			if _, err := task.Enqueue(ctx, hf, queue, holdfast.Queue(queue)); err != nil {
				t.Fatal(err)
			}
		}
	}
	enqueue("tenant-1", 20)
	enqueue("tenant-2", 20)
	if _, err := task.Enqueue(ctx, hf, "mail", holdfast.Queue("mail")); err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	enqueue("tenant-big", 20)
	enqueue("tenant-new", 20)
	done.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, queue := range []string{"tenant-1", "tenant-2", "tenant-new"} {
		if most[queue] != 2 {
			t.Errorf("%d jobs of %s ran at once, want 2", most[queue], queue)
		}
	}
	if n := most["tenant-big"]; n < 2 || n > 3 {
		t.Errorf("%d jobs of tenant-big ran at once, want at most its own 3", n)
	}
	if most["mail"] > 0 {
		t.Error("a job ran of a queue that no pattern matches")
	}
}

// TestManyQueuesOfAPattern: more queues than a claim names are served all the same.
func TestManyQueuesOfAPattern(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, holdfast.WithQueue("tenant-*", 1))
	var done sync.WaitGroup
	task := holdfast.NewTask[int]("count")
	if err := task.Handle(hf, func(*holdfast.Run, int) error { done.Done(); return nil }); err != nil {
		t.Fatal(err)
	}
	const queues = 1500
	var jobs []holdfast.BatchItem
	for i := range 2 * queues {
		jobs = append(jobs, task.Item(i, holdfast.Queue(fmt.Sprint("tenant-", i%queues))))
	}
	done.Add(len(jobs))
	for len(jobs) > 0 {
		n := min(1000, len(jobs))
		if _, err := hf.EnqueueBatch(ctx, jobs[:n]); err != nil {
			t.Fatal(err)
		}
		jobs = jobs[n:]
	}
	run(t, hf)
	done.Wait()
}

func TestPatternInvalid(t *testing.T) {
	t.Parallel()
	_, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), holdfast.WithQueue("a-*", 2), holdfast.WithShare("a-*", 1, 1))
	if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "a pattern can have a weight only") {
		t.Error(err)
	}
}
