package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// flowSound is a small history of a storm in which everything is as it should be.
//
//	1  a flow: its first run was lost with node 11, which lived, and went on after the second had
//	   begun, and found what that one did; then it slept, received a signal that was sent twice, called job 2, and had two
//	   strands, of which one went on from a failure, as it did itself
//	2  an errand, its child
//	3  a flow that made three charges, one of them in a strand, was cancelled while it waited for
//	   the signal of a pledge, which came too late, and took the charges back
//	4  an errand that failed, was retried by somebody, and failed again
//	5  a fork of job 1 from its row on
//	6  a flow that continued as new
//	7  an errand that was held, resumed, and snoozed
//	8  an errand that is tried once, and was lost with its node
//	9  a flow that was terminated
//	11 a flow that says where it is, was lost with its node once, and handled requests
//	12 an errand that has a business key, and says where it is
//	13 an errand that got the same key after it
//	14 a flow with another key
type flowSound struct {
	flowHistory
	t   *testing.T
	ids map[int]holdfast.ID
}

func newFlowSound(t *testing.T) *flowSound {
	t.Helper()
	s := &flowSound{t: t, ids: map[int]holdfast.ID{}}
	s.plan = map[int]task{
		1: {N: 1, Ops: []op{
			{Do: opStep, ID: 1},
			{Do: opRow, ID: 2},
			{Do: opSleep, ID: 3},
			{Do: opSignal, ID: 4},
			{Do: opChild, ID: 5, Count: 1, Child: &task{N: 2}},
			{Do: opStrands, ID: 6, Left: []op{{Do: opBroken, ID: 7}}, Right: []op{{Do: opStep, ID: 8}}},
			{Do: opBroken, ID: 9},
		}},
		2: {N: 2},
		3: {N: 3, Ops: []op{
			{Do: opCharge, ID: 1},
			{Do: opCharge, ID: 2},
			{Do: opStrands, ID: 3, Left: []op{{Do: opCharge, ID: 4}}},
			{Do: opPledge, ID: 5},
		}},
		4: {N: 4, Fatal: true},
		6: {N: 6, Last: 1, Ops: []op{{Do: opRow, ID: 1}}},
		7: {N: 7, Snoozes: 1},
		8: {N: 8, Once: true},
		9: {N: 9, Ops: []op{{Do: opCharge, ID: 1}, {Do: opStep, ID: 2}}},
		11: {N: 11, Talks: true, Listens: true, Ops: []op{
			{Do: opStep, ID: 1, Says: true, Within: true}, {Do: opSignal, ID: 2}, {Do: opCharge, ID: 3, Says: true},
		}},
		12: {N: 12, Talks: true},
		13: {N: 13},
		14: {N: 14, Ops: []op{{Do: opStep, ID: 1}}},
	}
	s.enqueued, s.forks = map[holdfast.ID]int{}, map[holdfast.ID]fork{}
	s.sends, s.journals = map[sendTo][]holdfast.SendResult{}, map[holdfast.ID]holdfast.Journal{}
	s.replies, s.lastReplies = map[asking][]reply{}, map[asking]reply{}
	s.records, s.deaths = map[holdfast.ID]store.Record{}, map[int64]death{}
	s.rules, s.ended = rules{dead: 2 * time.Second}, true
	for _, build := range []func(){s.lostAndFound, s.cancelled, s.errands, s.forked, s.continued, s.terminated, s.talked, s.paidFor} {
		build()
	}
	return s
}

// add adds a job that has finished, under its last lease.
func (s *flowSound) add(n int, t task, state store.State, reason store.Reason, lease int64, attempts ...store.Attempt) {
	r := store.Record{State: state, Reason: reason, FinishedAt: begin.Add(time.Hour), Attempts: attempts}
	s.ids[n] = holdfast.NewID()
	r.ID, r.Kind, r.Args, r.LeaseNumber, r.CreatedAt = s.ids[n], t.kind().Name(), encode(s.t, t), lease, begin
	r.ClaimedAt, r.Lease = claimed(lease), store.Lease{Number: lease, Node: node(n, lease)}
	if state == store.Completed {
		r.Result = encode(s.t, done{lease})
	}
	s.records[r.ID] = r
	s.journals[r.ID] = holdfast.Journal{Job: r.ID}
}

func (s *flowSound) enqueue(n int, state store.State, reason store.Reason, lease int64, attempts ...store.Attempt) {
	s.add(n, s.plan[n], state, reason, lease, attempts...)
	s.enqueued[s.ids[n]] = n
}

// node is the node that gave a lease of a job: each has one of its own.
func node(n int, lease int64) int64 { return int64(10*n) + lease }

