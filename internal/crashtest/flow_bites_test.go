package crashtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
)

// bite is a violation that is planted, and what is to be found of it.
type bite struct {
	rule   string
	name   string
	damage func(s *flowSound)
	want   string
}

// TestVerifyFlowsBites shows that each thing that verifyFlows looks at can be wrong: it accepts a
// sound history, and names the rule that any one change breaks. No rule is without a change that
// breaks it.
func TestVerifyFlowsBites(t *testing.T) {
	t.Parallel()
	racing.Off(t) // it has one goroutine
	if violations, figures := verifyFlows(newFlowSound(t).flowHistory); len(violations) > 0 {
		t.Fatalf("a sound history is refused: %v; %v", violations, &figures)
	}
	bitten := map[string]bool{}
	for _, test := range slices.Concat(ownerBites, memoryBites, endBites, askBites, messageBites, restBites, wordBites, replyBites, keyBites) {
		bitten[test.rule] = true
		t.Run(test.rule+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			s := newFlowSound(t)
			test.damage(s)
			violations, _ := verifyFlows(s.flowHistory)
			if !slices.ContainsFunc(violations, func(v violation) bool {
				return v.rule == test.rule && strings.Contains(v.text, test.want)
			}) {
				t.Errorf("%v do not tell that %s: %s", violations, test.rule, test.want)
			}
		})
	}
	for _, rule := range flowRules {
		if !bitten[rule] {
			t.Errorf("nothing shows that %s can be broken", rule)
		}
	}
}

// TestVerifyFlowsAccepts holds what once was taken for a violation, and is none.
func TestVerifyFlowsAccepts(t *testing.T) {
	t.Parallel()
	racing.Off(t) // it has one goroutine
	for name, happened := range map[string]func(s *flowSound){
		"a child that was retried after it had answered, when its parent completed": func(s *flowSound) {
			s.change(4, func(r *store.Record) {
				r.Parent, r.Answers, r.State, r.Reason = s.ids[1], true, store.Cancelled, store.ReasonCancelled
				r.Attempts[1] = tried(4, 2, store.Cancelled, store.ReasonCancelled)
			})
			delete(s.enqueued, s.ids[4])
			s.drop(func(e trace) bool { return e.Job == s.ids[4] && e.Lease == 2 && e.Event == eventLeave })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFlowSound(t)
			happened(s)
			if violations, _ := verifyFlows(s.flowHistory); len(violations) > 0 {
				t.Error(violations)
			}
		})
	}
}

var ownerBites = []bite{
	{oneOwner, "a lease that is given twice", func(s *flowSound) {
		s.tell(3, 1, eventStart, "", "")
	}, "lease 1 started twice"},
	{oneOwner, "a run that does something before it begins", func(s *flowSound) {
		s.drop(func(e trace) bool { return e.Job == s.ids[2] && e.Event == eventStart })
	}, "lease 1: effect without a start"},
	{oneOwner, "a run that goes on elsewhere", func(s *flowSound) {
		s.find(2, 1, eventEffect, "").By = "w9.9"
	}, "is not of the run that began as"},
	{oneOwner, "a lease that was never given", func(s *flowSound) {
		s.tell(2, 2, eventStart, "", "")
	}, "start under lease 2, above the last one, 1"},
	{oneOwner, "a lease on another node", func(s *flowSound) {
		s.change(1, func(r *store.Record) { r.Attempts[0].Node = 12 })
	}, "on record is node 12"},
	{oneOwner, "the last lease on another node", func(s *flowSound) {
		s.change(2, func(r *store.Record) { r.Lease.Node = 99 })
	}, "whose it is says node 99"},
	{oneOwner, "two runs at once", func(s *flowSound) {
		s.tell(3, 1, eventEffect, "charge 2", "done")
	}, "effect charge 2 under lease 1 after lease 3 had started"},
	{oneOwner, "a run that was lost with a process that was killed, and goes on", func(s *flowSound) {
		s.bury(11, func(d *death) { d.slow = false })
	}, "effect step 1 under lease 1 after lease 2 had started"},
	{oneOwner, "a job that was taken from a node that lives", func(s *flowSound) {
		delete(s.deaths, 11)
	}, "lease 1 was lost with node 11, which was not dead"},
	{oneOwner, "a job that was taken from a node before it was dead", func(s *flowSound) {
		s.bury(11, func(d *death) { d.at = d.at.Add(time.Minute) })
	}, "lease 1 was lost with node 11, which was not dead"},
	{oneOwner, "a node that beats and is declared dead", func(s *flowSound) {
		s.bury(11, func(d *death) { d.silence = time.Second })
	}, "was declared dead after a silence of 1s"},
	{oneOwner, "two attempts of one lease", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Attempts[1].LeaseNumber = 1 })
	}, "two attempts have lease 1"},
	{oneOwner, "an attempt too many", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.LeaseNumber = 1 })
	}, "an attempt has lease 2, above the last one, 1"},
	{oneOwner, "an errand's claim without a trace", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.Attempts = nil })
	}, "lease 1 of 2: recorded as an attempt: false"},
	{oneOwner, "a write that was accepted under a stale lease", func(s *flowSound) {
		s.entry(1, "step", "sleep 3", func(e *holdfast.JournalEntry) { e.Lease = 1 })
	}, "entry 4, step sleep 3, was written under lease 1, after one of lease 2"},
	{oneOwner, "a write under a lease that nobody had", func(s *flowSound) {
		s.drop(func(e trace) bool { return e.Job == s.ids[9] && e.Lease == 1 })
	}, "was written under lease 1, whose run never began"},
	{oneOwner, "a write without a lease", func(s *flowSound) {
		s.entry(1, "step", "step 1", func(e *holdfast.JournalEntry) { e.Lease = 0 })
	}, "was written without a lease"},
	{oneOwner, "a gap in a journal", func(s *flowSound) {
		s.entry(1, "step", "sleep 3", func(e *holdfast.JournalEntry) { e.Seq = 9 })
	}, "entry 4 of the journal has number 9"},
	{oneOwner, "a journal without its beginning", func(s *flowSound) {
		entries := s.journals[s.ids[1]].Entries
		for i := range entries {
			entries[i].Seq++
		}
	}, "entry 1 of the journal has number 2"},
}

