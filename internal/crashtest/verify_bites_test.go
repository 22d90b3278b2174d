package crashtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
)

// sound is a small history in which everything is as it should be. Job 1 failed once and saved two
// checkpoints, was lost after its effect, and then completed while its slow node wrote on. Jobs 2
// and 3 share a key, job 2 was snoozed. Job 4 failed for good and had the child 5. Job 6 was
// cancelled while it ran, job 7 before. Job 8 failed for good, was retried, and failed again; job
// 9, of the same key, ran in between. Job 10 was enqueued in a transaction of the caller's, and one
// like it in a transaction that was rolled back.
type sound struct {
	history
	ids map[int]holdfast.ID
}

// begin is when the jobs of a sound history are enqueued.
var begin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func newSound(t *testing.T) *sound {
	t.Helper()
	s := &sound{ids: map[int]holdfast.ID{}}
	s.plan = map[int]work{
		1: {N: 1, Fails: 1, Stages: 2}, 2: {N: 2, Key: "k", Snoozes: 1}, 3: {N: 3, Key: "k"},
		4: {N: 4, Fatal: true, Child: 5}, 5: child(work{Child: 5}), 6: {N: 6, Cancel: true, Waits: true}, 7: {N: 7, Key: "m", Cancel: true},
		8: {N: 8, Key: "l", Fatal: true, Again: true}, 9: {N: 9, Key: "l"}, 10: {N: 10, Tx: true, Delay: 5000},
	}
	s.records, s.enqueued = map[holdfast.ID]store.Record{}, map[holdfast.ID]int{}
	s.rules = rules{dead: 2 * time.Second}
	s.deaths = map[int64]death{2: {name: "w0.1", slow: true, at: begin.Add(18 * time.Second), silence: 2 * time.Second}}
	add := func(n int, state store.State, lease int64, attempt int, attempts ...store.Attempt) {
		s.ids[n] = holdfast.NewID()
		var r store.Record
		r.ID, r.Args, r.State, r.Attempt, r.LeaseNumber = s.ids[n], encode(t, s.plan[n]), state, attempt, lease
		r.CreatedAt, r.ClaimedAt, r.Attempts = begin, claimed(lease), attempts
		if lease > 0 {
			r.Lease = store.Lease{Number: lease, Node: lease}
		}
		switch state {
		case store.Failed:
			r.Reason = store.ReasonTerminal
		case store.Cancelled:
			r.Reason = store.ReasonCancelled
		default:
			r.Result = encode(t, done{lease})
		}
		s.records[r.ID] = r
		if n != 5 {
			s.enqueued[r.ID] = n
		}
	}
	add(1, store.Completed, 3, 3,
		attempted(1, 1, store.Retryable, store.ReasonError), attempted(2, 2, store.Retryable, store.ReasonNodeLost))
	add(2, store.Completed, 2, 1, attempted(1, 1, store.Scheduled, store.ReasonSnoozed))
	add(3, store.Completed, 1, 1)
	add(4, store.Failed, 1, 1, attempted(1, 1, store.Failed, store.ReasonTerminal))
	add(5, store.Completed, 1, 1)
	add(6, store.Cancelled, 1, 1, attempted(1, 1, store.Cancelled, store.ReasonCancelled))
	add(7, store.Cancelled, 0, 0)
	add(8, store.Failed, 2, 1,
		attempted(1, 1, store.Failed, store.ReasonTerminal), attempted(2, 1, store.Failed, store.ReasonTerminal))
	add(9, store.Completed, 1, 1)
	add(10, store.Completed, 1, 1)
	s.cancels = map[holdfast.ID]request{s.ids[6]: {store.Running, 1}, s.ids[7]: {store.Cancelled, 0}}
	s.retries, s.retried = map[holdfast.ID]request{s.ids[8]: {store.Failed, 1}}, []holdfast.ID{s.ids[8]}
	s.notes = []note{{5, s.ids[5], true}, {5, s.ids[5], false}, {10, s.ids[10], true}}
	s.undone = map[holdfast.ID]int{holdfast.NewID(): 11}
	for _, e := range []effect{
		{Event: eventStart, N: 1, Lease: 1, Attempt: 1},
		{Event: eventCheckpoint, N: 1, Lease: 1, Attempt: 1, Stage: 1},
		{Event: eventCheckpoint, N: 1, Lease: 1, Attempt: 1, Stage: 2},
		{Event: eventEffect, N: 1, Lease: 1, Attempt: 1, Stage: 2},
		{Event: eventStart, N: 1, Lease: 2, Attempt: 2, Stage: 2},
		{Event: eventStart, N: 1, Lease: 3, Attempt: 3, Stage: 2},
		{Event: eventEffect, N: 1, Lease: 2, Attempt: 2, Stage: 2},
		{Event: eventEffect, N: 1, Lease: 3, Attempt: 3, Stage: 2},
		{Event: eventStart, N: 2, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 2, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 2, Lease: 2, Attempt: 1},
		{Event: eventEffect, N: 2, Lease: 2, Attempt: 1},
		{Event: eventStart, N: 3, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 3, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 4, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 4, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 5, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 5, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 6, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 8, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 8, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 9, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 9, Lease: 1, Attempt: 1},
		{Event: eventStart, N: 8, Lease: 2, Attempt: 1},
		{Event: eventEffect, N: 8, Lease: 2, Attempt: 1},
		{Event: eventStart, N: 10, Lease: 1, Attempt: 1},
		{Event: eventEffect, N: 10, Lease: 1, Attempt: 1},
	} {
		e.Job, e.Node, e.By = s.ids[e.N], e.Lease, "w0.1"
		s.effects = append(s.effects, e)
	}
	return s
}