// tried is an attempt under a lease.
func tried(n int, lease int64, outcome store.State, reason store.Reason) store.Attempt {
	a := attempted(lease, 1, outcome, reason)
	a.Node = node(n, lease)
	return a
}

// tell adds a record to the file. The step says what was done and with what result, as "charge 1:
// charged".
func (s *flowSound) tell(n int, lease int64, event, step, value string) {
	var t task
	if err := json.Unmarshal(s.records[s.ids[n]].Args, &t); err != nil {
		s.t.Fatal(err)
	}
	s.traces = append(s.traces, trace{
		Event: event, Job: s.ids[n], N: t.N, Lease: lease, Attempt: 1, Node: node(n, lease), By: fmt.Sprintf("w%d.1", lease),
		Step: step, Value: value,
	})
}

// run tells of a run that does some steps and leaves.
func (s *flowSound) run(n int, lease int64, did ...string) {
	s.tell(n, lease, eventStart, "", "")
	for _, step := range did {
		s.tell(n, lease, eventEffect, step, "done")
		if step != "" {
			s.tell(n, lease, eventRemembered, step, "done")
		}
	}
	s.tell(n, lease, eventLeave, "", "")
}

// write adds entries to a journal, written under a lease, one a second.
func (s *flowSound) write(n int, lease int64, entries ...holdfast.JournalEntry) {
	j := s.journals[s.ids[n]]
	for _, e := range entries {
		e.Seq, e.Lease = int64(len(j.Entries))+1, lease
		e.At = begin.Add(time.Duration(e.Seq) * time.Second)
		if e.Kind == "step" && e.Data == nil {
			e.Data = encode(s.t, "done")
		}
		j.Entries = append(j.Entries, e)
	}
	s.journals[j.Job] = j
}

func entryOf(kind, path, name string) holdfast.JournalEntry {
	return holdfast.JournalEntry{Kind: kind, Path: path, Name: name}
}

// ask adds what an operator asked for, and what came of it.
func (s *flowSound) ask(n int, a ask, answer store.State) {
	a.number, a.job, a.answer, a.accepted = len(s.asks)+1, s.ids[n], answer, true
	s.asks = append(s.asks, &a)
	for _, event := range []string{eventAsk, eventAnswer} {
		s.traces = append(s.traces, trace{Event: event, Job: a.job, Ask: a.number})
	}
	r := s.records[a.job]
	r.Actions = append(r.Actions, store.Action{Kind: a.action})
	s.records[a.job] = r
}

func (s *flowSound) lostAndFound() {
	s.enqueue(1, store.Completed, "", 4, tried(1, 1, store.Retryable, store.ReasonNodeLost))
	s.deaths[node(1, 1)] = death{name: "w1.1", slow: true, at: begin.Add(11 * time.Second), silence: 2 * time.Second}
	s.add(2, s.plan[2], store.Completed, "", 1)
	s.change(2, func(r *store.Record) { r.Parent, r.Answers = s.ids[1], true })
	id := s.ids[1]

	s.tell(1, 1, eventStart, "", "")
	s.tell(1, 2, eventStart, "", "")
	s.tell(1, 1, eventEffect, "step 1", "done")
	s.tell(1, 2, eventEffect, "step 1", "done")
	s.tell(1, 2, eventRemembered, "step 1", "done")
	s.tell(1, 1, eventRemembered, "step 1", "done") // as it found it in the journal
	s.tell(1, 2, eventEffect, "row 2", "done")
	s.tell(1, 2, eventLeave, "", "")
	s.run(1, 3, "sleep 3", "signal 4")
	s.run(2, 1, "")
	s.tell(1, 4, eventStart, "", "")
	for _, step := range []string{"child 5", "broken 7", "step 8", "broken 9"} {
		s.tell(1, 4, eventEffect, step, "done")
	}
	s.tell(1, 4, eventLeave, "", "")
	s.said(1, 3, "signal 4", "key 0")
	s.said(1, 4, "child 5", answer(s.ids[2], store.Completed, 1))

	s.write(1, 2, entryOf("step", "1", "step 1"), entryOf("step", "2", "row 2"),
		holdfast.JournalEntry{Kind: "timer", Path: "3", Data: encode(s.t, map[string]time.Time{"until": begin.Add(4 * time.Second)})})
	s.write(1, 3, entryOf("step", "4", "sleep 3"),
		holdfast.JournalEntry{Kind: "received", Path: "5", Name: "note.0", Message: 1},
		holdfast.JournalEntry{Kind: "step", Path: "6", Name: "signal 4", Data: encode(s.t, "key 0")},
		holdfast.JournalEntry{Kind: "child", Path: "7", Name: "errand", Data: encode(s.t, map[string]holdfast.ID{"id": s.ids[2]})})
	s.write(1, 4,
		holdfast.JournalEntry{Kind: "step", Path: "8", Name: "child 5", Data: encode(s.t, answer(s.ids[2], store.Completed, 1))},
		entryOf("step failed", "9.1", "broken 7"), entryOf("step", "10.1", "step 8"), entryOf("step failed", "11", "broken 9"))
	s.deliver(1,
		holdfast.JournalMessage{Kind: "signal", Name: "note.0", Data: encode(s.t, key{0})},
		holdfast.JournalMessage{Kind: "child", From: s.ids[2], State: store.Completed, Data: encode(s.t, done{1})})
	s.sends[sendTo{id, 0, 0}] = []holdfast.SendResult{{Message: 1}, {Message: 1, Duplicate: true}}
	s.rows = append(s.rows, row{job: id, step: "row 2", lease: 2})
}