var memoryBites = []bite{
	{remembered, "a step that runs again in a later run", func(s *flowSound) {
		s.tell(1, 4, eventEffect, "sleep 3", "done")
	}, "sleep 3 of generation 0 ran again under lease 4"},
	{remembered, "a step that runs again in the same run", func(s *flowSound) {
		s.tell(1, 4, eventRemembered, "step 8", "done")
		s.tell(1, 4, eventEffect, "step 8", "done")
	}, "step 8 of generation 0 ran again under lease 4"},
	{remembered, "a compensation that runs again", func(s *flowSound) {
		s.tell(3, 3, eventEffect, "undo charge 4", "done")
	}, "undo charge 4 of generation 0 ran again under lease 3"},
	{remembered, "a step that the journal had, and that runs again", func(s *flowSound) {
		s.tell(1, 3, eventEffect, "row 2", "done")
	}, "row 2 ran under lease 3, although lease 2 had left it in the journal"},
	{remembered, "a failure that the journal had, and that happens again", func(s *flowSound) {
		s.entry(1, "step failed", "broken 7", func(e *holdfast.JournalEntry) { e.Lease = 3 })
	}, "broken 7 ran under lease 4, although lease 3 had left it in the journal"},
	{remembered, "a step that a fork was given, and that runs again", func(s *flowSound) {
		s.tell(5, 1, eventEffect, "step 1", "done")
	}, "step 1 ran under lease 1, although lease 0 had left it in the journal"},
	{remembered, "a step that a fork was given, and that was not done", func(s *flowSound) {
		s.drop(func(e trace) bool { return e.Step == "step 1" && e.Job == s.ids[1] })
	}, "was given that step 1 was done"},
	{remembered, "a step that a fork was given of another generation", func(s *flowSound) {
		s.find(1, 1, eventEffect, "step 1").Gen = 1
		s.find(1, 2, eventEffect, "step 1").Gen = 1
	}, "was given that step 1 was done"},
	{remembered, "a step that was remembered and is gone", func(s *flowSound) {
		s.tear(1, func(e holdfast.JournalEntry) bool { return e.Name == "step 1" })
	}, "step 1 was remembered under lease 2, and is not in the journal"},
	{remembered, "a step that is remembered and was not done", func(s *flowSound) {
		s.drop(func(e trace) bool { return e.Event == eventEffect && e.Step == "sleep 3" && e.Job == s.ids[1] })
	}, "the journal says that sleep 3 was done under lease 3"},
	{remembered, "another result than that of the function", func(s *flowSound) {
		s.entry(1, "step", "sleep 3", func(e *holdfast.JournalEntry) { e.Data = []byte(`"undone"`) })
	}, "the journal says that sleep 3 was done under lease 3, with \"undone\""},
	{remembered, "another result in a later run", func(s *flowSound) {
		s.tell(1, 4, eventRemembered, "step 1", "something else")
	}, `step 1 was "done" under lease 2, and "something else" under lease 4`},
	{remembered, "a step that is in the journal twice", func(s *flowSound) {
		s.write(1, 4, entryOf("step", "11", "step 1"))
	}, "step 1 is in the journal twice"},

	{exactlyOnce, "a row that is there twice", func(s *flowSound) {
		s.rows = append(s.rows, s.rows[0])
	}, "row 2 of generation 0 has written 2 rows"},
	{exactlyOnce, "a row that is missing", func(s *flowSound) {
		s.rows = s.rows[1:]
	}, "row 2 is in the journal, under lease 2, and has written no row"},
	{exactlyOnce, "a row without its step", func(s *flowSound) {
		s.tear(1, func(e holdfast.JournalEntry) bool { return e.Name == "row 2" })
	}, "row 2 has written"},
	{exactlyOnce, "a row of another run than its step", func(s *flowSound) { s.rows[0].lease = 1 }, "row 2 has written"},
	{exactlyOnce, "a row of an earlier generation that is missing", func(s *flowSound) {
		s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.job == s.ids[6] && r.gen == 0 })
	}, "row 1 of generation 0, which is over, has written no row"},

	{undone, "what was done is not undone", func(s *flowSound) {
		s.tear(3, func(e holdfast.JournalEntry) bool { return e.Name == "undo charge 2" })
	}, "has not done undo charge 2"},
	{undone, "what was not done is undone", func(s *flowSound) {
		s.tear(3, func(e holdfast.JournalEntry) bool { return e.Name == "charge 2" })
	}, "undo charge 2, entry 7, undoes what the journal does not say was done"},
	{undone, "a pledge is not undone", func(s *flowSound) {
		s.tear(3, func(e holdfast.JournalEntry) bool { return e.Kind == "closing" || e.Kind == "received" })
		s.write(3, 3, holdfast.JournalEntry{Kind: "received", Path: "5", Name: "note.0", Message: 1})
	}, "has not done undo pledge 5"},
	{undone, "a pledge is undone that came too late", func(s *flowSound) {
		s.write(3, 3, entryOf("compensated", "~3", "undo pledge 5"))
	}, "undo pledge 5, entry 12, undoes what the journal does not say was done"},
	{undone, "it is undone in the order in which it was done", func(s *flowSound) {
		s.entry(3, "compensated", "undo charge 1", func(e *holdfast.JournalEntry) { e.Path = "~2" })
		s.entry(3, "compensated", "undo charge 2", func(e *holdfast.JournalEntry) { e.Path = "~1" })
	}, "undo charge 1, at ~2, was done after ~1"},
	{undone, "it is undone twice", func(s *flowSound) {
		s.write(3, 3, entryOf("compensated", "~1", "undo charge 1"))
	}, "undo charge 1 was done twice"},
	{undone, "it is undone before the end is decided", func(s *flowSound) {
		s.tear(3, func(e holdfast.JournalEntry) bool { return e.Kind == "closing" })
	}, "compensates before the end was decided"},
	{undone, "the end is decided twice", func(s *flowSound) {
		s.write(3, 3, entryOf("closing", "~", ""))
	}, "both decide its end"},
	{undone, "something is done after the end is decided", func(s *flowSound) {
		s.write(3, 3, entryOf("step", "6", "pledge 5"))
	}, "pledge 5, was written after its end was decided"},
	{undone, "what has completed is undone", func(s *flowSound) {
		s.change(3, func(r *store.Record) { r.State = store.Completed })
	}, "has completed, and has compensated"},
	{undone, "what was undone goes on", func(s *flowSound) {
		s.tell(3, 3, eventEffect, "pledge 5", "done")
	}, "undo charge 4 was done under lease 2, and pledge 5 under lease 3"},
	{undone, "what was undone completes", func(s *flowSound) {
		s.change(3, func(r *store.Record) { r.State = store.Completed })
	}, "was done under lease 2, and the run has completed"},
}

// bury changes the death of a node.
func (s *flowSound) bury(node int64, change func(d *death)) {
	d := s.deaths[node]
	change(&d)
	s.deaths[node] = d
}
