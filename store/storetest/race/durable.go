package race

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Races about what jobs remember and wait for. Nothing may sleep for ever: after all is quiet no
// job waits whose messages its run has not seen. children.go has those between parents and
// children.
var raceDurableTests = env.Tests{
	"NoLoss_nothing_sleeps_for_ever_while_others_send": func(e *env.Env) {
		raceParks(e, func(seen, _ int64) *store.Wait {
			return &store.Wait{Seen: seen, Kinds: store.MessagesOf(store.MessageSignal)}
		})
	},
	"NoLoss_nothing_sleeps_for_ever_that_counts": func(e *env.Env) {
		raceParks(e, func(seen, all int64) *store.Wait { return &store.Wait{Seen: seen, Count: min(3, all-seen)} })
	},
	"NoLoss_nothing_sleeps_for_ever_while_people_pause_and_resume": racePauses,
	"OneOwner_a_message_and_the_time_wake_a_job_once":              raceWakes,
	"of_many_sends_with_a_key_one_is_kept":                         raceKeys,
	"of_many_ends_of_a_callback_one_is_kept":                       raceCallbacks,
	"a_message_meets_the_end_of_its_job":                           raceSendEnd,
	"AtomicTransitions_an_append_meets_the_end_of_its_lease":       raceAppendEnd,
	"NoLoss_a_job_continues_while_others_send":                     raceContinue,
}

// sleepers are jobs that wait for signals, and what was sent to them.
type sleepers struct {
	ids     []store.ID
	each    int64        // how many signals each one gets
	left    atomic.Int64 // how many have not completed
	sending atomic.Int64 // how many still send
}

// work claims and runs jobs until all have completed: a run that has not seen all signals parks.
func work(e *env.Env, s *sleepers, node int64, wait func(seen, all int64) *store.Wait) error {
	for idle := 0; s.left.Load() > 0; idle++ {
		if s.sending.Load() > 0 {
			idle = 0
		}
		if idle > crowd.Patience {
			return fmt.Errorf("NoLoss: %d jobs sleep for ever", s.left.Load())
		}
		runs, err := crowd.ClaimNow(e, e.Demand(node, 4))
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			runtime.Gosched()
			continue
		}
		idle = 0
		journals, err := e.Store.Journals(e.Ctx, "", env.ClaimedIDs(runs))
		if err != nil {
			return fmt.Errorf("Journals: %w", err)
		}
		batch := &store.Batch{}
		for i, run := range runs {
			journal := journals[i]
			for at, m := range journal.Messages {
				if m.Seq != int64(at+1) {
					return fmt.Errorf("message %d of job %v has the number %d", at+1, run.Job.ID, m.Seq)
				}
			}
			last, seen := journal.LastSeq(), int64(len(journal.Messages))
			batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(last+1, last+1)})
			o := env.Outcome(run, store.Completed)
			if seen < s.each {
				o = env.Outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait = wait(seen, s.each) })
			}
			o.Durable = true
			batch.Outcomes = append(batch.Outcomes, o)
		}
		if err := crowd.TryNow(e, batch); err != nil {
			return err
		}
		for i, o := range batch.Outcomes {
			if o.Err != nil || batch.Appends[i].Err != nil {
				return fmt.Errorf("outcome: %w, append: %w", o.Err, batch.Appends[i].Err)
			}
			if o.Final == store.Completed {
				s.left.Add(-1)
			}
		}
	}
	return nil
}

// signalAll sends the share of sender i of all signals that the sleepers wait for, in a random
// order.
func signalAll(e *env.Env, s *sleepers, i, senders int) error {
	defer s.sending.Add(-1)
	random := rand.New(rand.NewPCG(uint64(i), 11))
	var sends []*store.Send
	for n := range int(s.each) {
		if n%senders == i {
			for _, id := range s.ids {
				sends = append(sends, &store.Send{Job: id, Message: env.Signal(fmt.Sprint("s", n))})
			}
		}
	}
	random.Shuffle(len(sends), func(a, b int) { sends[a], sends[b] = sends[b], sends[a] })
	for len(sends) > 0 {
		n := min(len(sends), 1+random.IntN(5))
		if err := crowd.TryNow(e, &store.Batch{Sends: sends[:n]}); err != nil {
			return err
		}
		for _, q := range sends[:n] {
			if q.Err != nil {
				return fmt.Errorf("send: %w", q.Err)
			}
		}
		sends = sends[n:]
	}
	return nil
}

