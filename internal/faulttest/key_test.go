package faulttest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

var (
	collects = holdfast.NewKind[int, []int]("collects")
	drains   = holdfast.NewKind[int, []int]("drains")
	number   = holdfast.NewSignal[int]("number")
)

// collect receives as many numbers as the args say.
func collect(run *holdfast.Run, n int) (got []int, err error) {
	for range n {
		v, err := number.Wait(run)
		if err != nil {
			return nil, err
		}
		got = append(got, v)
	}
	return got, nil
}

// drain receives a number, and all others that are there by then.
func drain(run *holdfast.Run, _ int) (got []int, err error) {
	v, err := number.Wait(run)
	for more := true; more && err == nil; v, more, err = number.TryReceive(run) {
		got = append(got, v)
	}
	return got, err
}

// senders are clients of one database that send and start, and a node that works for them.
type senders struct {
	t       *testing.T
	node    *holdfast.Client
	clients []*holdfast.Client
}

// onSenders runs a test with senders on each database: with a network that loses nothing, and with
// one that loses requests and answers, and delivers requests twice.
func onSenders(t *testing.T, test func(t *testing.T, s *senders)) {
	t.Helper()
	for name, trouble := range map[string]float64{"calm": 0, "troubled": 0.3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, db *database) {
				s := &senders{t: t, node: db.open(t)}
				register(t, s.node, collects, collect)
				register(t, s.node, drains, drain)
				work(t, s.node)
				seeds := random(t)
				for range 4 {
					seed := seeds.Uint64()
					lossy := db.wrapped(func(st store.Store) store.Store { return faults.Wrap(st, faults.Seeded(seed, trouble)) })
					s.clients = append(s.clients, lossy.open(t))
				}
				test(t, s)
			})
		})
	}
}

// send sends the numbers from first to first+n-1 to a key, all at once and from all clients, and
// returns what has become of each.
func (s *senders) send(item holdfast.BatchItem, first, n int) map[int]holdfast.SendResult {
	s.t.Helper()
	var mu sync.Mutex
	all := map[int]holdfast.SendResult{}
	err := together(n, func(i int) error {
		sent, err := number.SendOrStart(s.t.Context(), s.clients[i%len(s.clients)], item, first+i)
		mu.Lock()
		defer mu.Unlock()
		all[first+i] = sent
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestTakeOver: of 64 who enqueue with the key of a job that has finished one inserts a job.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	onSenders(t, func(t *testing.T, s *senders) {
		const many, rounds = 64, 5
		holder := enqueue(t, s.clients[0], otherPlain, 0, holdfast.Key("k"), holdfast.Delay(time.Hour))
		for round := range rounds {
			if err := otherPlain.Job(s.node, holder.ID).Cancel(t.Context(), "over"); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			winners := map[holdfast.ID]int{}
			err := together(many, func(i int) error {
				c := s.clients[i%len(s.clients)]
				job, err := otherPlain.Enqueue(t.Context(), c, round+1, holdfast.Key("k"), holdfast.Delay(time.Hour))
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if !job.Existing {
					winners[job.ID]++
					holder = job
				} else {
					winners[job.ID] += 0
				}
				if job.Differs {
					return errors.New("the args are the same")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(winners) != 1 || winners[holder.ID] != 1 {
				t.Errorf("round %d: the winners are %v", round, winners)
			}
		}
	})
}
