package crashtest

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

var endBites = []bite{
	{noLoss, "an enqueued job is gone", func(s *flowSound) { delete(s.records, s.ids[4]) }, "was enqueued as job 4, and is not there"},
	{noLoss, "a job that ran is gone", func(s *flowSound) { delete(s.records, s.ids[2]) }, "ran and is lost"},
	{noLoss, "a job that wrote is gone", func(s *flowSound) { delete(s.records, s.ids[6]) }, "and is lost"},
	{noLoss, "a fork is gone", func(s *flowSound) { delete(s.records, s.ids[5]) }, "was forked of job"},
	{noLoss, "a child is gone", func(s *flowSound) { delete(s.records, s.ids[2]) }, "child "},
	{noLoss, "a child too many", func(s *flowSound) {
		twin := s.records[s.ids[2]]
		twin.ID = holdfast.NewID()
		s.records[twin.ID] = twin
	}, "child 5 of generation 0 has called 2 children, planned were 1"},
	{noLoss, "a job that is there twice", func(s *flowSound) {
		twin := s.records[s.ids[4]]
		twin.ID = holdfast.NewID()
		s.records[twin.ID] = twin
	}, "was enqueued once, as job 4, and is there 2 times"},
	{noLoss, "the parent of a child is gone", func(s *flowSound) { delete(s.records, s.ids[1]) }, "is a child of job"},
	{noLoss, "the id of another job", func(s *flowSound) {
		s.enqueued[s.ids[3]] = 4
	}, "was enqueued as job 4"},
	{noLoss, "no args", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Args = nil })
	}, "has args"},
	{noLoss, "other args", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Args = []byte(`{"n":4}`) })
	}, "planned were"},
	{noLoss, "another kind", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Kind = "once" })
	}, "is of kind once, planned was errand"},
	{noLoss, "a generation too many", func(s *flowSound) {
		s.change(6, func(r *store.Record) { r.Args = []byte(`{"n":6,"last":1,"gen":2,"ops":[{"do":"row","id":1}]}`) })
	}, "planned were"},
	{noLoss, "a flow that completed too soon", func(s *flowSound) {
		s.change(6, func(r *store.Record) { r.Args = []byte(`{"n":6,"last":1,"ops":[{"do":"row","id":1}]}`) })
	}, "has completed in generation 0, against the plan"},
	{noLoss, "completed against the plan", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.State = store.Completed })
	}, "has completed in generation 0, against the plan"},
	{noLoss, "failed without a plan", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.State, r.Reason = store.Failed, store.ReasonTerminal })
	}, "planned was that it fails: false"},
	{noLoss, "failed for another reason", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Reason = store.ReasonAttemptsExhausted })
	}, "failed with attempts_exhausted"},
	{noLoss, "cancelled by nobody", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.State, r.Reason = store.Cancelled, store.ReasonCancelled })
	}, "and nobody asked for it"},
	{noLoss, "a child that was cancelled by the end of a parent that completed", func(s *flowSound) {
		s.change(2, func(r *store.Record) { r.State, r.Reason = store.Cancelled, store.ReasonCancelled })
	}, "and nobody asked for it"},
	{noLoss, "the result of another run", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.Result = []byte(`{"lease":1}`) })
	}, "not that of lease 2"},
	{noLoss, "an errand that was not done", func(s *flowSound) {
		s.drop(func(e trace) bool { return e.Job == s.ids[2] && e.Event == eventEffect })
	}, "has 0 effects of the run that completed it"},
	{noLoss, "an errand that was done twice", func(s *flowSound) {
		s.traces = append(s.traces, *s.find(2, 1, eventEffect, ""))
	}, "has 2 effects of the run that completed it"},
	{noLoss, "a flow that left something out", func(s *flowSound) {
		s.tear(1, func(e holdfast.JournalEntry) bool { return e.Name == "broken 7" })
	}, "has completed with the steps"},

	{finishedIsFinal, "a job that goes on after its end", func(s *flowSound) {
		s.asks = s.asks[:0]
	}, "was failed under lease 1, went on to lease 2, and nobody asked for it"},
	{finishedIsFinal, "a job that was let go on before it ended", func(s *flowSound) {
		s.asked(4, store.ActionRetry).lease = 2
	}, "was failed under lease 1, went on to lease 2, and nobody asked for it"},
	{finishedIsFinal, "a job that goes on twice", func(s *flowSound) {
		s.change(4, func(r *store.Record) {
			r.LeaseNumber, r.Attempts = 3, append(r.Attempts, tried(4, 3, store.Failed, store.ReasonTerminal))
		})
	}, "went on 2 times after it had finished, for which somebody asked 1 times"},
	{finishedIsFinal, "a journal that grows after the end", func(s *flowSound) {
		s.entry(9, "step", "charge 1", func(e *holdfast.JournalEntry) { e.At = begin.Add(2 * time.Hour) })
	}, "entry 1, step charge 1, was written at"},
}

