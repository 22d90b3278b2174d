//go:build soak

package events_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store"
)

var errRolledBack = errors.New("rolled back")

// TestStorm: jobs are enqueued, also in transactions that commit late or never, run, fail, have
// children and are cancelled, while readers connect and disconnect at random. In the end each
// reader has got all that has happened, once, and in the same order: no state is left out, and no
// job is there before what has made it.
func TestStorm(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) ground{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storm{T: t, ground: on(t)}
			s.open()
			s.rage()
			s.check()
		})
	}
}

const (
	stormReaders = 8
	stormWriters = 6
	stormJobs    = 60 // of each writer
)

type storm struct {
	*testing.T
	ground

	clients []*holdfast.Client // two processes, as it were; the first one works
	parents holdfast.Kind[int, int]
	plain   holdfast.Kind[int, int]

	children sync.Map // of ids: the parent of a child
	mu       sync.Mutex
	jobs     []holdfast.ID // that were enqueued for good
	never    []holdfast.ID // whose transaction was rolled back

	got     [stormReaders][]events.Event
	cuts    atomic.Int64
	readers sync.WaitGroup
	enough  atomic.Int64 // the count that readers have to come to; 0: it is not known yet
}

func (s *storm) open() {
	s.parents, s.plain = holdfast.NewKind[int, int]("parent"), holdfast.NewKind[int, int]("plain")
	for range 2 {
		hf, err := holdfast.Open(s.Context(), s.source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { hf.Close(context.WithoutCancel(s.Context())) })
		s.clients = append(s.clients, hf)
	}
	hf := s.clients[0]
	soon := holdfast.BackoffFunc(func(int) time.Duration { return time.Millisecond })
	err := s.plain.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		switch {
		case n%7 == 0 && run.Attempt() == 1:
			return 0, errors.New("the first time")
		case n%11 == 0:
			return 0, holdfast.Fail(errors.New("never"))
		}
		return n, nil
	}, soon)
	if err != nil {
		s.Fatal(err)
	}
	err = s.parents.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		child, err := s.plain.Start(run, n)
		if err != nil {
			return 0, err
		}
		s.children.Store(child.ID, run.ID())
		_, err = child.Wait(run)
		return n, err
	}, soon)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := events.On(s.Context(), hf); err != nil {
		s.Fatal(err)
	}
	if err := hf.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// rage lets writers and readers go on until all jobs have ended and all has been read.
func (s *storm) rage() {
	for i := range stormReaders {
		s.readers.Go(func() { s.read(i) })
	}
	var writers sync.WaitGroup
	for i := range stormWriters {
		writers.Go(func() { s.write(s.clients[i%len(s.clients)], i*stormJobs) })
	}
	writers.Wait()
	hf := s.clients[0]
	for {
		unfinished, err := hf.Count(s.Context(), store.Filter{States: store.States[:5]})
		if err != nil {
			s.Fatal(err)
		}
		if unfinished.N == 0 || s.Failed() {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // a reader that is slow
	}
	if err := hf.Stop(s.Context()); err != nil {
		s.Fatal(err)
	}
	status, err := events.Look(s.Context(), hf)
	if err != nil {
		s.Fatal(err)
	}
	s.enough.Store(status.Newest.Count)
	s.readers.Wait()
}

// write enqueues jobs in all ways.
func (s *storm) write(hf *holdfast.Client, first int) {
	for n := first; n < first+stormJobs; n++ {
		ctx := s.Context()
		kind := s.plain
		if n%5 == 0 {
			kind = s.parents
		}
		var job *holdfast.Job[int]
		var err error
		switch rand.IntN(3) {
		case 0:
			job, err = kind.Enqueue(ctx, hf, n)
		case 1:
			job, err = kind.Enqueue(ctx, hf, n, holdfast.Delay(time.Duration(rand.IntN(30))*time.Millisecond))
			if err == nil && n%3 == 0 {
				if err := job.Cancel(ctx, "in time or not"); err != nil && !errors.Is(err, store.ErrConflict) {
					s.Error(err)
				}
			}
		default:
			err = s.within(ctx, func(tx store.Tx) error {
				if job, err = kind.EnqueueTx(ctx, hf, tx, n); err != nil {
					return err
				}
				time.Sleep(rand.N(s.late)) //nolint:forbidigo // a transaction that commits late
				if rand.IntN(4) == 0 {
					return errRolledBack
				}
				return nil
			})
		}
		s.mu.Lock()
		switch {
		case err == nil:
			s.jobs = append(s.jobs, job.ID)
		case errors.Is(err, errRolledBack):
			s.never = append(s.never, job.ID)
		default:
			s.Error(err)
		}
		s.mu.Unlock()
	}
}

// read reads everything, but is cut off now and then, and goes on from the last event that it has.
func (s *storm) read(i int) {
	hf := s.clients[i%len(s.clients)]
	var at events.Position
	most := 150 * time.Millisecond
	for {
		ctx, cut := context.WithTimeout(s.Context(), time.Millisecond+rand.N(most))
		left, before := rand.IntN(200), at
		for e, err := range events.Read(ctx, hf, at, events.Filter{}) {
			if err != nil {
				if ctx.Err() == nil {
					s.Error(err)
				}
				break
			}
			s.got[i] = append(s.got[i], e)
			at = e.Position
			if left--; left < 0 {
				break
			}
		}
		cut()
		s.cuts.Add(1)
		if at == before {
			most += most / 8 // a slow machine takes longer to connect than it would ever be given
		}
		if enough := s.enough.Load(); enough > 0 && at.Count >= enough || s.Failed() {
			return
		}
	}
}

// check compares what was read with what has happened.
func (s *storm) check() {
	all := s.got[0]
	for i, got := range s.got {
		for n, e := range got {
			if e.Position.Count != int64(n)+1 {
				s.Fatalf("reader %d: event %d has the position %v", i, n+1, e.Position)
			}
			if n < len(all) && (e.Job != all[n].Job || e.State != all[n].State || e.Position != all[n].Position) {
				s.Fatalf("reader %d has read %+v, the first one %+v", i, e, all[n])
			}
		}
		if len(got) != len(all) {
			s.Fatalf("reader %d has read %d events, the first one %d", i, len(got), len(all))
		}
	}
	last, ran := map[holdfast.ID]store.State{}, map[holdfast.ID]bool{}
	for _, e := range all {
		before := last[e.Job]
		if before != e.State && !store.Allowed(before, e.State) && !(before == 0 && e.State == store.Running) {
			s.Fatalf("%v went from %v to %v: %+v", e.Job, before, e.State, e)
		}
		if parent, ok := s.children.Load(e.Job); ok && !ran[parent.(holdfast.ID)] { //nolint:errcheck // all are
			s.Fatalf("a child is there before its parent runs: %+v", e)
		}
		last[e.Job], ran[e.Job] = e.State, ran[e.Job] || e.State == store.Running
	}
	for _, id := range s.jobs {
		record, err := s.clients[0].Get(s.Context(), id)
		if err != nil || record.State != last[id] {
			s.Fatalf("%v is %v, and was told as %v: %v", id, record.State, last[id], err)
		}
	}
	for _, id := range s.never {
		if last[id] != 0 {
			s.Fatalf("%v was rolled back, and told as %v", id, last[id])
		}
	}
	s.Logf("%d events of %d jobs, %d rolled back, %d connections of readers", len(all), len(last), len(s.never), s.cuts.Load())
}