// said changes the result of a step, where it was done and where it was remembered.
func (s *flowSound) said(n int, lease int64, step, value string) {
	for i := range s.traces {
		if e := &s.traces[i]; e.Job == s.ids[n] && e.Lease == lease && e.Step == step {
			e.Value = value
		}
	}
}

func (s *flowSound) deliver(n int, messages ...holdfast.JournalMessage) {
	j := s.journals[s.ids[n]]
	for _, m := range messages {
		m.Seq = int64(len(j.Messages)) + 1
		j.Messages = append(j.Messages, m)
	}
	s.journals[j.Job] = j
}

func (s *flowSound) cancelled() {
	s.enqueue(3, store.Cancelled, store.ReasonCancelled, 3, tried(3, 3, store.Cancelled, store.ReasonCancelled))
	s.run(3, 1, "charge 1", "charge 2", "charge 4")
	s.ask(3, ask{action: store.ActionCancel, was: store.Waiting, lease: 1}, store.Available)
	s.tell(3, 2, eventStart, "", "")
	s.tell(3, 2, eventLeave, "", "")
	s.tell(3, 2, eventEffect, "undo charge 4", "done")
	s.tell(3, 2, eventRemembered, "undo charge 4", "done")
	s.run(3, 3, "undo charge 2", "undo charge 1")
	s.write(3, 1, entryOf("step", "1", "charge 1"), entryOf("step", "2", "charge 2"), entryOf("step", "3.1", "charge 4"))
	s.write(3, 2, entryOf("closing", "~", ""),
		entryOf("step", "~3/1.1", "undo charge 4"), entryOf("compensated", "~3/1", "undo charge 4"))
	s.write(3, 3, entryOf("step", "~2.1", "undo charge 2"), entryOf("compensated", "~2", "undo charge 2"),
		holdfast.JournalEntry{Kind: "received", Path: "5", Name: "note.0", Message: 1},
		entryOf("step", "~1.1", "undo charge 1"), entryOf("compensated", "~1", "undo charge 1"))
	s.deliver(3, holdfast.JournalMessage{Kind: "signal", Name: "note.0", Data: encode(s.t, key{0})})
}

func (s *flowSound) errands() {
	s.enqueue(4, store.Failed, store.ReasonTerminal, 2,
		tried(4, 1, store.Failed, store.ReasonTerminal), tried(4, 2, store.Failed, store.ReasonTerminal))
	s.run(4, 1, "")
	s.ask(4, ask{action: store.ActionRetry, was: store.Failed, lease: 1}, store.Available)
	s.run(4, 2, "")

	s.enqueue(7, store.Completed, "", 2, tried(7, 1, store.Scheduled, store.ReasonSnoozed))
	s.ask(7, ask{action: store.ActionPause, was: store.Available, held: true}, store.Waiting)
	s.ask(7, ask{action: store.ActionResume, was: store.Waiting}, store.Available)
	s.run(7, 1, "")
	s.run(7, 2, "")

	s.enqueue(8, store.Failed, store.ReasonCrashLoop, 1, tried(8, 1, store.Failed, store.ReasonCrashLoop))
	s.deaths[node(8, 1)] = death{name: "w8.1", at: begin.Add(10 * time.Second), silence: 3 * time.Second}
	s.tell(8, 1, eventStart, "", "")
}

