//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestStartAfterAnOutage takes the database away from ten nodes for longer than the silence of
// a dead one. A node that starts when it is back finds them all silent, and has to let them
// beat first: none loses a job.
func TestStartAfterAnOutage(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const count, beat, dead = 10, 500 * time.Millisecond, 10 * time.Second
		leases := holdfast.WithLeases(beat, dead)
		theirs, away := db.interruptible(t)
		stays := holdfast.NewKind[int, int]("stays")
		idle := holdfast.NewKind[int, int]("idle")
		running, gate := make(chan holdfast.ID, 2*count), make(chan struct{})
		// Open before the outage, so that nothing but its start is left for the moment after it.
		newcomer := db.open(t, leases)
		register(t, newcomer, idle, func(*holdfast.Run, int) (int, error) { return 0, nil })
		var nodes []*severed
		for range count {
			nodes = append(nodes, theirs.workSevered(t, func(hf *holdfast.Client) { staying(t, hf, stays, running, gate) },
				leases, holdfast.WithSlots(1)))
		}
		jobs := make([]holdfast.ID, count)
		for i := range jobs {
			jobs[i] = enqueue(t, newcomer, stays, i).ID
			receive(t, fmt.Sprintf("%d of %d nodes run a job", i+1, count), running)
		}

		back := away()
		linger(t.Context(), dead+3*beat)
		back()
		work(t, newcomer)
		beats(t, 6, nodes...)
		if n := alive(t, newcomer); n != count+1 {
			t.Errorf("%d of %d nodes live after the outage", n, count+1)
		}
		close(gate)
		lost := 0
		for _, id := range jobs {
			if r := ends(t, newcomer, id, store.Completed); r.Lease.Number != 1 {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d jobs were taken from nodes that live", lost, count)
		}
	})
}

// TestStopWhileTheDatabaseIsAway stops a node that has something to store and cannot. It does not
// wait for the database much longer than for its handlers; the job runs again.
func TestStopWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		theirs, away := db.interruptible(t)
		stays := holdfast.NewKind[int, int]("stays")
		running, gate := make(chan holdfast.ID, 2), make(chan struct{})
		people := db.open(t)
		hf := theirs.open(t, holdfast.WithStopTimeout(time.Second))
		staying(t, hf, stays, running, gate)
		n := work(t, hf)
		n.fails = true
		job := enqueue(t, people, stays, 1)
		receive(t, "the node runs the job", running)

		back := away()
		close(gate)
		stopped := make(chan error, 1)
		go func() { stopped <- hf.Stop(context.WithoutCancel(t.Context())) }()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Errorf("the node has not stopped within %v", patience)
		}
		back()
		other := db.open(t, holdfast.WithLeases(clockBeat, clockDead))
		staying(t, other, stays, running, gate)
		work(t, other)
		ends(t, people, job.ID, store.Completed)
	})
}
