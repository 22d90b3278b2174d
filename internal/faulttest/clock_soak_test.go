//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// onEachClock runs a test on both databases, whose clocks it can set: on PostgreSQL that of a
// server of its own, on SQLite that of all its clients.
func onEachClock(t *testing.T, test func(t *testing.T, db *database, set func(ahead time.Duration))) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		var ahead atomic.Int64
		db := onSQLite(t)
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		db.source = sqlite.Config{Path: db.path, Clock: clock}
		test(t, db, func(d time.Duration) { ahead.Store(int64(d)) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server, set := faketime(t)
		url := server.Database(t)
		test(t, &database{source: postgres.URL(url), dsn: url, url: url}, set)
	})
}

// faketime starts a server whose clock can be set, with libfaketime.
func faketime(t *testing.T) (server *pgtest.Cluster, set func(ahead time.Duration)) {
	t.Helper()
	library := ""
	for _, folder := range []string{"/usr/lib/*", "/usr/lib*", "/usr/local/lib"} {
		if found, err := filepath.Glob(folder + "/faketime/libfaketime.so.1"); err == nil && len(found) > 0 {
			library = found[0]
			break
		}
	}
	if library == "" {
		t.Skip("NOT TESTED, because there is no libfaketime, which sets the clock of a server: install faketime")
	}
	dir := openTemp(t) // the server may belong to another user, who has to find the file
	file := filepath.Join(dir, "ahead")
	set = func(ahead time.Duration) {
		t.Helper()
		// In one piece: it is read at each look at the clock.
		next := filepath.Join(dir, "next")
		if err := os.WriteFile(next, fmt.Appendf(nil, "%+d\n", int(ahead.Seconds())), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	server = pgtest.Private(t, "LD_PRELOAD="+library, "FAKETIME_TIMESTAMP_FILE="+file, "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1")
	return server, set
}

// staying is a job whose first run goes on until the gate is open, or for ever without one.
func staying(t *testing.T, hf *holdfast.Client, kind holdfast.Kind[int, int], running chan<- holdfast.ID, gate <-chan struct{}) {
	t.Helper()
	register(t, hf, kind, func(run *holdfast.Run, n int) (int, error) {
		if run.Lease().Number > 1 {
			return n, nil
		}
		running <- run.ID()
		select {
		case <-gate:
			return n, nil
		case <-run.Done():
			return 0, context.Cause(run)
		}
	})
}

// TestClockThatGoesBack sets the clock of the database back by an hour. Whoever lives goes on
// living; whoever dies is found dead although its last beat lies in the future; a leader that
// dies is replaced; what was available stays so.
func TestClockThatGoesBack(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		leases := holdfast.WithLeases(clockBeat, clockDead)
		idle := holdfast.NewKind[int, int]("idle")
		stays := holdfast.NewKind[int, int]("stays")
		plain := holdfast.NewKind[int, int]("plain")
		running := make(chan holdfast.ID, 10)
		quick := func(hf *holdfast.Client) {
			register(t, hf, plain, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
		}
		leader := db.workSevered(t, func(hf *holdfast.Client) {
			register(t, hf, idle, func(*holdfast.Run, int) (int, error) { return 0, nil })
		}, leases, holdfast.WithNodeName("leader"))
		people := db.open(t)
		leads := func(name string) bool {
			nodes, err := people.Nodes(t.Context())
			return err == nil && slices.ContainsFunc(nodes, func(n store.Node) bool { return n.Leader && n.Info.Name == name })
		}
		eventually(t, "the first node leads", func() bool { return leads("leader") })
		victim := db.workSevered(t, func(hf *holdfast.Client) { staying(t, hf, stays, running, nil) },
			leases, holdfast.WithNodeName("victim"), holdfast.WithQueue("default", 1))
		job := enqueue(t, people, stays, 1)
		receive(t, "the victim runs a job", running)
		healthy := db.workSevered(t, func(hf *holdfast.Client) { staying(t, hf, stays, running, nil); quick(hf) },
			leases, holdfast.WithNodeName("healthy"))
		if err := people.PauseQueue(t.Context(), "later"); err != nil {
			t.Fatal(err)
		}
		before, err := plain.EnqueueMany(t.Context(), people, make([]int, 20), holdfast.Queue("later"))
		if err != nil {
			t.Fatal(err)
		}

		set(-time.Hour)
		beats(t, 3, leader, victim, healthy)
		if n := alive(t, people); n != 3 {
			t.Fatalf("%d of 3 nodes live after the clock went back", n)
		}
		// The node's own client and one that only enqueues.
		endsWithin(t, soon, people, enqueue(t, healthy.Client, plain, 1).ID, store.Completed)
		endsWithin(t, soon, people, enqueue(t, people, plain, 2).ID, store.Completed)
		linger(t.Context(), 6*time.Second) // what one that only enqueues knows of the clock holds for five
		endsWithin(t, soon, people, enqueue(t, people, plain, 3, holdfast.Delay(time.Second)).ID, store.Completed)
		victim.cutOff()
		endsWithin(t, patience, people, job.ID, store.Completed)
		leader.cutOff()
		if !comesTrue(patience, func() bool { return leads("healthy") }) {
			t.Errorf("not within %v: a dead leader is replaced", patience)
		}
		if err := people.ResumeQueue(t.Context(), "later"); err != nil {
			t.Fatal(err)
		}
		for _, job := range before {
			if r := endsWithin(t, soon, people, job.ID, store.Completed); r.State != store.Completed {
				break
			}
		}
		nodes, err := people.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n.Info.Name == "healthy" && !n.DeadAt.IsZero() {
				t.Errorf("a node that lives was declared dead: %+v", n)
			}
		}
	})
}

// TestClockThatGoesForward sets the clock of the database forward by an hour, several times:
// all beats are old at that moment, and nobody is dead. Nor does a node think so that starts
// just then.
func TestClockThatGoesForward(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		const count, times = 4, 3
		leases := holdfast.WithLeases(clockBeat, clockDead)
		stays := holdfast.NewKind[int, int]("stays")
		running, gate := make(chan holdfast.ID, 2*count), make(chan struct{})
		people := db.open(t, leases)
		idle := holdfast.NewKind[int, int]("idle")
		register(t, people, idle, func(*holdfast.Run, int) (int, error) { return 0, nil })
		var nodes []*severed
		var jobs []holdfast.ID
		for i := range count {
			queue := fmt.Sprint("queue ", i)
			nodes = append(nodes, db.workSevered(t, func(hf *holdfast.Client) { staying(t, hf, stays, running, gate) },
				leases, holdfast.WithQueue(queue, 0)))
			jobs = append(jobs, enqueue(t, people, stays, i, holdfast.Queue(queue)).ID)
			receive(t, "each node runs a job", running)
		}
		for i := range times {
			set(time.Duration(i+1) * time.Hour)
			if i == times-1 {
				work(t, people)
			}
			beats(t, 3, nodes...)
		}
		close(gate)
		for _, id := range jobs {
			if r := ends(t, people, id, store.Completed); r.Lease.Number != 1 {
				t.Errorf("it was taken from a node that lives: %s", told(r))
			}
		}
	})
}
