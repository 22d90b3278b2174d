//go:build soak

package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestLockedTable locks the table of what may be claimed for some seconds, as a migration or a
// careless administrator does, while a batch is enqueued and another one is being worked on.
// Nothing is refused: an enqueue is repeated for longer than that.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	const jobs, held = 2500, 4 * time.Second
	db := onPostgres(t)
	hf := db.open(t)
	kind := holdfast.NewKind[int, int]("plain")
	busy := db.open(t)
	register(t, busy, kind, func(*holdfast.Run, int) (int, error) { return 0, nil })
	// What is locked has to be there.
	first := enqueue(t, hf, kind, 0)
	p := pool(t, db.url)

	tx, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE holdfast.ready IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		jobs []*holdfast.Job[int]
		err  error
	}
	many, unique := make(chan answer, 1), make(chan answer, 1)
	go func() {
		all, err := kind.EnqueueMany(context.WithoutCancel(t.Context()), hf, make([]int, jobs))
		many <- answer{all, err}
	}()
	go func() {
		// A line of its own, which must not refuse them either.
		ins := make([]int, 100)
		for i := range ins {
			ins[i] = i
		}
		all, err := kind.EnqueueMany(context.WithoutCancel(t.Context()), hf, ins, holdfast.Unique{ByArgs: true})
		unique <- answer{all, err}
	}()
	eventually(t, "enqueues wait for the table", func() bool {
		return value[int](t, p, `SELECT count(*) FROM pg_locks
			WHERE relation = 'holdfast.ready'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
	})
	linger(t.Context(), held)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, ch := range map[string]chan answer{"plain": many, "unique": unique} {
		a := receive(t, "the answer of EnqueueMany", ch)
		if a.err != nil {
			t.Errorf("%s jobs: %v", name, a.err)
		}
		missing := 0
		for _, job := range a.jobs {
			if job == nil {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d %s jobs are missing", missing, len(a.jobs), name)
		}
	}
	if t.Failed() {
		return
	}
	work(t, busy)
	ends(t, hf, first.ID, store.Completed)
	eventually(t, "all jobs have run", func() bool {
		return value[int](t, p, "SELECT count(*) FROM holdfast.finished WHERE state = 6") == 1+jobs+100
	})
}