// claimed is when a lease of a sound history is given. Its run takes five seconds.
func claimed(lease int64) time.Time { return begin.Add(time.Duration(lease) * 10 * time.Second) }

func attempted(lease int64, number int, outcome store.State, reason store.Reason) store.Attempt {
	return store.Attempt{
		Number: number, LeaseNumber: lease, Node: lease, Outcome: outcome, Reason: reason,
		ClaimedAt: claimed(lease), EndedAt: claimed(lease).Add(5 * time.Second),
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// find is the place of a record in the file.
func (s *sound) find(event string, n int, lease int64) int {
	return slices.IndexFunc(s.effects, func(e effect) bool { return e.Event == event && e.N == n && e.Lease == lease })
}

func (s *sound) remove(event string, n int, lease int64) {
	i := s.find(event, n, lease)
	s.effects = slices.Delete(s.effects, i, i+1)
}

// bury changes the death of node 2.
func (s *sound) bury(change func(d *death)) {
	d := s.deaths[2]
	change(&d)
	s.deaths[2] = d
}

// advance moves all that a job did in front of what another one did.
func (s *sound) advance(n, other int) {
	var moved, rest []effect
	for _, e := range s.effects {
		if e.N == n {
			moved = append(moved, e)
		} else {
			rest = append(rest, e)
		}
	}
	s.effects = rest
	at := s.find(eventStart, other, 1)
	s.effects = slices.Insert(rest, at, moved...)
}

func (s *sound) change(n int, change func(r *store.Record)) {
	r := s.records[s.ids[n]]
	r.Attempts = slices.Clone(r.Attempts)
	change(&r)
	s.records[r.ID] = r
}

// TestVerifyBites shows that each thing that verify looks at can be wrong: it accepts a sound
// history, and refuses it with any one change.
func TestVerifyBites(t *testing.T) {
	t.Parallel()
	racing.Off(t) // it has one goroutine
	if problems, figures := verify(newSound(t).history); len(problems) > 0 {
		t.Fatalf("a sound history is refused: %q; %v", problems, figures)
	}
	for _, test := range []struct {
		name   string
		damage func(s *sound)
		want   string
	}{
		{"an enqueued job is gone", func(s *sound) { delete(s.records, s.ids[3]) }, "was enqueued and is lost"},
		{"a job that ran is gone", func(s *sound) { delete(s.records, s.ids[5]) }, "ran and is lost"},
		{"a child was never enqueued", func(s *sound) {
			delete(s.records, s.ids[5])
			s.effects = slices.DeleteFunc(s.effects, func(e effect) bool { return e.N == 5 })
		}, "is in the database as 0 jobs"},
		{"a unique job is there twice", func(s *sound) {
			twin := s.records[s.ids[5]]
			twin.ID = holdfast.NewID()
			s.records[twin.ID] = twin
		}, "is in the database as 2 jobs"},
		{"other args", func(s *sound) {
			s.change(3, func(r *store.Record) { r.Args = []byte(`{"n":3,"millis":7}`) })
		}, "planned were"},
		{"no args", func(s *sound) { s.change(3, func(r *store.Record) { r.Args = nil }) }, "has args"},
		{"not finished", func(s *sound) {
			s.change(3, func(r *store.Record) { r.State = store.Running })
		}, "is running (: ), not [completed]"},
		{"failed without a plan", func(s *sound) {
			s.change(3, func(r *store.Record) { r.State, r.Reason = store.Failed, store.ReasonCrashLoop })
		}, "is failed (crash_loop: ), not [completed]"},
		{"failed for another reason", func(s *sound) {
			s.change(4, func(r *store.Record) { r.Reason = store.ReasonAttemptsExhausted })
		}, "not for good"},
		{"completed against the plan", func(s *sound) {
			s.change(4, func(r *store.Record) { r.State = store.Completed })
		}, "is completed (terminal: ), not [failed]"},
		{"the result of another run", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Result = []byte(`{"lease":2}`) })
		}, "has the result"},
		{"a lost run completed the job", func(s *sound) {
			s.change(1, func(r *store.Record) { r.LeaseNumber, r.Result = 2, []byte(`{"lease":2}`) })
		}, "recorded as an attempt: true, completed the job: true"},
		{"a claim without a trace", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts = r.Attempts[:1] })
		}, "lease 2 of 3: recorded as an attempt: false"},
		{"an attempt too many", func(s *sound) {
			s.change(3, func(r *store.Record) {
				r.Attempts = []store.Attempt{{LeaseNumber: 2, Reason: store.ReasonNodeLost}}
			})
		}, "has lease 2, above the last one, 1"},
		{"two attempts of one lease", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts = append(r.Attempts, r.Attempts[1]) })
		}, "two attempts have lease 2"},
		{"an error that was not planned", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].Reason = store.ReasonError })
		}, `ended with "error"`},
		{"a snooze that was not planned", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].Reason = store.ReasonSnoozed })
		}, `ended with "snoozed"`},
		{"a reason that there should not be", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].Reason = store.ReasonTimeout })
		}, `ended with "timeout"`},
		{"a lost attempt does not count", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempt = 2 })
		}, "has counted 2 attempts"},
		{"a snooze counts", func(s *sound) {
			s.change(2, func(r *store.Record) { r.Attempt = 2 })
		}, "has counted 2 attempts"},
		{"a lease given twice", func(s *sound) {
			s.effects = append(s.effects, s.effects[s.find(eventStart, 3, 1)])
		}, "started twice"},
		{"a lease on another node", func(s *sound) {
			s.effects[s.find(eventStart, 3, 1)].Node = 9
		}, "on record is node 1"},
		{"a run that goes on elsewhere", func(s *sound) {
			s.effects[s.find(eventEffect, 3, 1)].By = "w7.1"
		}, "is not of the run that began as"},
		{"another attempt than recorded", func(s *sound) {
			s.effects[s.find(eventStart, 2, 1)].Attempt = 2
			s.effects[s.find(eventEffect, 2, 1)].Attempt = 2
		}, "in attempt 2, on record is attempt 1"},
		{"a lease that was never given", func(s *sound) {
			s.effects[s.find(eventEffect, 3, 1)].Lease = 2
		}, "under lease 2, which is not on record"},
		{"completed in another attempt", func(s *sound) {
			s.change(3, func(r *store.Record) { r.Attempt = 2 })
		}, "in attempt 1, completed was attempt 2"},
		{"an effect without a start", func(s *sound) {
			s.remove(eventStart, 3, 1)
		}, "without a start"},
		{"leases that shrink", func(s *sound) {
			i, j := s.find(eventStart, 2, 1), s.find(eventStart, 2, 2)
			s.effects[i], s.effects[j] = s.effects[j], s.effects[i]
		}, "after lease 2 had started (its node was lost: false"},
		{"a killed process that writes on", func(s *sound) {
			s.bury(func(d *death) { d.slow = false })
		}, "its node was lost: true, but lived: false"},
		{"a live run that is refused", func(s *sound) {
			e := s.effects[s.find(eventStart, 3, 1)]
			e.Event = eventRefused
			s.effects = append(s.effects, e)
		}, "was refused, which was not lost"},
		{"the effect of the last run is missing", func(s *sound) {
			s.remove(eventEffect, 1, 3)
		}, "has 0 effects of the run that finished it"},
		{"the effect twice in one run", func(s *sound) {
			s.effects = append(s.effects, s.effects[s.find(eventEffect, 3, 1)])
		}, "has 2 effects of the run that finished it"},
		{"the effect twice in a run that failed", func(s *sound) {
			s.effects = append(s.effects, s.effects[s.find(eventEffect, 1, 1)])
		}, `has 2 effects under lease 1, which ended with "error"`},
		{"the effect twice in a run that was lost", func(s *sound) {
			s.effects = append(s.effects, s.effects[s.find(eventEffect, 1, 2)])
		}, "has 2 effects under lease 2, which was cut short"},
		{"a run that failed without its effect", func(s *sound) { s.remove(eventEffect, 1, 1) }, "has 0 effects under lease 1"},
		{"a run that snoozed without its effect", func(s *sound) { s.remove(eventEffect, 2, 1) }, "has 0 effects under lease 1"},
		{"a run that failed for good without its effect", func(s *sound) { s.remove(eventEffect, 4, 1) }, "has 0 effects under lease 1"},
		{"a run that was given back after it started", func(s *sound) {
			s.change(1, func(r *store.Record) {
				r.Attempts[1].Reason, r.Attempts[1].Outcome = store.ReasonReleased, store.Available
			})
		}, "lease 2 was given back before it started, and had started"},
		{"a lost run that does not count", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempt, r.Attempts[1].Outcome = 2, store.Available })
		}, `under lease 2 ended with "node_lost" and left the job available`},
		{"an error after which the job is at once available", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[0].Outcome = store.Available })
		}, `under lease 1 ended with "error" and left the job available`},
		{"a snooze after which the job is to be retried", func(s *sound) {
			s.change(2, func(r *store.Record) { r.Attempts[0].Outcome = store.Retryable })
		}, `under lease 1 ended with "snoozed" and left the job retryable`},
		{"a release that counts", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].Reason = store.ReasonReleased })
		}, `under lease 2 ended with "released" and left the job retryable`},
		{"an end for good that is none", func(s *sound) {
			s.change(4, func(r *store.Record) { r.Attempts[0].Outcome = store.Retryable })
		}, `under lease 1 ended with "terminal" and left the job retryable`},
		{"attempts that are counted wrong", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].Number = 1 })
		}, "under lease 2 has number 1, not 2"},

		{"a job that was taken from a node that lives", func(s *sound) { delete(s.deaths, 2) }, "lost with node 2, which was not dead"},
		{"a job that was taken from a node before it was dead", func(s *sound) {
			s.bury(func(d *death) { d.at = d.at.Add(time.Minute) })
		}, "lost with node 2, which was not dead"},
		{"a node that beats and is declared dead", func(s *sound) {
			s.bury(func(d *death) { d.silence = time.Second })
		}, "node 2, w0.1, was declared dead after a silence of 1s"},
		{"a node that beats and is declared dead on a database that knows of kills", func(s *sound) {
			s.rules.killIsKnown = true
			s.bury(func(d *death) { d.silence = time.Second })
		}, "node 2, w0.1, was declared dead after a silence of 1s"},
		{"a node that was killed and is not silent for long enough", func(s *sound) {
			s.bury(func(d *death) { d.silence, d.slow = time.Second, false })
		}, "node 2, w0.1, was declared dead after a silence of 1s"},

		{"the id of another job", func(s *sound) {
			s.enqueued[s.ids[1]], s.enqueued[s.ids[3]] = 3, 1
		}, "which is job 3"},
		{"a job in a transaction that committed is gone", func(s *sound) {
			delete(s.records, s.ids[10])
		}, "in a transaction that committed, and is not there"},
		{"a job without the rest of its transaction", func(s *sound) {
			s.notes = s.notes[:2]
		}, "was inserted by 0 transactions that committed, not by 1"},
		{"a job of several transactions", func(s *sound) {
			s.notes[1].fresh = true
		}, "was inserted by 2 transactions that committed, not by 1"},
		{"a job of a transaction that was rolled back", func(s *sound) {
			s.undone[s.ids[3]] = 3
		}, "was rolled back, and is there"},

		{"a cancel of a running job that is forgotten", func(s *sound) {
			s.change(6, func(r *store.Record) { r.State = store.Running })
		}, "is running (cancelled: ), not [cancelled cancelled]"},
		{"a cancelled job that ran all the same", func(s *sound) {
			s.cancels[s.ids[9]] = request{store.Cancelled, 0}
		}, "lease 1 started after the job was cancelled under lease 0"},
		{"a cancelled job that completed", func(s *sound) {
			s.cancels[s.ids[9]] = request{store.Cancelled, 1}
		}, "is completed (: ), not [cancelled]"},
		{"a cancel that is answered with an end that was not", func(s *sound) {
			s.cancels[s.ids[9]] = request{store.Failed, 1}
		}, "its cancel was answered with failed"},
		{"a run that is cancelled without a request", func(s *sound) { delete(s.cancels, s.ids[6]) }, `ended with "cancelled"`},
		{"a cancelled job for another reason", func(s *sound) {
			s.change(7, func(r *store.Record) { r.Reason = store.ReasonDeadline })
		}, `was cancelled with "deadline"`},
		{"a cancelled job that did not run and counts", func(s *sound) {
			s.change(7, func(r *store.Record) { r.Attempt = 1 })
		}, "has counted 1 attempts, on record are 0"},
		{"a cancelled run that does not count", func(s *sound) {
			s.change(6, func(r *store.Record) { r.Attempt = 0 })
		}, "has counted 0 attempts, on record are 1"},

		{"a job that goes on after its end", func(s *sound) { delete(s.retries, s.ids[8]) }, "the job had finished under lease 1"},
		{"a retry that is forgotten", func(s *sound) {
			s.retries[s.ids[4]] = request{store.Failed, 1}
			s.change(4, func(r *store.Record) { r.State = store.Available })
		}, "is available (terminal: ), not [failed]"},
		{"a retry of a job that had not finished", func(s *sound) {
			s.retries[s.ids[8]] = request{store.Completed, 1}
		}, "was completed when it was retried"},
		{"a retry that is not on record", func(s *sound) { s.retried = nil }, "0 retries are on record, there were 1"},
		{"a retry that nobody asked for", func(s *sound) {
			s.retried = append(s.retried, s.ids[1])
		}, "1 retries are on record, there were 0"},
		{"a retry that goes on counting", func(s *sound) {
			s.change(8, func(r *store.Record) { r.Attempt, r.Attempts[1].Number = 2, 2 })
		}, "under lease 2 has number 2, not 1"},
		{"a retry in another job's turn", func(s *sound) {
			i, j := s.find(eventStart, 8, 2), s.find(eventEffect, 9, 1)
			s.effects[i], s.effects[j] = s.effects[j], s.effects[i]
		}, "job 8: of l started before job 9 had finished"},

		{"a retry before the end of what came before it", func(s *sound) {
			s.change(8, func(r *store.Record) { r.Attempts[1].ClaimedAt = r.Attempts[0].EndedAt.Add(-time.Millisecond) })
		}, "lease 2 was given 1ms before its time"},
		{"a start before its time", func(s *sound) {
			s.change(10, func(r *store.Record) { r.ClaimedAt = begin.Add(4 * time.Second) })
		}, "lease 1 was given 1s before its time"},
		{"a retry without its backoff", func(s *sound) {
			s.change(1, func(r *store.Record) { r.Attempts[1].ClaimedAt = r.Attempts[0].EndedAt.Add(9 * time.Millisecond) })
		}, "lease 2 was given 1ms before its time"},
		{"a rescue without its backoff", func(s *sound) {
			s.change(1, func(r *store.Record) { r.ClaimedAt = r.Attempts[1].EndedAt.Add(9 * time.Millisecond) })
		}, "lease 3 was given 1ms before its time"},
		{"a snooze that is too short", func(s *sound) {
			s.change(2, func(r *store.Record) { r.ClaimedAt = r.Attempts[0].EndedAt.Add(19 * time.Millisecond) })
		}, "lease 2 was given 1ms before its time"},

		{"a checkpoint is forgotten", func(s *sound) {
			s.effects[s.find(eventStart, 1, 2)].Stage = 1
		}, "lease 2 began at stage 1, saved was stage 2"},
		{"a checkpoint out of nowhere", func(s *sound) {
			s.effects[s.find(eventStart, 3, 1)].Stage = 2
		}, "lease 1 began at stage 2, saved was stage 0"},
		{"an effect before its checkpoints", func(s *sound) {
			s.effects[s.find(eventEffect, 1, 3)].Stage = 1
		}, "had its effect at stage 1 of 2"},
		{"two jobs of a key at once", func(s *sound) {
			i, j := s.find(eventStart, 3, 1), s.find(eventEffect, 2, 2)
			s.effects[i], s.effects[j] = s.effects[j], s.effects[i]
		}, "of k started before job 2 had finished"},
		{"jobs of a key out of their order", func(s *sound) { s.advance(3, 2) }, "of k started before job 2, which was enqueued before it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSound(t)
			test.damage(s)
			problems, _ := verify(s.history)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("problems %q do not tell that %q", problems, test.want)
			}
		})
	}
}
