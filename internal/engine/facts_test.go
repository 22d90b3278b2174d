package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/gauges"
	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// facts are all minutes that were written.
func (b *bed) facts() []store.Fact {
	b.t.Helper()
	all, err := b.st.Facts(b.t.Context(), store.FactParams{
		Span: store.FactMinute, All: true, To: time.Now().Add(time.Hour), Limit: store.FactsLimit,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// counted is what was written of the kind k: in all, and by the minute.
func (b *bed) counted() (all tally.Entry, minutes map[string]tally.Counts) {
	b.t.Helper()
	minutes = map[string]tally.Counts{}
	for _, f := range b.facts() {
		if f.Jobs == nil {
			continue
		}
		set, err := tally.Decode(f.Jobs)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, name := range set.Names() {
			if name.Kind == "k" {
				all.Merge(set.Of(name))
				sum := minutes[f.At.Format("15:04")]
				for i, n := range set.Of(name).Counts {
					sum[i] += n
				}
				minutes[f.At.Format("15:04")] = sum
			}
		}
	}
	return all, minutes
}

// TestFactsOfMinutes: a run counts in the minute of its start, and in that of its end, and how long
// it took and its job waited is known; what came since the last beat is written when the node
// stops.
func TestFactsOfMinutes(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			time.Sleep(70 * time.Second)
			return nil, nil
		})
		b.run()
		b.enqueue(b.job("k"), b.job("k", func(q *store.Enqueue) { q.Delay = 7 * time.Second }))
		time.Sleep(11 * time.Second) // two beats
		synctest.Wait()
		_, minutes := b.counted()
		if got := fmt.Sprint(minutes); got != "map[00:00:[2 0 0 0 0 0 0 0]]" {
			b.t.Errorf("after the start: %v", got)
		}
		time.Sleep(70 * time.Second)
		b.halt()
		all, minutes := b.counted()
		if got := fmt.Sprint(minutes); got != "map[00:00:[2 0 0 0 0 0 0 0] 00:01:[0 2 0 0 0 0 0 0]]" {
			b.t.Errorf("at the end: %v", got)
		}
		if all.Run.N != 2 || all.Run.Longest() < 70*time.Second || all.Run.Longest() > 71*time.Second {
			b.t.Errorf("%d runs took up to %v", all.Run.N, all.Run.Longest())
		}
		if all.Wait.N != 2 || all.Wait.Longest() > 2*time.Second { // not the time for which it was to wait
			b.t.Errorf("%d jobs waited up to %v", all.Wait.N, all.Wait.Longest())
		}
	})
}

// TestFactsOfWaits: how long jobs wait for a slot is counted. What is claimed too early is given
// back meanwhile, and waits from then on.
func TestFactsOfWaits(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			time.Sleep(10 * time.Second)
			return nil, nil
		})
		b.run()
		b.enqueue(b.job("k"), b.job("k"), b.job("k"))
		time.Sleep(40 * time.Second)
		b.halt()
		all, _ := b.counted()
		if longest := all.Wait.Longest(); all.Wait.N != 3 || longest < 9*time.Second || longest > 22*time.Second {
			b.t.Errorf("%d jobs waited up to %v", all.Wait.N, longest)
		}
	})
}

// TestFactsOfAnIdleNode: one row a minute, with what was measured, and one of the database.
func TestFactsOfAnIdleNode(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Name: "shop-1", Slots: 7}}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		writes := 0
		b.st.hook(func(p *probe) {
			p.onFacts = func([]store.Fact) error {
				writes++
				return nil
			}
		})
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		of := map[string]int{}
		for _, f := range b.facts() {
			of[f.Namespace]++
			if f.Namespace == "" {
				continue
			}
			s, err := gauges.Decode(f.Gauges)
			if err != nil || s.Name != "shop-1" || s.Values[gauges.Slots] != 7 || s.Values[gauges.Goroutines] < 1 {
				b.t.Errorf("%+v, %v", s, err)
			}
			if f.Jobs != nil {
				b.t.Errorf("%x", f.Jobs)
			}
		}
		if of["default"] != 10 || of[""] < 9 || writes > 12 {
			b.t.Errorf("%v rows, in %d writes", of, writes)
		}
	})
}

// TestFactsAfterAnOutage: what happened meanwhile is written then, in the minutes in which it
// happened, and once though answers were lost.
func TestFactsAfterAnOutage(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		time.Sleep(6 * time.Second)
		b.st.hook(func(p *probe) {
			p.onFacts = func(facts []store.Fact) error {
				if time.Now().Second() < 20 { // it is written, and the answer is lost
					if err := p.Store.KeepFacts(context.Background(), facts); err != nil {
						return err
					}
				}
				return store.ErrUnavailable
			}
		})
		for range 5 {
			b.wait(b.enqueue(b.job("k")))
			time.Sleep(30 * time.Second)
			b.wait(b.enqueue(b.job("k")))
			time.Sleep(30 * time.Second)
		}
		b.st.hook(func(p *probe) { p.onFacts = nil })
		time.Sleep(6 * time.Second)
		synctest.Wait()
		all, minutes := b.counted()
		if all.Counts[tally.Started] != 10 || all.Counts[tally.Completed] != 10 || len(minutes) != 5 {
			b.t.Errorf("%v: %v", all.Counts, minutes)
		}
		for minute, n := range minutes {
			if n[tally.Completed] != 2 {
				b.t.Errorf("%v: %v", minute, n)
			}
		}
	})
}

