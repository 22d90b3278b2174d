package simulate

import (
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// describe is a batch in a few words.
func describe(b *store.Batch) string {
	var words []string
	add := func(err error, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if err != nil {
			text += " (" + err.Error() + ")"
		}
		words = append(words, text)
	}
	short := func(id store.ID) string { return (&job{body: store.Job{ID: id}}).String() }
	for _, c := range b.Checkpoints {
		add(c.Err, "checkpoint of %s under %d", short(c.Lease.Job), c.Lease.Number)
	}
	for _, a := range b.Appends {
		var children []string
		for _, q := range a.Enqueues {
			children = append(children, fmt.Sprintf("%s (policy %d, answers %v)", short(q.Job.ID), q.Job.OnParentClose, q.Job.Answers))
		}
		add(a.Err, "append %d to %d of %s under %d, children %v, closing %v, repeat %v",
			a.Entries[0].Seq, a.LastSeq(), short(a.Lease.Job), a.Lease.Number, children, a.Closing, a.Repeat)
	}
	for _, q := range b.Sends {
		add(q.Err, "send %d %s to %s", q.Message.Kind, q.Message.Name, short(q.Job))
	}
	for _, o := range b.Outcomes {
		add(o.Err, "end %s under %d as %v (durable %v, cancel seen %v, continue %v, repeat %v), which led to %v",
			short(o.Lease.Job), o.Lease.Number, o.State, o.Durable, o.CancelSeen, o.Continue != nil, o.Repeat, o.Final)
	}
	for _, q := range b.Enqueues {
		add(q.Err, "enqueue %s (%s, %s, ordering key %q, unique key %q in %b, start %v): %v",
			short(q.Job.ID), q.Job.Queue, q.Job.Kind, q.Job.OrderingKey, q.Job.UniqueKey, q.Job.UniqueStates, q.Start, q.Result.State)
	}
	return strings.Join(words, "; ")
}

func leasesOf(claimed []store.Claimed) string {
	var words []string
	for _, c := range claimed {
		words = append(words, fmt.Sprintf("%v under %d", &job{body: c.Job}, c.Lease.Number))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// outcome is how a call went, for the story.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
