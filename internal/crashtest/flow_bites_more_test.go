package crashtest

import (
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

var wordBites = []bite{
	{saidIsStored, "the metadata of one run and the tag of another one", func(s *flowSound) {
		s.change(11, func(r *store.Record) { r.Tags = []string{"the end of 0 by 1"} })
	}, "has the metadata"},
	{saidIsStored, "the metadata alone", func(s *flowSound) {
		s.change(12, func(r *store.Record) { r.Tags = nil })
	}, "has the metadata"},
	{saidIsStored, "what was said is lost", func(s *flowSound) {
		s.change(11, func(r *store.Record) { r.Metadata, r.Tags = nil, nil })
	}, "says nothing"},
	{saidIsStored, "what an errand has stored with a checkpoint is lost", func(s *flowSound) {
		s.change(12, func(r *store.Record) { r.Metadata, r.Tags = nil, nil })
	}, "says nothing"},
	{saidIsStored, "the end is lost", func(s *flowSound) {
		s.speak(11, words{Job: s.ids[11], At: "charge 3", Lease: 2})
	}, `says "charge 3 of 0 by 2", and has completed under lease 2`},
	{saidIsStored, "the end of an errand is lost", func(s *flowSound) {
		s.speak(12, words{Job: s.ids[12], At: theBeginning, Lease: 1})
	}, "and has completed under lease 1"},
	{saidIsStored, "what a run said that had lost its lease", func(s *flowSound) {
		s.terminate(11)
		s.speak(11, words{Job: s.ids[11], At: "charge 3", Lease: 1})
	}, `says "charge 3 of 0 by 1", and the journal has stored it under lease 2`},
	{saidIsStored, "the end, of a run that had lost its lease", func(s *flowSound) {
		s.terminate(11)
		s.tell(11, 1, eventSays, theEnd, "")
		s.speak(11, words{Job: s.ids[11], At: theEnd, Lease: 1})
	}, `says "the end of 0 by 1", and the journal has stored {charge 3`},
	{saidIsStored, "something that was said earlier", func(s *flowSound) {
		s.terminate(11)
		s.speak(11, words{Job: s.ids[11], At: "step 1", Lease: 1})
	}, "which comes later"},
	{saidIsStored, "something that nobody said", func(s *flowSound) {
		s.speak(11, words{Job: s.ids[11], At: "charge 3", Lease: 3})
	}, "which no run of it has said"},
	{saidIsStored, "another generation", func(s *flowSound) {
		s.terminate(11)
		s.find(11, 2, eventSays, theEnd).Gen = 1
		s.speak(11, words{Job: s.ids[11], At: theEnd, Lease: 2, Gen: 1})
	}, "in generation 0"},
	{saidIsStored, "what another job said", func(s *flowSound) {
		s.speak(11, words{Job: s.ids[12], At: theEnd, Lease: 1})
	}, "says what job"},
	{saidIsStored, "what an errand said before its last checkpoint", func(s *flowSound) {
		s.terminate(12)
		s.again(12)
		s.tell(12, 2, eventKept, theBeginning, "")
	}, "and lease 2 has stored its checkpoint"},
	{saidIsStored, "what an errand said before its last run ended", func(s *flowSound) {
		s.terminate(12)
		s.again(12)
		s.change(12, func(r *store.Record) {
			r.Attempts = append(r.Attempts, tried(12, 2, store.Retryable, store.ReasonError))
		})
		s.tell(12, 2, eventSays, theEnd, "")
	}, `and lease 2, which said the end, ended with "error"`},
	{saidIsStored, "something that was said earlier, meanwhile", func(s *flowSound) {
		s.seen[s.ids[11]][1].At = within("step 1")
		s.seen[s.ids[11]][2].At = "step 1"
	}, `said "within step 1 of 0 by 1", and "step 1 of 0 by 2" after that`},
	{saidIsStored, "what a run said that had lost its lease, meanwhile", func(s *flowSound) {
		s.seen[s.ids[11]][0].Lease = 2
	}, `and "charge 3 of 0 by 1" after that`},
	{saidIsStored, "what the journal had stored is lost, meanwhile", func(s *flowSound) {
		s.looks[s.ids[11]][0].told = append(s.looks[s.ids[11]][0].told, stored{"within charge 3", 5, 2})
	}, "which comes later"},
	{saidIsStored, "all is lost, meanwhile", func(s *flowSound) {
		s.looks[s.ids[11]][0].words = words{}
	}, "and the journal had stored [{step 1"},
}

// terminate makes a job one that was terminated.
func (s *flowSound) terminate(n int) {
	s.change(n, func(r *store.Record) { r.State, r.Reason = store.Cancelled, store.ReasonTerminated })
}

// again gives a job another run.
func (s *flowSound) again(n int) {
	s.change(n, func(r *store.Record) { r.LeaseNumber, r.Lease.Number, r.Lease.Node = 2, 2, node(n, 2) })
	s.tell(n, 2, eventStart, "", "")
}

var replyBites = []bite{
	{oneReply, "two answers", func(s *flowSound) {
		s.tell(11, 2, eventEffect, "reply 0", "reply 0 by lease 2")
		s.replies[asking{s.ids[11], 0}][1].text = "reply 0 by lease 2"
	}, "request 0 was answered with"},
	{oneReply, "another answer when the job has ended", func(s *flowSound) {
		s.lastReplies[asking{s.ids[11], 0}] = reply{gone: true}
	}, "request 0 was answered with"},
	{oneReply, "an answer that is no more an error", func(s *flowSound) {
		s.lastReplies[asking{s.ids[11], 2}] = reply{text: "reply 2 by lease 1"}
	}, "request 2 was answered with"},
	{oneReply, "an answer that nobody gave", func(s *flowSound) {
		to := asking{s.ids[11], 0}
		s.replies[to], s.lastReplies[to] = nil, reply{text: "reply 0 by lease 3"}
	}, "which no run has done"},
	{oneReply, "an answer that the journal does not have", func(s *flowSound) {
		s.entry(11, "step", "reply 0", func(e *holdfast.JournalEntry) { e.Data = encode(s.t, "reply 0 by lease 2") })
	}, "and the journal has"},
	{oneReply, "an error that is none", func(s *flowSound) {
		to := asking{s.ids[11], 2}
		s.replies[to][0].failed, s.lastReplies[to] = false, reply{text: "reply 2 by lease 1"}
	}, "request 2 was answered with"},
	{oneReply, "a request that is accepted and refused", func(s *flowSound) {
		s.replies[asking{s.ids[11], 0}][0].refused = true
	}, "request 0 was refused"},
	{oneReply, "a request that is refused and accepted", func(s *flowSound) {
		s.replies[asking{s.ids[11], 3}][0].refused = false
	}, "request 3 was not refused"},
	{oneReply, "a request that is refused and answered later", func(s *flowSound) {
		s.lastReplies[asking{s.ids[11], 3}] = reply{text: "yes"}
	}, "request 3 was refused, and is answered"},
	{oneReply, "a request that is refused and handled", func(s *flowSound) {
		s.tell(11, 2, eventEffect, "reply 3", "done")
	}, "request 3 was refused, and was handled"},
	{oneReply, "a request that is accepted twice", func(s *flowSound) {
		s.entry(11, "updated", "question", func(e *holdfast.JournalEntry) { e.Data = encode(s.t, map[string]key{"in": {2}}) })
	}, "accepts request 2"},
	{oneReply, "a request that is accepted although it is refused", func(s *flowSound) {
		s.entry(11, "updated", "question", func(e *holdfast.JournalEntry) { e.Data = encode(s.t, map[string]key{"in": {3}}) })
	}, "accepts request 3"},
	{oneReply, "a request that was accepted and has no answer", func(s *flowSound) {
		to := asking{s.ids[11], 0}
		s.replies[to], s.lastReplies[to] = []reply{{gone: true}}, reply{gone: true}
	}, "request 0 was accepted, the job has completed, and it has no answer"},
}

var keyBites = []bite{
	{oneHolder, "two jobs with one key", func(s *flowSound) {
		s.paid[2].at = begin.Add(time.Hour + keepFor(1) - time.Second)
	}, `had the key "order 1" 1s before`},
	{oneHolder, "two unfinished jobs with one key", func(s *flowSound) {
		s.open(12, store.Scheduled, nil)
	}, "scheduled, had given it up"},
	{oneHolder, "a job that nobody started", func(s *flowSound) { s.paid = s.paid[1:] }, "nobody has started it"},
	{oneHolder, "a job that was taken back", func(s *flowSound) { s.paid[2].undone = true }, "nobody has started it"},
	{oneHolder, "a job for another order", func(s *flowSound) { s.paid[2].order = 2 }, `was started as job 13 for "order 2"`},
	{oneHolder, "a job that was not to be started", func(s *flowSound) {
		s.paid[2].sent = holdfast.SendResult{Job: s.ids[12], Message: 1}
	}, "had it when it was to be started"},
	{oneHolder, "a job that a repeated payment has not started", func(s *flowSound) {
		s.paid[2].sent = holdfast.SendResult{Job: s.ids[12], Message: 1, Duplicate: true}
	}, "had it when it was to be started"},
	{oneHolder, "a payment that is lost", func(s *flowSound) { s.forget(12, 2) }, "payment 2 was sent as message 2, and has arrived as []"},
	{oneHolder, "a payment that arrived twice", func(s *flowSound) {
		s.deliver(13, s.journals[s.ids[12]].Messages[1])
	}, "payment 2 has arrived 2 times"},
	{oneHolder, "a payment that nobody heard of and that arrived twice", func(s *flowSound) {
		s.deliver(14, s.journals[s.ids[14]].Messages[0])
	}, "payment 5 has arrived 2 times"},
	{oneHolder, "a payment that arrived although it was taken back", func(s *flowSound) {
		s.deliver(13, holdfast.JournalMessage{Kind: "signal", Name: paid.Name(), Data: encode(s.t, key{4})})
	}, "payment 4, which was taken back"},
	{oneHolder, "a payment that arrived at another job", func(s *flowSound) {
		s.paid[1].sent = holdfast.SendResult{Job: s.ids[13], Message: 2}
	}, "payment 2 was sent as message 2, and has arrived as"},
	{oneHolder, "a payment that started another job", func(s *flowSound) { s.paid[2].item = holdfast.NewID() }, "payment 3 has started it"},
	{
		oneHolder, "a payment for an order at a job of another one", func(s *flowSound) { s.paid[1].order = 2 },
		`was sent payment 2 for "order 2"`,
	},
	{oneHolder, "a payment for a job of another kind", func(s *flowSound) { s.paid[1].n = 14 }, `was sent payment 2 for "order 1"`},
	{oneHolder, "a payment that says nothing", func(s *flowSound) {
		s.deliver(12, holdfast.JournalMessage{Kind: "signal", Name: paid.Name(), Data: []byte(`"x"`)})
	}, "message 3 says"},
}