var askBites = []bite{
	{cancelArrives, "a cancelled job that completed", func(s *flowSound) {
		s.asked(3, store.ActionCancel).answer = store.Cancelled
		s.change(3, func(r *store.Record) { r.State = store.Completed })
	}, "was cancelled by ask 1, and is completed"},
	{cancelArrives, "a cancelled flow that does something new", func(s *flowSound) {
		s.tell(3, 3, eventEffect, "pledge 5", "done")
	}, "did pledge 5 under lease 3, although ask 1 to cancel it came before lease 2 began"},
	{cancelArrives, "a job that ended at once and runs", func(s *flowSound) {
		s.run(9, 2)
	}, "lease 2 began although ask 5 had ended the job under lease 1"},
	{cancelArrives, "a cancelled errand that runs again", func(s *flowSound) {
		s.ask(2, ask{action: store.ActionCancel, was: store.Running, lease: 1}, store.Running)
		s.run(2, 2)
		s.run(2, 3)
	}, "lease 3 began after lease 2, which began after ask 6 to cancel it"},

	{pauseHolds, "a job that is held and runs", func(s *flowSound) {
		a := s.asked(7, store.ActionResume)
		s.asks = slices.DeleteFunc(s.asks, func(b *ask) bool { return a == b })
	}, "lease 1 began, although it was held after lease 0"},
	{pauseHolds, "a job that runs before it is resumed", func(s *flowSound) {
		from := slices.IndexFunc(s.traces, func(e trace) bool { return e.Ask == s.asked(7, store.ActionResume).number })
		start := *s.find(7, 1, eventStart, "")
		s.drop(func(e trace) bool { return e == start })
		s.traces = slices.Insert(s.traces, from, start)
	}, "lease 1 began, although it was held after lease 0"},

	{atMostOnce, "an errand that is tried again", func(s *flowSound) {
		s.run(8, 2)
	}, "ran 2 times, for which there were 1 reasons"},

	{actionsAreRecorded, "a resume that is not on record", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.Actions = nil })
	}, "resume is on record 0 times, and was done 1 to 1 times"},
	{actionsAreRecorded, "a cancel that nobody asked for", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.Actions = append(r.Actions, store.Action{Kind: store.ActionCancel}) })
	}, "cancel is on record 1 times, and was done 0 to 0 times"},
	{actionsAreRecorded, "a fork that is not on record", func(s *flowSound) {
		s.change(5, func(r *store.Record) { r.Actions = nil })
	}, "fork is on record 0 times, and was done 1 to 1 times"},
	{actionsAreRecorded, "a fork that nobody made", func(s *flowSound) {
		s.change(4, func(r *store.Record) { r.Actions = append(r.Actions, store.Action{Kind: store.ActionFork}) })
	}, "fork is on record 1 times, and was done 0 to 0 times"},
}

// asked is what was asked for about a job.
func (s *flowSound) asked(n int, action store.ActionKind) *ask {
	return s.asks[slices.IndexFunc(s.asks, func(a *ask) bool { return a.job == s.ids[n] && a.action == action })]
}