// TestFactsThatPanic: a store that panics when the last minute is written does not keep the node
// from leaving.
func TestFactsThatPanic(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.wait(b.enqueue(b.job("k")))
		b.st.hook(func(p *probe) { p.onFacts = func([]store.Fact) error { panic("a bug in KeepFacts") } })
		b.halt()
		nodes, err := b.st.Nodes(b.t.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Ended != store.NodeLeft {
			b.t.Errorf("%+v, %v", nodes, err)
		}
	})
}

// TestNoFacts: nothing is written if nothing is to be.
func TestNoFacts(t *testing.T) {
	inBed(t, Config{NoFacts: true}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.wait(b.enqueue(b.job("k")))
		time.Sleep(10 * time.Minute)
		b.halt()
		if all := b.facts(); len(all) != 0 {
			b.t.Errorf("%d rows", len(all))
		}
	})
}

// TestFactsOfADeadNode: its runs are counted as lost by the node that rescues them.
func TestFactsOfADeadNode(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		id, err := b.st.Join(b.t.Context(), store.NodeInfo{Name: "dead", Namespace: "default", Kinds: []string{"k"}, Slots: 1})
		if err != nil {
			b.t.Fatal(err)
		}
		job := b.enqueue(b.job("k"))
		claimed, err := b.st.Claim(b.t.Context(), store.ClaimParams{Node: id, Seq: 1, Namespace: "default", Kinds: []string{"k"}, Limit: 1})
		if err != nil || len(claimed) != 1 {
			b.t.Fatalf("%d claimed, %v", len(claimed), err)
		}
		b.run()
		b.expect(b.wait(job), store.Completed, "")
		b.halt()
		all, _ := b.counted()
		if want := (tally.Counts{tally.Started: 1, tally.Completed: 1, tally.Lost: 1}); all.Counts != want {
			b.t.Errorf("%v, want %v", all.Counts, want)
		}
	})
}

// TestFactsAreWhatHappened: runs end in all ways, at random, over some minutes; the sums of all
// minutes are what the store says of the jobs.
func TestFactsAreWhatHappened(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 5, StuckAfter: time.Second}}, func(b *bed) {
		r := rand.New(rand.NewPCG(5, 6))
		var started, snoozed int
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			b.st.mu.Lock()
			started++
			way := r.IntN(7)
			if way == 3 {
				snoozed++
			}
			took := time.Duration(r.IntN(20)) * time.Second
			b.st.mu.Unlock()
			time.Sleep(took)
			switch way {
			case 0, 1:
				return nil, errBoom
			case 2:
				return nil, &usercode.FailError{Err: errBoom}
			case 3:
				return nil, &usercode.SnoozeError{Delay: time.Second}
			case 4:
				panic("boom")
			}
			return nil, nil
		})
		b.run()
		ids := make([]store.ID, 100)
		for i := range ids {
			ids[i] = b.enqueue(b.job("k", func(q *store.Enqueue) { q.Job.MaxAttempts = 3 }))
			if i%10 == 0 {
				_, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{ids[i/2]}})
				if err != nil && !errors.Is(err, store.ErrConflict) {
					b.t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		want := tally.Counts{}
		ends := map[store.State]uint64{}
		for _, id := range ids {
			ends[b.wait(id).State]++
			for _, a := range b.get(id).Attempts {
				if a.Outcome == store.Retryable {
					want[tally.Retried]++
				}
			}
		}
		b.halt()
		want[tally.Started], want[tally.Parked] = uint64(started), uint64(snoozed)
		want[tally.Completed], want[tally.Failed] = ends[store.Completed], ends[store.Failed]
		all, minutes := b.counted()
		// Those that were cancelled before they ran have no run, and some snoozes became a cancel.
		want[tally.Cancelled], want[tally.Parked] = all.Counts[tally.Cancelled], all.Counts[tally.Parked]
		if all.Counts != want {
			b.t.Errorf("%v, want %v", all.Counts, want)
		}
		if all.Counts[tally.Cancelled] > ends[store.Cancelled] || all.Counts[tally.Parked] > uint64(snoozed) {
			b.t.Errorf("%v, of %d cancelled jobs and %d snoozes", all.Counts, ends[store.Cancelled], snoozed)
		}
		before := all.Ended() - all.Run.N // they ended before they began
		if all.Counts[tally.Started] != all.Run.N || before > ends[store.Cancelled] {
			b.t.Errorf("%d started, %d ended, %d durations", all.Counts[tally.Started], all.Ended(), all.Run.N)
		}
		if ends[store.Failed] == 0 || want[tally.Retried] == 0 || snoozed == 0 || len(minutes) < 3 {
			b.t.Errorf("%v in %d minutes: too little has happened", want, len(minutes))
		}
	})
}
