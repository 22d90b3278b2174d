package crashtest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// replies checks that a request was handled once and has one answer, whoever asks, and that one
// that was refused has left nothing.
func (v *flowVerifier) replies(j *flowJob) {
	accepted := v.accepted(j)
	for number := range mostAsked {
		to := asking{j.ID, number}
		told := v.flowHistory.replies[to]
		last, asked := v.lastReplies[to]
		if refuses(number) {
			v.refused(j, number, told, last, asked)
			continue
		}
		// A person who lets a job run again makes it forget what came after its last success.
		var first *reply
		for i, r := range append(slices.Clone(told), last) {
			switch {
			case i == len(told) && !asked:
			case r.refused:
				v.wrongf(oneReply, j.ID, "request %d was refused: %+v", number, r)
			case r.gone && (first == nil || len(j.reopenings()) > 0):
			case first == nil:
				first = &r
				v.reply(j, number, r)
			case r != *first && len(j.reopenings()) == 0:
				v.wrongf(oneReply, j.ID, "request %d was answered with %+v and with %+v", number, *first, r)
			}
		}
		// Requests that were open when it ended are forgotten, and are not copied to a fork.
		if asked && last.gone && accepted[number] && j.State == store.Completed && len(j.reopenings()) == 0 {
			v.wrongf(oneReply, j.ID, "request %d was accepted, the job has completed, and it has no answer", number)
		}
	}
}

// refused checks what became of a request that no run accepts.
func (v *flowVerifier) refused(j *flowJob, number int, told []reply, last reply, asked bool) {
	v.figures.refused += len(told)
	if i := slices.IndexFunc(told, func(r reply) bool { return !r.refused && !r.gone }); i >= 0 {
		v.wrongf(oneReply, j.ID, "request %d was not refused: %+v", number, told[i])
	}
	if asked && !last.gone && !last.refused { // nobody may have heard yet that it was refused
		v.wrongf(oneReply, j.ID, "request %d was refused, and is answered when the job has ended: %+v", number, last)
	}
	if slices.ContainsFunc(j.traces, func(e placed) bool { return e.Step == replyName(number) }) {
		v.wrongf(oneReply, j.ID, "request %d was refused, and was handled", number)
	}
}

// reply checks that an answer is what the run has remembered.
func (v *flowVerifier) reply(j *flowJob, number int, r reply) {
	v.figures.replies++
	name := replyName(number)
	if r.failed != fails(number) {
		v.wrongf(oneReply, j.ID, "request %d was answered with %+v", number, r)
	}
	if !v.handled(j, name, r.text) {
		v.wrongf(oneReply, j.ID, "request %d was answered with %q, which no run has done", number, r.text)
	}
	for _, e := range j.journal.Entries {
		if e.Kind == "step" && e.Name == name && text(e.Data) != r.text && len(j.reopenings()) == 0 {
			v.wrongf(oneReply, j.ID, "request %d was answered with %q, and the journal has %s", number, r.text, e.Data)
		}
	}
}

// handled reports whether a run has answered a request so, be it of the job that this one is a fork
// of: a fork has its answers.
func (v *flowVerifier) handled(j *flowJob, step, value string) bool {
	if slices.ContainsFunc(j.traces, func(e placed) bool { return e.Event == eventEffect && e.Step == step && e.Value == value }) {
		return true
	}
	return j.fork != nil && v.jobs[j.fork.of] != nil && v.handled(v.jobs[j.fork.of], step, value)
}

// accepted are the requests that the journal has accepted: each once.
func (v *flowVerifier) accepted(j *flowJob) map[int]bool {
	accepted := map[int]bool{}
	for _, e := range j.journal.Entries {
		if e.Kind != "updated" {
			continue
		}
		var data struct {
			In key `json:"in"`
		}
		err := json.Unmarshal(e.Data, &data)
		if _, before := accepted[data.In.Number]; err != nil || before || refuses(data.In.Number) {
			v.wrongf(oneReply, j.ID, "entry %d, at %s, accepts request %d, which is refused or was accepted before: %v",
				e.Seq, e.Path, data.In.Number, err)
		}
		accepted[data.In.Number] = e.Lease > 0
	}
	return accepted
}

// isReply reports whether an entry is one of how a request was handled, which no plan knows.
func isReply(e holdfast.JournalEntry) bool { return strings.HasPrefix(e.Name, replying) }