var messageBites = []bite{
	{oncePerKey, "a message that arrived twice", func(s *flowSound) {
		s.deliver(1, holdfast.JournalMessage{Kind: "signal", Name: "note.0", Data: encode(s.t, key{0})})
	}, "key 0 of note.0 arrived twice, as messages 1 and 3"},
	{oncePerKey, "a message that was sent for the first time twice", func(s *flowSound) {
		s.sends[sendTo{s.ids[1], 0, 0}][1].Duplicate = false
	}, "key 0 was sent for the first time 2 times"},
	{oncePerKey, "a message with two numbers", func(s *flowSound) {
		s.sends[sendTo{s.ids[1], 0, 0}][1].Message = 7
	}, "key 0 was sent as message 7, and is message 1 of the inbox"},
	{oncePerKey, "a message that was sent and is gone", func(s *flowSound) {
		s.sends[sendTo{s.ids[1], 0, 1}] = []holdfast.SendResult{{Message: 3}}
	}, "key 1 was sent as message 3, and is message 0 of the inbox"},
	{oncePerKey, "a message that nobody sends", func(s *flowSound) {
		s.deliver(1, holdfast.JournalMessage{Kind: "signal", Name: "never", Data: encode(s.t, key{0})})
	}, "message 3 is never, which nobody sends"},
	{oncePerKey, "a message that says nothing", func(s *flowSound) {
		s.deliver(1, holdfast.JournalMessage{Kind: "signal", Name: "note.0"})
	}, "message 3 says"},
	{oncePerKey, "a message that was received twice", func(s *flowSound) {
		s.write(1, 4, holdfast.JournalEntry{Kind: "received", Path: "11", Message: 1})
	}, "message 1 was received at 5 and at 11"},
	{oncePerKey, "a message that the code was given twice", func(s *flowSound) {
		s.entry(1, "step", "step 8", func(e *holdfast.JournalEntry) { e.Data = []byte(`"key 0"`) })
	}, "signal 4 and step 8 were both given key 0"},
	{oncePerKey, "a message that the code was given, and that was not received", func(s *flowSound) {
		s.entry(1, "step", "signal 4", func(e *holdfast.JournalEntry) { e.Data = []byte(`"key 7"`) })
	}, "was given key 7, which the journal did not receive before it"},

	{childrenAnswer, "an answer that did not arrive", func(s *flowSound) {
		s.forget(1, 2)
	}, "is completed, and has answered 0 times, not 1 to 1 times"},
	{childrenAnswer, "an answer that arrived twice", func(s *flowSound) {
		s.deliver(1, s.journals[s.ids[1]].Messages[1])
	}, "is completed, and has answered 2 times, not 1 to 1 times"},
	{childrenAnswer, "another end than the child's", func(s *flowSound) {
		s.journals[s.ids[1]].Messages[1].State = store.Failed
	}, "was told"},
	{childrenAnswer, "another result than the child's", func(s *flowSound) {
		s.journals[s.ids[1]].Messages[1].Data = []byte(`{"lease":7}`)
	}, "was told"},
	{childrenAnswer, "no result", func(s *flowSound) {
		s.journals[s.ids[1]].Messages[1].Data = nil
	}, "answered \"\""},
	{childrenAnswer, "an answer that the code was given, and that nobody gave", func(s *flowSound) {
		s.entry(1, "step", "child 5", func(e *holdfast.JournalEntry) { e.Data = encode(s.t, answer(s.ids[2], store.Cancelled, 0)) })
	}, "which no child answered"},
	{childrenAnswer, "a child of another parent", func(s *flowSound) {
		s.change(2, func(r *store.Record) { r.Parent = s.ids[3] })
	}, "has parent"},

	{everyDueThing, "a sleep that is too short", func(s *flowSound) {
		s.entry(1, "timer", "", func(e *holdfast.JournalEntry) {
			e.Data = encode(s.t, map[string]time.Time{"until": begin.Add(6 * time.Second)})
		})
	}, "sleep 3, at 4, was done 2s before its time"},
	{everyDueThing, "a sleep without a timer", func(s *flowSound) {
		s.tear(1, func(e holdfast.JournalEntry) bool { return e.Kind == "timer" })
	}, "before its time, which it had: false"},
	{everyDueThing, "a timer that says nothing", func(s *flowSound) {
		s.entry(1, "timer", "", func(e *holdfast.JournalEntry) { e.Data = nil })
	}, "is no timer"},
	{everyDueThing, "a snooze that is too short", func(s *flowSound) {
		s.change(7, func(r *store.Record) { r.ClaimedAt = r.Attempts[0].EndedAt.Add(snoozed - time.Millisecond) })
	}, "lease 2 was given 1ms before its time"},
}

// forget takes a message out of an inbox.
func (s *flowSound) forget(n int, seq int64) {
	j := s.journals[s.ids[n]]
	j.Messages = slices.DeleteFunc(j.Messages, func(m holdfast.JournalMessage) bool { return m.Seq == seq })
	s.journals[j.Job] = j
}

