package crashtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// sound is a small history in which everything is as it should be. Job 1 failed once and saved two checkpoints, was lost after its
// effect, and then completed while its slow node wrote on. Jobs 2 and 3 share a key, job 2 was snoozed. Job 4 failed for good and had
// the child 5.
type sound struct {
	history
	ids map[int]holdfast.ID
}

func newSound(t *testing.T) *sound {
	t.Helper()
	s := &sound{ids: map[int]holdfast.ID{}}
	s.slow = []string{"w0.1"}
	s.plan = map[int]work{
		1: {N: 1, Fails: 1, Stages: 2}, 2: {N: 2, Key: "k", Snoozes: 1}, 3: {N: 3, Key: "k"},
		4: {N: 4, Fatal: true, Child: 5}, 5: {N: 5, Unique: true},
	}
	s.records, s.enqueued = map[holdfast.ID]holdfast.Record{}, map[holdfast.ID]int{}
	add := func(n int, lease int64, attempt int, attempts ...holdfast.Attempt) {
		s.ids[n] = holdfast.NewID()
		var r holdfast.Record
		r.ID, r.Args, r.State, r.Attempt, r.Attempts = s.ids[n], encode(t, s.plan[n]), holdfast.Completed, attempt, attempts
		r.Result, r.Lease = encode(t, done{lease}), holdfast.Lease{Job: r.ID, Number: lease, Node: lease}
		if s.plan[n].Fatal {
			r.State, r.Reason, r.Result = holdfast.Failed, store.ReasonTerminal, nil
		}
		s.records[r.ID] = r
		if n != 5 {
			s.enqueued[r.ID] = n
		}
	}
	add(1, 3, 3,
		holdfast.Attempt{Number: 1, LeaseNumber: 1, Node: 1, Outcome: holdfast.Retryable, Reason: store.ReasonError},
		holdfast.Attempt{Number: 2, LeaseNumber: 2, Node: 2, Outcome: holdfast.Retryable, Reason: store.ReasonNodeLost})
	add(2, 2, 1, holdfast.Attempt{Number: 1, LeaseNumber: 1, Node: 1, Outcome: holdfast.Scheduled, Reason: store.ReasonSnoozed})
	add(3, 1, 1)
	add(4, 1, 1, holdfast.Attempt{Number: 1, LeaseNumber: 1, Node: 1, Outcome: holdfast.Failed, Reason: store.ReasonTerminal})
	add(5, 1, 1)
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
	} {
		e.Job, e.Node, e.By = s.ids[e.N], e.Lease, "w0.1"
		s.effects = append(s.effects, e)
	}
	return s
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

func (s *sound) change(n int, change func(r *holdfast.Record)) {
	r := s.records[s.ids[n]]
	r.Attempts = slices.Clone(r.Attempts)
	change(&r)
	s.records[r.ID] = r
}

// TestVerifyBites shows that each thing that verify looks at can be wrong: it accepts a sound history, and refuses it with any one change.
func TestVerifyBites(t *testing.T) {
	t.Parallel()
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
			s.change(3, func(r *holdfast.Record) { r.Args = []byte(`{"n":3,"millis":7}`) })
		}, "planned were"},
		{"no args", func(s *sound) { s.change(3, func(r *holdfast.Record) { r.Args = nil }) }, "has args"},
		{"not finished", func(s *sound) {
			s.change(3, func(r *holdfast.Record) { r.State = holdfast.Running })
		}, "not completed"},
		{"failed without a plan", func(s *sound) {
			s.change(3, func(r *holdfast.Record) { r.State, r.Reason = holdfast.Failed, store.ReasonCrashLoop })
		}, "not completed"},
		{"completed against the plan", func(s *sound) {
			s.change(4, func(r *holdfast.Record) { r.State = holdfast.Completed })
		}, "not failed for good"},
		{"the result of another run", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Result = []byte(`{"lease":2}`) })
		}, "has the result"},
		{"a lost run completed the job", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Lease.Number, r.Result = 2, []byte(`{"lease":2}`) })
		}, "recorded as an attempt: true, completed the job: true"},
		{"a claim without a trace", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts = r.Attempts[:1] })
		}, "lease 2 of 3: recorded as an attempt: false"},
		{"an attempt too many", func(s *sound) {
			s.change(3, func(r *holdfast.Record) {
				r.Attempts = []holdfast.Attempt{{LeaseNumber: 2, Reason: store.ReasonNodeLost}}
			})
		}, "above the last one"},
		{"two attempts of one lease", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts = append(r.Attempts, r.Attempts[1]) })
		}, "two attempts have lease 2"},
		{"an error that was not planned", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts[1].Reason = store.ReasonError })
		}, `ended with "error"`},
		{"a snooze that was not planned", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts[1].Reason = store.ReasonSnoozed })
		}, `ended with "snoozed"`},
		{"a reason that there should not be", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts[1].Reason = store.ReasonTimeout })
		}, `ended with "timeout"`},
		{"a lost attempt does not count", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempt = 2 })
		}, "has counted 2 attempts"},
		{"a snooze counts", func(s *sound) {
			s.change(2, func(r *holdfast.Record) { r.Attempt = 2 })
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
		{"an effect without a start", func(s *sound) {
			i := s.find(eventStart, 3, 1)
			s.effects = slices.Delete(s.effects, i, i+1)
		}, "without a start"},
		{"leases that shrink", func(s *sound) {
			i, j := s.find(eventStart, 2, 1), s.find(eventStart, 2, 2)
			s.effects[i], s.effects[j] = s.effects[j], s.effects[i]
		}, "after lease 2 had started (its node was lost: false"},
		{"a killed process that writes on", func(s *sound) { s.slow = nil }, "its node was lost: true, but lived: false"},
		{"a live run that is refused", func(s *sound) {
			e := s.effects[s.find(eventStart, 3, 1)]
			e.Event = eventRefused
			s.effects = append(s.effects, e)
		}, "was refused, which was not lost"},
		{"the effect of the last run is missing", func(s *sound) {
			i := s.find(eventEffect, 1, 3)
			s.effects = slices.Delete(s.effects, i, i+1)
		}, "has 0 effects of the run that finished it"},
		{"the effect twice in one run", func(s *sound) {
			s.effects = append(s.effects, s.effects[s.find(eventEffect, 3, 1)])
		}, "has 2 effects of the run that finished it"},
		{"a second effect that nothing explains", func(s *sound) {
			s.change(1, func(r *holdfast.Record) { r.Attempts[1].Reason = store.ReasonReleased })
		}, "is not explained by its attempt"},
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