func newSleepers(e *env.Env, jobs int, each int64, senders int) *sleepers {
	s := &sleepers{each: each}
	s.sending.Store(int64(senders))
	var enqueues []*store.Enqueue
	for i := range jobs {
		enqueues = append(enqueues, e.Job(env.Queue(fmt.Sprint("q", i%2))))
	}
	s.ids = env.IDsOf(e.Enqueue(enqueues...))
	s.left.Store(int64(jobs))
	return s
}

// wantAllSent checks that every job has all of its signals, numbered without gaps.
func wantAllSent(e *env.Env, s *sleepers) {
	e.Helper()
	for _, id := range s.ids {
		names := map[string]bool{}
		for i, m := range e.Messages(id) {
			if m.Seq != int64(i+1) || names[m.Name] {
				e.Fatalf("message %d of %v: %+v", i+1, id, m)
			}
			names[m.Name] = true
		}
		if len(names) != int(s.each) {
			e.Fatalf("job %v has %d messages, want %d", id, len(names), s.each)
		}
		e.WantState(id, store.Completed)
	}
}

func raceParks(e *env.Env, wait func(seen, all int64) *store.Wait) {
	const workers, senders = 3, 3
	s := newSleepers(e, 8, 12, senders)
	nodes := crowd.Joined(e, workers)
	crowd.Together(e, workers+senders, func(i int) error {
		if i < workers {
			return work(e, s, nodes[i], wait)
		}
		return signalAll(e, s, i-workers, senders)
	})
	wantAllSent(e, s)
}

// racePauses: Reading: a job that is held is held by the pause, so the one who paused it resumes
// it.
func racePauses(e *env.Env) {
	const workers, senders, people = 2, 2, 2
	s := newSleepers(e, 6, 8, senders)
	nodes := crowd.Joined(e, workers)
	crowd.Together(e, workers+senders+people, func(i int) error {
		switch {
		case i < workers:
			return work(e, s, nodes[i], func(seen, _ int64) *store.Wait { return &store.Wait{Seen: seen, Count: 1} })
		case i < workers+senders:
			return signalAll(e, s, i-workers, senders)
		}
		random := rand.New(rand.NewPCG(uint64(i), 12))
		for round := 0; s.left.Load() > 0; round++ {
			runtime.Gosched()
			if s.sending.Load() > 0 {
				round = min(round, crowd.Patience/2)
			}
			if round > crowd.Patience {
				return fmt.Errorf("NoLoss: %d jobs sleep for ever", s.left.Load())
			}
			id := s.ids[random.IntN(len(s.ids))]
			if round < 40 && random.IntN(3) == 0 {
				if _, _, err := e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Jobs: []store.ID{id}, Reason: "r", Actor: "a"}); err != nil {
					return fmt.Errorf("PauseJobs: %w", err)
				}
				continue
			}
			_, _, err := e.Store.Resume(e.Ctx, env.Resumption(id))
			if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrBusy) {
				return fmt.Errorf("Resume: %w", err)
			}
		}
		return nil
	})
	wantAllSent(e, s)
}

// raceWakes: whichever comes first, the job is available once, and claimed once.
func raceWakes(e *env.Env) {
	const n = 40
	runs := e.Running(n)
	node := runs[0].Lease.Node
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)})
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Waiting, func(o *store.Outcome) {
			o.Durable, o.Wait = true, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal), Until: e.Clock.Now().Add(time.Second)}
		}))
	}
	e.Apply(batch)
	e.Clock.Advance(time.Second)
	var claimed crowd.Tally
	crowd.Together(e, 4, func(i int) error {
		for part := range slices.Chunk(runs, 5) {
			switch i {
			case 0:
				if _, err := e.Store.Promote(e.Ctx, 5); err != nil {
					return fmt.Errorf("Promote: %w", err)
				}
			case 1, 2:
				sends := crowd.Signals(part)
				slices.Reverse(sends.Sends)
				if err := crowd.TryNow(e, sends); err != nil {
					return err
				}
			case 3:
				again, err := e.Store.Claim(e.Ctx, e.Demand(node, 10))
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
				claimed.Add(env.ClaimedIDs(again)...)
			}
		}
		return nil
	})
	claimed.Add(env.ClaimedIDs(e.Claim(node, 2*n))...)
	crowd.WantOnce(e, "claimed", &claimed, env.ClaimedIDs(runs))
	for _, run := range runs {
		if n := len(e.Messages(run.Job.ID)); n != 2 {
			e.Fatalf("a job has %d messages, want 2", n)
		}
	}
}