var restBites = []bite{
	{nothingIsStuck, "a job that has not finished", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "signal never"))
		s.ended = true
	}, "has not finished"},
	{nothingIsStuck, "a job that nobody starts", func(s *flowSound) {
		s.open(9, store.Available, nil)
	}, "is available, and due at"},
	{nothingIsStuck, "a job that is retried again and again", func(s *flowSound) {
		s.change(9, func(r *store.Record) { r.LeaseNumber = 100_000 })
	}, "has run 100000 times"},
	{nothingIsStuck, "a lease without anybody who works on it", func(s *flowSound) {
		s.open(9, store.Running, nil)
	}, "is running under lease 1, which its run has left, so that nobody works on it"},
	{nothingIsStuck, "a lease that nobody has begun to work on", func(s *flowSound) {
		s.open(9, store.Running, nil)
		s.change(9, func(r *store.Record) { r.Lease.Number = 2 })
	}, "is running under lease 2, and no run has begun under it"},
	{nothingIsStuck, "a lease of a dead node", func(s *flowSound) {
		s.open(8, store.Running, nil)
	}, "is running under lease 1, of node 81, which is dead"},
	{nothingIsStuck, "a run that does not end", func(s *flowSound) {
		s.open(9, store.Running, nil)
		s.drop(func(e trace) bool { return e.Job == s.ids[9] && e.Event == eventLeave })
	}, "is running under lease 1"},
	{nothingIsStuck, "a job that nobody paused", func(s *flowSound) {
		s.open(9, store.Waiting, &store.WaitInfo{Held: true, Reason: store.ReasonPaused})
	}, "is paused, and nobody asked for it"},
	{nothingIsStuck, "a job that was resumed, and is paused", func(s *flowSound) {
		s.open(7, store.Waiting, &store.WaitInfo{Held: true, Reason: store.ReasonPaused})
	}, "is paused, although it was resumed after ask"},
	{nothingIsStuck, "a job whose code contradicts its journal", func(s *flowSound) {
		s.open(9, store.Waiting, &store.WaitInfo{Held: true, Reason: store.ReasonNondeterminism})
	}, "is held (nondeterminism: )"},
	{nothingIsStuck, "a timer that does not wake", func(s *flowSound) {
		s.open(9, store.Waiting, &store.WaitInfo{Until: begin})
	}, "waits until"},
	{nothingIsStuck, "a signal that has arrived", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "signal note.0"))
		s.deliver(9, holdfast.JournalMessage{Kind: "signal", Name: "note.0", Unread: true, Data: encode(s.t, key{0})})
	}, "waits for signal note.0, which has arrived as message 1"},
	{nothingIsStuck, "a signal that is lost", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "signal note.0"))
	}, "waits for signal note.0, of which no other one comes"},
	{nothingIsStuck, "a child that has answered", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "child "+s.ids[2].String()+" (errand)"))
	}, "which is there: true, and completed"},
	{nothingIsStuck, "a child that is not there", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "child "+holdfast.NewID().String()+" (errand)"))
	}, "which is there: false"},
	{nothingIsStuck, "a child that has no name", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "child of nobody"))
	}, "which names nobody"},
	{nothingIsStuck, "children that have answered", func(s *flowSound) {
		s.open(1, store.Waiting, waitsFor(s.t, "1 of 1 children of kind errand"))
	}, "which have all finished"},
	{nothingIsStuck, "one of several that has come", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "the first of: signal never, child "+s.ids[2].String()+" (errand)"))
	}, "and completed"},
	{nothingIsStuck, "a strand that waits for a strand", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "strand left"))
	}, "waits for nothing"},
	{nothingIsStuck, "a reason that is none", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "better times"))
	}, "which is no reason"},
	{nothingIsStuck, "no reason", func(s *flowSound) {
		s.open(9, store.Waiting, &store.WaitInfo{For: []byte("?")})
	}, `waits for "?"`},
	{nothingIsStuck, "a child that was not ended with its parent", func(s *flowSound) {
		s.open(9, store.Waiting, waitsFor(s.t, "signal never"))
		s.change(9, func(r *store.Record) { r.Parent = s.ids[3] })
	}, "and its parent, job"},
}
