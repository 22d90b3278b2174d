package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/store"
)

// cluster is a database, the processes that work on it, and the file that they write to.
type cluster struct {
	t       *testing.T
	config  workerConfig // of all workers, but for the name
	client  *holdfast.Client
	logs    *os.File
	workers []*worker
	killed  map[string]bool // the names of the processes
	newer   *newer          // the program with which all but the first of them begin; nil: this one
	slow    map[int64]bool  // the nodes that were dead already when their processes were killed
}

// prepare makes a cluster that has not opened its database. What it starts ends with the test.
func prepare(t *testing.T, config workerConfig) *cluster {
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
	c := &cluster{t: t, config: config, logs: logs, killed: map[string]bool{}, slow: map[int64]bool{}}
	t.Cleanup(func() {
		for _, w := range c.workers {
			if err := w.kill(); err != nil {
				t.Error(err)
			}
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
	return c
}

// add starts one more worker.
func (c *cluster) add() {
	c.t.Helper()
	c.workers = append(c.workers, &worker{})
	c.start(len(c.workers) - 1)
}

func open(t *testing.T, database string) *holdfast.Client {
	t.Helper()
	return openAs(t, &workerConfig{Database: database})
}

// openAs opens a client as workers of a configuration do.
func openAs(t *testing.T, config *workerConfig) *holdfast.Client {
	t.Helper()
	source, err := sourceOf(config)
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
	config.Name, config.Place = w.name, place
	text, err := json.Marshal(config)
	if err != nil {
		c.t.Fatal(err)
	}
	path, err := c.program(place, w.lives)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = c.logs, c.logs
	p, err := process.Start(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	w.Process, w.killed = p, false
}

// kill ends the process at a place, which must not have ended by itself.
func (c *cluster) kill(place int) {
	c.t.Helper()
	c.look(place)
	c.end(place)
}

// look notes whether the process at a place was declared dead while it lives.
func (c *cluster) look(place int) {
	c.t.Helper()
	for _, m := range c.members() {
		if m.Info.Name == c.workers[place].name && !m.DeadAt.IsZero() {
			c.slow[m.ID] = true
		}
	}
}

func (c *cluster) end(place int) {
	c.t.Helper()
	w := c.workers[place]
	c.killed[w.name] = true
	if err := w.kill(); err != nil {
		c.t.Fatal(err)
	}
}

// members are all nodes that there were. Each process is one, or several if it was declared dead
// and joined again.
func (c *cluster) members() []store.Node {
	c.t.Helper()
	var members []store.Node
	c.insist(func() (err error) {
		members, err = c.client.Nodes(c.t.Context())
		return err
	})
	return members
}

// insist does what must succeed. Where the database goes away it is repeated until it is back.
func (c *cluster) insist(do func() error) {
	c.t.Helper()
	c.until("the database answers", func() bool {
		err := do()
		if err != nil && !((c.config.Flows || c.config.Outages) && isLost(err)) {
			c.t.Fatal(err)
		}
		return err == nil
	})
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
		c.until("worker "+w.name+" joined", func() bool { return c.alive(place) != 0 })
	}
}

// deaths are the nodes that were declared dead. Whether that came before the kill is told by what
// was known then, and not by the clock.
func (c *cluster) deaths() map[int64]death {
	c.t.Helper()
	deaths := map[int64]death{}
	for _, m := range c.members() {
		if !m.DeadAt.IsZero() {
			slow := c.slow[m.ID] || !c.killed[m.Info.Name]
			deaths[m.ID] = death{name: m.Info.Name, slow: slow, at: m.DeadAt, silence: m.DeadAt.Sub(m.BeatAt)}
		}
	}
	return deaths
}

// counted is how many records the file has.
func (c *cluster) counted() int { return countRecords(c.t, c.config.Effects) }

// effects are the records of the file from the given one on.
func (c *cluster) effects(from int) []effect { return readRecords[effect](c.t, c.config.Effects, from) }

// enqueue enqueues jobs, and returns which one is at which place of the plan.
func (c *cluster) enqueue(client *holdfast.Client, plan []work) map[holdfast.ID]int {
	results, err := client.EnqueueBatch(c.t.Context(), items(plan))
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

// settled waits until all jobs of the cluster have finished, those included that jobs enqueued. If
// some do not, it reports false and the test goes on, because what is known of the jobs tells why.
func (c *cluster) settled() bool {
	c.t.Helper()
	const limit = 3 * time.Minute
	settled := c.wait(limit, "all jobs finished", func() bool { return len(c.list(unfinished, 1)) == 0 })
	if !settled {
		c.t.Errorf("not within %v: all jobs finished", limit)
	}
	return settled
}

var unfinished = store.Filter{States: []store.State{
	store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting,
}}

// records are what is known of all jobs.
func (c *cluster) records() map[holdfast.ID]store.Record {
	c.t.Helper()
	var (
		records = map[holdfast.ID]store.Record{}
		lock    sync.Mutex
		gets    sync.WaitGroup
	)
	for part := range slices.Chunk(c.list(store.Filter{}, 0), 300) {
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

// record is all that is known of a job.
func (c *cluster) record(id holdfast.ID) store.Record {
	c.t.Helper()
	var record store.Record
	c.insist(func() (err error) {
		record, err = c.client.Get(c.t.Context(), id)
		return err
	})
	return record
}

// works waits until the file has so many records, and reports false if the workers have nothing
// left to do before it has.
func (c *cluster) works(records, waiting int) bool {
	c.t.Helper()
	enough := false
	c.until("the workers work", func() bool {
		enough = c.counted() >= records
		return enough || c.idle(waiting)
	})
	return enough
}

// idle reports whether there is nothing to do at this moment but jobs that wait to be cancelled, of
// which there are as many as given.
func (c *cluster) idle(waiting int) bool {
	c.t.Helper()
	busy := store.Filter{States: []store.State{store.Available, store.Running}}
	return len(c.list(busy, waiting+1)) <= waiting
}

// list lists jobs, all of them or as many as are enough.
func (c *cluster) list(filter store.Filter, enough int) (records []store.Record) {
	c.t.Helper()
	for after := ""; ; {
		var page store.Page
		c.insist(func() (err error) {
			page, err = c.client.List(c.t.Context(), filter, after, 1000)
			return err
		})
		records = append(records, page.Jobs...)
		if after = page.Next; after == "" || enough > 0 && len(records) >= enough {
			return records
		}
	}
}

// until waits for a condition. It is the only place where these tests wait by the clock.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	const limit = time.Minute
	if !c.wait(limit, what, condition) {
		c.t.Fatalf("not within %v: %s", limit, what)
	}
}

// wait polls a condition, less and less often, as long as the workers live, and reports whether it
// came true. The limit is for tests that hang: no test passes or fails by how long something took.
func (c *cluster) wait(limit time.Duration, what string, condition func() bool) bool {
	c.t.Helper()
	const often, seldom = time.Millisecond, 30 * time.Millisecond
	interval := often
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for deadline := time.Now().Add(limit); !condition(); <-timer.C {
		c.mustLive("waiting for: " + what)
		if time.Now().After(deadline) {
			return false
		}
		interval = min(interval*5/4, seldom)
		timer.Reset(interval)
	}
	return true
}

// mustLive fails if a worker has ended by itself.
func (c *cluster) mustLive(while string) {
	c.t.Helper()
	for _, w := range c.workers {
		if err := w.ended(); err != nil {
			c.t.Fatalf("while %s: %v", while, err)
		}
	}
}

// writable reports whether the database takes a write.
func (c *cluster) writable(patience time.Duration) bool {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	return c.client.PauseQueue(ctx, "probe") == nil
}
