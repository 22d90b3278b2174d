package sealed

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// job lets the args of a job be sealed. By its business key later enqueues are compared with it, so
// its envelope says what for.
func (s *sealing) job(job *store.Job) {
	var hash []byte
	if job.Options.Key != "" && !store.IsSealedCodec(job.Codec) {
		hash = job.HashArgs()
	}
	s.addWith(store.PurposeArgs, job.Namespace, &job.Args, &job.Codec, hash)
}

// enqueues lets copies of enqueues be sealed, with what follows them and what is sent along, and
// brings the results of the copies to the enqueues. Those themselves are not written to before: a
// caller that waits no longer, and its middleware, may read them while the store works.
func (s *sealing) enqueues(list []*store.Enqueue) []*store.Enqueue {
	if list == nil {
		return nil
	}
	copies := make([]*store.Enqueue, len(list))
	all := make([]store.Enqueue, len(list))
	for i, q := range list {
		one := &all[i]
		*one = *q
		copies[i] = one
		s.job(&one.Job)
		if q.Send != nil {
			along := *q.Send
			one.Send = &along
			s.send(one.Send, q.Job.Namespace)
		}
		one.FollowUps = s.enqueues(q.FollowUps)
	}
	s.undo = append(s.undo, func() {
		for i, q := range list {
			answer(&all[i], q)
		}
	})
	return copies
}

// answer brings what a store has set of a copy to the enqueue.
func answer(from, to *store.Enqueue) {
	to.Result, to.Err, to.HasSuccessors = from.Result, from.Err, from.HasSuccessors
	if to.Send != nil {
		to.Send.Job, to.Send.Result, to.Send.Err = from.Send.Job, from.Send.Result, from.Send.Err
	}
}

// send lets a message be sealed. namespace is that of its job, if the send does not say.
func (s *sealing) send(q *store.Send, namespace string) {
	if q.Namespace != "" {
		namespace = q.Namespace
	}
	s.add(purposeOf(q.Message.Kind), namespace, &q.Message.Data, &q.Message.Codec)
}

// outcome lets an outcome be sealed.
func (s *sealing) outcome(o *store.Outcome) {
	s.add(store.PurposeResult, o.Namespace, &o.Result, &o.Codec)
	if c := o.Continue; c != nil {
		s.args(&c.Args, &c.Codec, o.Namespace, o.HasKey)
	}
}

// args lets new args of a job be sealed, which may have a business key.
func (s *sealing) args(args *[]byte, codec *int, namespace string, hasKey bool) {
	var hash []byte
	if hasKey && !store.IsSealedCodec(*codec) {
		hash = (&store.Job{Args: *args, Codec: *codec}).HashArgs()
	}
	s.addWith(store.PurposeArgs, namespace, args, codec, hash)
}

// batch lets a batch be sealed.
func (s *sealing) batch(b *store.Batch) {
	n := len(b.Checkpoints) + len(b.Sends) + len(b.Outcomes) + len(b.Enqueues)
	for _, a := range b.Appends {
		n += len(a.Entries) + len(a.Answers) + len(a.Enqueues)
	}
	s.slots = make([]slot, 0, n)
	for _, c := range b.Checkpoints {
		s.addJSON(store.PurposeCheckpoint, c.Namespace, &c.Checkpoint.Value)
	}
	for _, a := range b.Appends {
		s.append(a)
	}
	for _, q := range b.Sends {
		s.send(q, "")
	}
	for _, o := range b.Outcomes {
		s.outcome(o)
	}
	if len(b.Enqueues) > 0 {
		was := b.Enqueues
		b.Enqueues = s.enqueues(was)
		s.undo = append(s.undo, func() { b.Enqueues = was })
		s.fires(b.Fires, was, b.Enqueues)
		s.requests(b.Requests, was, b.Enqueues)
	}
}

// fires lets fires name the copies of their enqueues.
func (s *sealing) fires(fires []*store.Fire, was, are []*store.Enqueue) {
	for _, f := range fires {
		runs := f.Runs
		f.Runs = slices.Clone(runs)
		s.undo = append(s.undo, func() { f.Runs = runs })
		for i := range f.Runs {
			if at := slices.Index(was, f.Runs[i].Enqueue); at >= 0 {
				f.Runs[i].Enqueue = are[at]
			}
		}
	}
}

// requests lets requests name the copies of their enqueues.
func (s *sealing) requests(requests []*store.KeyedRequest, was, are []*store.Enqueue) {
	if len(requests) == 0 {
		return
	}
	copies := make(map[*store.Enqueue]*store.Enqueue, len(was))
	for i, q := range was {
		copies[q] = are[i]
	}
	for _, r := range requests {
		enqueues := r.Enqueues
		r.Enqueues = slices.Clone(enqueues)
		s.undo = append(s.undo, func() { r.Enqueues = enqueues })
		for i, q := range enqueues {
			if copied := copies[q]; copied != nil {
				r.Enqueues[i] = copied
			}
		}
	}
}

func (o *opening) job(job *store.Job) { o.add(store.PurposeArgs, job.Namespace, &job.Args, &job.Codec) }

func (o *opening) checkpoint(namespace string, c *store.Checkpoint) {
	if c != nil {
		o.addJSON(store.PurposeCheckpoint, namespace, &c.Value)
	}
}

func (o *opening) claimed(claimed []store.Claimed) {
	for i := range claimed {
		c := &claimed[i]
		o.job(&c.Job)
		o.checkpoint(c.Job.Namespace, c.Checkpoint)
	}
}

func (o *opening) record(r *store.Record) {
	o.job(&r.Job)
	o.add(store.PurposeResult, r.Namespace, &r.Result, &r.ResultCodec)
	o.checkpoint(r.Namespace, r.Checkpoint)
}