func (s *flowSound) forked() {
	s.add(5, s.plan[1], store.Completed, "", 1)
	s.forks[s.ids[5]] = fork{of: s.ids[1], from: "row 2", sure: true}
	s.change(5, func(r *store.Record) { r.Actions = []store.Action{{Kind: store.ActionFork}} })
	s.add(10, task{N: 2}, store.Completed, "", 1)
	s.change(10, func(r *store.Record) { r.Parent, r.Answers = s.ids[5], true })
	s.run(10, 1, "")
	s.run(5, 1, "row 2", "sleep 3", "signal 4", "child 5", "broken 7", "step 8", "broken 9")
	s.said(5, 1, "signal 4", "key 0")
	s.said(5, 1, "child 5", answer(s.ids[10], store.Completed, 1))
	s.drop(func(e trace) bool { return e.Event == eventRemembered && strings.HasPrefix(e.Step, string(opBroken)) })

	old := s.journals[s.ids[1]].Entries
	s.write(5, 0, old[0])
	for _, e := range old[1:] {
		switch e.Name {
		case "errand":
			e.Data = encode(s.t, map[string]holdfast.ID{"id": s.ids[10]})
		case "child 5":
			e.Data = encode(s.t, answer(s.ids[10], store.Completed, 1))
		}
		s.write(5, 1, e)
	}
	s.deliver(5,
		holdfast.JournalMessage{Kind: "signal", Name: "note.0", Data: encode(s.t, key{0})},
		holdfast.JournalMessage{Kind: "child", From: s.ids[10], State: store.Completed, Data: encode(s.t, done{1})})
	s.rows = append(s.rows, row{job: s.ids[5], step: "row 2", lease: 1})
}

func (s *flowSound) continued() {
	again := s.plan[6]
	again.Gen = 1
	s.add(6, again, store.Completed, "", 2)
	s.enqueued[s.ids[6]] = 6
	s.run(6, 1, "row 1")
	from := len(s.traces)
	s.run(6, 2, "row 1")
	for i := range s.traces[from:] {
		s.traces[from+i].Gen = 1
	}
	s.write(6, 1, entryOf("continued", "", ""))
	s.write(6, 2, entryOf("step", "1", "row 1"))
	s.rows = append(s.rows, row{job: s.ids[6], step: "row 1", lease: 1}, row{job: s.ids[6], gen: 1, step: "row 1", lease: 2})
}

func (s *flowSound) terminated() {
	s.enqueue(9, store.Cancelled, store.ReasonTerminated, 1, tried(9, 1, store.Cancelled, store.ReasonTerminated))
	s.run(9, 1, "charge 1")
	s.write(9, 1, entryOf("step", "1", "charge 1"))
	s.ask(9, ask{action: store.ActionTerminate, was: store.Running, lease: 1, held: true, heldLease: 1}, store.Cancelled)
}

// change changes a job's record.
func (s *flowSound) change(n int, change func(r *store.Record)) {
	r := s.records[s.ids[n]]
	r.Attempts, r.Actions = slices.Clone(r.Attempts), slices.Clone(r.Actions)
	change(&r)
	s.records[r.ID] = r
}

// entry changes the entry of a name and kind in a journal.
func (s *flowSound) entry(n int, kind, name string, change func(e *holdfast.JournalEntry)) {
	entries := s.journals[s.ids[n]].Entries
	i := slices.IndexFunc(entries, func(e holdfast.JournalEntry) bool { return e.Kind == kind && e.Name == name })
	change(&entries[i])
}

// tear takes entries out of a journal, and numbers the others again.
func (s *flowSound) tear(n int, which func(e holdfast.JournalEntry) bool) {
	j := s.journals[s.ids[n]]
	j.Entries = slices.DeleteFunc(j.Entries, which)
	for i := range j.Entries {
		j.Entries[i].Seq = int64(i) + 1
	}
	s.journals[j.Job] = j
}

// drop takes records out of the file.
func (s *flowSound) drop(which func(e trace) bool) { s.traces = slices.DeleteFunc(s.traces, which) }

// find is a record of the file.
func (s *flowSound) find(n int, lease int64, event, step string) *trace {
	i := slices.IndexFunc(s.traces, func(e trace) bool {
		return e.Job == s.ids[n] && e.Lease == lease && e.Event == event && e.Step == step
	})
	return &s.traces[i]
}

// open makes a job one that has not finished.
func (s *flowSound) open(n int, state store.State, wait *store.WaitInfo) {
	s.ended = false
	s.change(n, func(r *store.Record) {
		r.State, r.Reason, r.FinishedAt, r.Wait = state, "", time.Time{}, wait
	})
}

// waitsFor is what a job says that waits for something.
func waitsFor(t *testing.T, what ...string) *store.WaitInfo {
	t.Helper()
	return &store.WaitInfo{For: encode(t, map[string][]string{"waits_for": what})}
}