func raceKeys(e *env.Env) {
	const senders, keys = 6, 5
	ids := []store.ID{e.Parked(env.ForSignals()).Job.ID, e.Add()}
	results := make([][]*store.Send, senders)
	crowd.Together(e, senders, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 13))
		for _, id := range ids {
			for k := range keys {
				results[i] = append(results[i], &store.Send{Job: id, Message: env.Signal(fmt.Sprint("by", i)), Key: fmt.Sprint("key", k)})
			}
		}
		random.Shuffle(len(results[i]), func(a, b int) { results[i][a], results[i][b] = results[i][b], results[i][a] })
		for part := range slices.Chunk(results[i], 3) {
			if err := crowd.TryNow(e, &store.Batch{Sends: part}); err != nil {
				return err
			}
		}
		return nil
	})
	type name struct {
		job store.ID
		key string
	}
	seqs, firsts, woken := map[name]int64{}, map[name]int{}, 0
	for _, list := range results {
		for _, q := range list {
			at := name{q.Job, q.Key}
			if q.Err != nil || seqs[at] != 0 && seqs[at] != q.Result.Seq {
				e.Fatalf("send: %+v, %v; another one got the number %d", q.Result, q.Err, seqs[at])
			}
			seqs[at] = q.Result.Seq
			if !q.Result.Duplicate {
				firsts[at]++
			}
			if q.Result.Woken {
				woken++
			}
		}
	}
	for _, id := range ids {
		for i, m := range e.Messages(id) {
			if m.Seq != int64(i+1) || i >= keys {
				e.Fatalf("message %d: %+v", i, m)
			}
		}
		for k := range keys {
			if n := firsts[name{id, fmt.Sprint("key", k)}]; n != 1 {
				e.Fatalf("%d sends were the first of key %d", n, k)
			}
		}
	}
	if woken != 1 {
		e.Fatalf("the job was woken %d times", woken)
	}
}

func raceCallbacks(e *env.Env) {
	const rounds, senders = 6, 5
	for range rounds {
		run := e.Durable(1)
		e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
		e.Park(run, env.ForSignals(store.MessageCallback, store.MessageCallbackFailed))
		sends := make([]*store.Send, senders)
		crowd.Together(e, senders, func(i int) error {
			kind := []store.MessageKind{store.MessageCallback, store.MessageCallbackFailed}[i%2]
			sends[i] = &store.Send{Job: run.Job.ID, Message: env.Callback(kind, "token")}
			return crowd.TryNow(e, &store.Batch{Sends: []*store.Send{sends[i]}})
		})
		won := 0
		for _, q := range sends {
			switch {
			case q.Err == nil && q.Result.Woken && q.Result.Seq == 1:
				won++
			case !errors.Is(q.Err, store.ErrConflict):
				e.Fatalf("send: %+v, %v", q.Result, q.Err)
			}
		}
		if n := len(e.Messages(run.Job.ID)); won != 1 || n != 1 {
			e.Fatalf("%d ends were accepted, %d are kept", won, n)
		}
		e.Terminate(run.Job.ID)
	}
}

