package crashtest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// says tells that a run says something, and makes it what the job says.
func (s *flowSound) says(n int, lease int64, at string) {
	s.tell(n, lease, eventSays, at, "")
	s.speak(n, words{Job: s.ids[n], At: at, Lease: lease})
}

// speak makes it what a job says.
func (s *flowSound) speak(n int, w words) {
	s.change(n, func(r *store.Record) { r.Metadata, r.Tags = encode(s.t, w), []string{w.tag()} })
}

// talked is a flow that says where it is, whose first run was lost with its node, and that had
// handled two requests and refused one.
func (s *flowSound) talked() {
	s.enqueue(11, store.Completed, "", 2, tried(11, 1, store.Retryable, store.ReasonNodeLost))
	s.deaths[node(11, 1)] = death{name: "w1.1", at: begin.Add(10 * time.Second), silence: 3 * time.Second}
	s.tell(11, 1, eventStart, "", "")
	s.says(11, 1, "step 1")
	s.tell(11, 1, eventEffect, "step 1", "done")
	s.says(11, 1, within("step 1"))
	s.tell(11, 1, eventRemembered, "step 1", "done")
	for number, value := range []string{"reply 0 by lease 1", "", "reply 2 by lease 1"} {
		if value != "" {
			s.tell(11, 1, eventEffect, replyName(number), value)
			s.tell(11, 1, eventRemembered, replyName(number), value)
		}
	}
	s.says(11, 1, "charge 3")
	s.tell(11, 2, eventStart, "", "")
	s.says(11, 2, "charge 3")
	s.tell(11, 2, eventEffect, "signal 2", "done")
	s.tell(11, 2, eventRemembered, "signal 2", "done")
	s.tell(11, 2, eventEffect, "charge 3", "done")
	s.tell(11, 2, eventRemembered, "charge 3", "done")
	s.says(11, 2, theEnd)
	s.tell(11, 2, eventLeave, "", "")

	s.seen = map[holdfast.ID][]words{s.ids[11]: {
		{Job: s.ids[11], At: "step 1", Lease: 1}, {Job: s.ids[11], At: "charge 3", Lease: 1}, {Job: s.ids[11], At: theEnd, Lease: 2},
	}}
	s.looks = map[holdfast.ID][]look{s.ids[11]: {{told: []stored{{"step 1", 0, 1}}, words: words{Job: s.ids[11], At: "charge 3", Lease: 2}}}}

	s.write(11, 1, entryOf("step", "1", "step 1"))
	for i, number := range []int{0, 2} {
		path := fmt.Sprint("2:", i+1)
		s.write(11, 1,
			holdfast.JournalEntry{Kind: "updated", Path: path, Name: "question", Data: encode(s.t, map[string]key{"in": {number}})},
			holdfast.JournalEntry{Kind: "step", Path: path + ".1", Name: replyName(number), Data: encode(s.t, replyName(number)+" by lease 1")})
	}
	s.write(11, 2, entryOf("step", "3", "signal 2"), entryOf("step", "4", "charge 3"))
	s.replies[asking{s.ids[11], 0}] = []reply{{text: "reply 0 by lease 1"}, {text: "reply 0 by lease 1"}}
	s.replies[asking{s.ids[11], 2}] = []reply{{text: "reply 2 by lease 1", failed: true}}
	s.replies[asking{s.ids[11], 3}] = []reply{{text: "as planned", refused: true}}
	s.replies[asking{s.ids[11], 4}] = []reply{{gone: true}}
	for to, told := range s.replies {
		s.lastReplies[to] = told[0]
	}
	s.lastReplies[asking{s.ids[11], 3}] = reply{gone: true}
}

// paidFor are two errands with one key, one after the other, of which the first says something with
// a checkpoint and at its end. A flow was started by a payment that nobody heard of again.
func (s *flowSound) paidFor() {
	for n, order := range map[int]int{12: 1, 13: 1, 14: 2} {
		s.enqueue(n, store.Completed, "", 1)
		s.change(n, func(r *store.Record) { r.Options.Key, r.Options.KeepKey = orderKey(order), keepFor(order) })
	}
	s.tell(12, 1, eventStart, "", "")
	s.says(12, 1, theBeginning)
	s.tell(12, 1, eventKept, theBeginning, "")
	s.tell(12, 1, eventEffect, "", "")
	s.says(12, 1, theEnd)
	s.tell(12, 1, eventLeave, "", "")
	s.run(13, 1, "")
	s.run(14, 1, "step 1")
	s.write(14, 1, entryOf("step", "1", "step 1"))
	for n, numbers := range map[int][]int{12: {1, 2}, 13: {3}, 14: {5}} {
		for _, number := range numbers {
			s.deliver(n, holdfast.JournalMessage{Kind: "signal", Name: paid.Name(), Data: encode(s.t, key{number}), Unread: true})
		}
	}
	first, second := s.ids[12], s.ids[13]
	s.paid = []*payment{
		{number: 1, order: 1, item: first, n: 12, at: begin, sent: holdfast.SendResult{Job: first, Started: true, Message: 1}},
		{number: 2, order: 1, item: holdfast.NewID(), n: 12, at: begin, sent: holdfast.SendResult{Job: first, Message: 2}},
		{
			number: 3, order: 1, item: second, n: 13, at: begin.Add(2 * time.Hour),
			sent: holdfast.SendResult{Job: second, Started: true, Message: 1},
		},
		{number: 4, order: 1, item: holdfast.NewID(), n: 13, at: begin, undone: true},
		{number: 5, order: 2, item: s.ids[14], n: 14, lost: true},
	}
}
