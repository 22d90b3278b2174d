package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// cluster is a database, the processes that work on it, and the file that they write to.
type cluster struct {
	t       *testing.T
	config  workerConfig // of all workers, but for the name
	client  *holdfast.Client
	logs    *os.File
	workers []*worker
	killed  map[string]time.Time // by the name of the process
}

// worker is a place for a process. When one is killed the next takes its place.
type worker struct {
	*process.Process
	name  string // of the process that is there now
	lives int
}

// newCluster opens the database and starts workers. What it starts ends with the test.
func newCluster(t *testing.T, config workerConfig, workers int) *cluster {
	t.Helper()
	dir := t.TempDir()
	config.Effects = filepath.Join(dir, "effects")
	if err := os.WriteFile(config.Effects, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	logs, err := os.Create(filepath.Join(dir, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, config: config, logs: logs, client: open(t, config.Database), killed: map[string]time.Time{}}
	t.Cleanup(func() {
		for _, w := range c.workers {
			w.Kill()
		}
		text, err := os.ReadFile(logs.Name())
		if err != nil {
			t.Error(err)
		}
		for _, word := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
			if at := bytes.Index(text, []byte(word)); at >= 0 {
				t.Errorf("a worker says %s", text[at:min(at+4<<10, len(text))])
			}
		}
		if t.Failed() {
			t.Logf("the last words of the workers:\n%s", text[max(len(text)-16<<10, 0):])
		}
		_ = logs.Close()
	})
	for range workers {
		c.workers = append(c.workers, &worker{})
		c.start(len(c.workers) - 1)
	}
	return c
}

func open(t *testing.T, database string) *holdfast.Client {
	t.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	client, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// start puts a new process into a place.
func (c *cluster) start(place int) {
	c.t.Helper()
	w := c.workers[place]
	w.lives++
	w.name = fmt.Sprintf("w%d.%d", place, w.lives)
	config := c.config
	config.Name = w.name
	text, err := json.Marshal(config)
	if err != nil {
		c.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = c.logs, c.logs
	p, err := process.Start(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	w.Process = p
}

// kill ends the process at a place, which must not have ended by itself.
func (c *cluster) kill(place int) {
	c.t.Helper()
	w := c.workers[place]
	select {
	case <-w.Done():
		c.t.Fatalf("worker %s ended by itself: %v", w.name, w.Wait())
	default:
	}
	c.killed[w.name] = time.Now()
	w.Kill()
}

// members are all nodes that there were. Each process is one, or several if it was declared dead and joined again.
func (c *cluster) members() []holdfast.NodeInfo {
	c.t.Helper()
	members, err := c.client.Nodes(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return members
}

// alive is the node that the process at a place is now, or 0 if it has not joined.
func (c *cluster) alive(place int) int64 {
	c.t.Helper()
	for _, m := range c.members() {
		if m.Info.Name == c.workers[place].name && m.DeadAt.IsZero() {
			return m.ID
		}
	}
	return 0
}

// joined waits until the processes at all places have joined.
func (c *cluster) joined() {
	c.t.Helper()
	for place, w := range c.workers {
		until(c.t, "worker "+w.name+" joined", func() bool { return c.alive(place) != 0 })
	}
}

// slow lists the nodes that were declared dead while their processes lived.
func (c *cluster) slow() (slow []string) {
	c.t.Helper()
	for _, m := range c.members() {
		killed, ok := c.killed[m.Info.Name]
		if !m.DeadAt.IsZero() && (!ok || m.DeadAt.Before(killed)) {
			slow = append(slow, m.Info.Name)
		}
	}
	return slow
}

// counted is how many records the file has.
func (c *cluster) counted() int { return countEffects(c.t, c.config.Effects) }

// effects are the records of the file from the given one on.
func (c *cluster) effects(from int) []effect { return readEffects(c.t, c.config.Effects, from) }

// enqueue enqueues jobs, and returns which one is at which place of the plan.
func (c *cluster) enqueue(client *holdfast.Client, plan []work) map[holdfast.ID]int {
	items := make([]holdfast.Item, len(plan))
	for i, w := range plan {
		items[i] = item(w)
	}
	results, err := client.EnqueueItems(c.t.Context(), items)
	if err != nil {
		c.t.Errorf("enqueue: %v", err)
		return nil
	}
	jobs := map[holdfast.ID]int{}
	for i, r := range results {
		if r.Err != nil {
			c.t.Errorf("enqueue of job %d: %v", plan[i].N, r.Err)
			continue
		}
		jobs[r.ID] = plan[i].N
	}
	return jobs
}

// finished waits until all jobs of the cluster have finished, those included that jobs enqueued, and returns what is known of them.
func (c *cluster) finished(limit time.Duration) map[holdfast.ID]holdfast.Record {
	c.t.Helper()
	unfinished := holdfast.Filter{States: []holdfast.State{
		holdfast.Scheduled, holdfast.Available, holdfast.Running, holdfast.Retryable, holdfast.Waiting,
	}}
	untilWithin(c.t, limit, "all jobs finished", func() bool { return len(c.list(unfinished, 1)) == 0 })
	var (
		records = map[holdfast.ID]holdfast.Record{}
		lock    sync.Mutex
		gets    sync.WaitGroup
	)
	for part := range slices.Chunk(c.list(holdfast.Filter{}, 0), 300) {
		gets.Go(func() {
			for _, listed := range part {
				record, err := c.client.Get(c.t.Context(), listed.ID)
				if err != nil {
					c.t.Error(err)
				}
				lock.Lock()
				records[listed.ID] = record
				lock.Unlock()
			}
		})
	}
	gets.Wait()
	return records
}

// list lists jobs, all of them or as many as are enough.
func (c *cluster) list(filter holdfast.Filter, enough int) (records []holdfast.Record) {
	c.t.Helper()
	for after := ""; ; {
		page, err := c.client.List(c.t.Context(), filter, after, 1000)
		if err != nil {
			c.t.Fatal(err)
		}
		records = append(records, page.Jobs...)
		if after = page.Next; after == "" || enough > 0 && len(records) >= enough {
			return records
		}
	}
}

// until waits for a condition. It is the only place where these tests wait by the clock.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	untilWithin(t, time.Minute, what, condition)
}

func untilWithin(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	if !wait(limit, condition) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// wait polls a condition, less and less often, and reports whether it came true within the limit.
func wait(limit time.Duration, condition func() bool) bool {
	const often, seldom = time.Millisecond, 30 * time.Millisecond
	interval := often
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for deadline := time.Now().Add(limit); !condition(); <-timer.C {
		if time.Now().After(deadline) {
			return false
		}
		interval = min(interval*5/4, seldom)
		timer.Reset(interval)
	}
	return true
}

// newRandom makes a source of random numbers whose seed is printed, and can be given.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("HOLDFAST_CRASHTEST_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = given
	}
	t.Logf("HOLDFAST_CRASHTEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
