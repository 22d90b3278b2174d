package commit

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
)

// weight is about how many bytes of an op are sent to the database.
func (o *op) weight() int {
	n := portion.WeightOf(o.Enqueues)
	if o.Request != nil {
		n += portion.RowWeight + len(o.Request.Answer)
	}
	if o.Fire != nil {
		n += portion.RowWeight * len(o.Fire.Runs)
	}
	for _, s := range o.Sends {
		n += portion.WeightOfSend(s)
	}
	if o.Checkpoint != nil {
		n += weightOf(o.Checkpoint.Meta)
		n += portion.RowWeight + len(o.Checkpoint.Checkpoint.Message) + len(o.Checkpoint.Checkpoint.Value)
	}
	if a := o.Append; a != nil {
		n += weightOf(a.Meta)
		for i := range a.Entries {
			n += portion.RowWeight + len(a.Entries[i].Path) + len(a.Entries[i].Name) + len(a.Entries[i].Data)
		}
		n += portion.WeightOf(a.Enqueues)
		for i := range a.Answers {
			n += portion.RowWeight + len(a.Answers[i].Data) + len(a.Answers[i].Error)
		}
	}
	if e := o.Outcome; e != nil {
		n += portion.RowWeight + len(e.Error) + len(e.Trace) + len(e.Result) + weightOf(e.Meta)
		if e.Wait != nil {
			n += len(e.Wait.For)
		}
		if e.Continue != nil {
			n += len(e.Continue.Args) + len(e.Continue.Data)
		}
	}
	return n
}

// weightOf is about how many bytes are sent of what a run says of its job.
func weightOf(m *store.Meta) (n int) {
	if m == nil {
		return 0
	}
	for _, tag := range m.Tags {
		n += len(tag)
	}
	for i := range m.Attributes {
		n += len(m.Attributes[i].Name) + len(m.Attributes[i].Value.Data)
	}
	return n + len(m.Metadata)
}

// measure returns the number of operations and bytes of the ops.
func measure(ops []*op) (count, bytes int) {
	for _, o := range ops {
		count += o.size()
		bytes += o.weight()
	}
	return count, bytes
}

// fit is how many ops from the front make a portion: at least one, if there is one.
func fit(p *portion.Portion, ops []*op) (n int) {
	count, bytes := 0, 0
	for _, o := range ops {
		count += o.size()
		bytes += o.weight()
		if n > 0 && (count > p.Count || bytes > p.Bytes) {
			break
		}
		n++
	}
	return n
}

// tried updates the portion after a batch of ops.
func tried(p *portion.Portion, ops []*op, took time.Duration, err error) {
	p.Err = err
	if err == nil && took <= p.Slow && p.IsWhole() {
		return // the common case
	}
	count, bytes := measure(ops)
	if err != nil {
		p.Failed(count, bytes, took)
	} else {
		p.Went(count, bytes, took)
	}
}
