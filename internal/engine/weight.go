package engine

import "github.com/holdfastdev/holdfast/store"

// rowWeight is about what an operation weighs besides what a user gave it.
const rowWeight = 200

// weight is about how many bytes of an op travel to the database.
func (o *op) weight() int {
	n := weightOf(o.enqueues)
	for _, s := range o.sends {
		n += rowWeight + len(s.Message.Name) + len(s.Message.Data) + len(s.Message.Error)
	}
	if o.checkpoint != nil {
		n += rowWeight + len(o.checkpoint.Checkpoint.Message) + len(o.checkpoint.Checkpoint.Value)
	}
	if a := o.remembered; a != nil {
		for i := range a.Entries {
			n += rowWeight + len(a.Entries[i].Path) + len(a.Entries[i].Name) + len(a.Entries[i].Data)
		}
		n += weightOf(a.Enqueues)
	}
	if e := o.outcome; e != nil {
		n += rowWeight + len(e.Error) + len(e.Trace) + len(e.Result)
		if e.Wait != nil {
			n += len(e.Wait.For)
		}
		if e.Continue != nil {
			n += len(e.Continue.Args) + len(e.Continue.Data)
		}
	}
	return n
}

func weightOf(enqueues []*store.Enqueue) (n int) {
	for _, q := range enqueues {
		n += weightOfJob(&q.Job)
	}
	return n
}

func weightOfJob(j *store.Job) int {
	n := rowWeight + len(j.Args) + len(j.Metadata) + len(j.UniqueKey) + len(j.OrderingKey)
	for _, t := range j.Tags {
		n += len(t)
	}
	return n
}

// measure is how many operations and bytes the ops are.
func measure(ops []*op) (count, bytes int) {
	for _, o := range ops {
		count += o.size()
		bytes += o.weight()
	}
	return count, bytes
}