// raceSendEnd: a send that was accepted is there, and one that was refused is not, whatever ends
// the job.
func raceSendEnd(e *env.Env) {
	const n = 30
	runs := e.Running(n)
	sends := make([]*store.Send, n)
	crowd.Together(e, 2, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 14))
		for _, at := range random.Perm(n) {
			run := runs[at]
			if i == 0 {
				sends[at] = &store.Send{Job: run.Job.ID, Message: env.Signal("s")}
				if err := crowd.TryNow(e, &store.Batch{Sends: []*store.Send{sends[at]}}); err != nil {
					return err
				}
				continue
			}
			switch at % 3 {
			case 0, 1:
				state := []store.State{store.Completed, store.Failed}[at%3]
				if err := crowd.TryNow(e, crowd.Ending(env.Outcome(run, state))); err != nil {
					return err
				}
			case 2:
				if err := crowd.TerminateNow(e, run.Job.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for i, q := range sends {
		kept := len(e.Messages(runs[i].Job.ID))
		if q.Err != nil && !errors.Is(q.Err, store.ErrConflict) || (q.Err == nil) != (kept == 1) {
			e.Fatalf("a send answered %+v, %v, and %d messages are kept", q.Result, q.Err, kept)
		}
		if state := e.Get(runs[i].Job.ID).State; !state.Finished() {
			e.Fatalf("the job is %v", state)
		}
	}
}

// raceAppendEnd: if the lease is good an append writes its entries and children, and otherwise none
// of them.
func raceAppendEnd(e *env.Env) {
	const n = 24
	node, other := e.Join(), e.Join()
	e.Many(n)
	runs := append(e.Claim(node, n/2), e.Claim(other, n/2)...)
	appends := make([]*store.Append, n)
	crowd.Together(e, 3, func(i int) error {
		switch i {
		case 0:
			for at, run := range runs {
				appends[at] = &store.Append{
					Lease: run.Lease, Entries: env.Steps(1, 2), Enqueues: []*store.Enqueue{e.Child(run.Job.ID, env.Kind("child"))},
				}
				if err := crowd.TryNow(e, &store.Batch{Appends: appends[at : at+1]}); err != nil {
					return err
				}
			}
		case 1:
			for at := 0; at < n/2; at += 2 {
				if err := crowd.TerminateNow(e, runs[at].Job.ID); err != nil {
					return err
				}
			}
		case 2:
			for range 3 {
				if _, err := e.Store.Nodes(e.Ctx); err != nil {
					return fmt.Errorf("Nodes: %w", err)
				}
			}
			if _, err := e.Store.Leave(e.Ctx, other); err != nil {
				return fmt.Errorf("Leave: %w", err)
			}
		}
		return nil
	})
	for at, a := range appends {
		entries := len(e.Journal(runs[at].Job.ID).Entries)
		children := len(e.ListIDs(store.Filter{Parent: runs[at].Job.ID}))
		switch {
		case a.Err == nil && entries == 2 && children == 1:
		case errors.Is(a.Err, store.ErrLeaseLost) && entries == 0 && children == 0:
		default:
			e.Fatalf("the append answered %v, and there are %d entries and %d children", a.Err, entries, children)
		}
	}
}

// raceContinue: a run receives what it finds and continues as new. Nothing that was sent is lost on
// the way, or received twice.
func raceContinue(e *env.Env) {
	const senders = 3
	s := newSleepers(e, 4, 15, senders)
	byName := map[string]store.ID{}
	for _, id := range s.ids {
		for n := range int(s.each) {
			byName[id.String()+fmt.Sprint("s", n)] = e.IDs.Next()
		}
	}
	node := e.Join()
	var received crowd.Tally
	crowd.Together(e, 1+senders, func(i int) error {
		if i == 0 {
			return receiveAll(e, s, node, byName, &received)
		}
		return signalAll(e, s, i-1, senders)
	})
	crowd.WantOnce(e, "received", &received, slices.Collect(maps.Values(byName)))
}

// receiveAll runs jobs that note which signals they find, and continue as new, until all have come.
func receiveAll(e *env.Env, s *sleepers, node int64, byName map[string]store.ID, received *crowd.Tally) error {
	total := len(byName)
	for idle := 0; total > 0; idle++ {
		if s.sending.Load() > 0 {
			runtime.Gosched()
			idle = 0
		}
		if idle > crowd.Patience {
			return fmt.Errorf("NoLoss: %d signals never arrive", total)
		}
		runs, err := crowd.ClaimNow(e, e.Demand(node, 2))
		if err != nil {
			return err
		}
		batch := &store.Batch{}
		for _, run := range runs {
			idle = 0
			journals, err := e.Store.Journals(e.Ctx, "", []store.ID{run.Job.ID})
			if err != nil {
				return fmt.Errorf("Journals: %w", err)
			}
			a := &store.Append{Lease: run.Lease}
			last := journals[0].LastSeq()
			for _, m := range journals[0].Messages {
				last++
				a.Entries = append(a.Entries, store.Entry{Seq: last, Kind: store.EntryReceived, Ref: m.Seq})
				received.Add(byName[run.Job.ID.String()+m.Name])
				total--
			}
			o := env.Outcome(run, store.Available, env.AsNew("x"))
			if len(a.Entries) == 0 {
				a.Entries = env.Steps(last+1, last+1)
				o = env.Outcome(run, store.Waiting, func(o *store.Outcome) { o.Durable, o.Wait = true, env.ForSignals() })
			}
			batch.Appends, batch.Outcomes = append(batch.Appends, a), append(batch.Outcomes, o)
		}
		if err := crowd.EndNow(e, batch); err != nil {
			return err
		}
		for _, a := range batch.Appends {
			if a.Err != nil {
				return fmt.Errorf("append: %w", a.Err)
			}
		}
	}
	return nil
}
