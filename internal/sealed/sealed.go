package sealed

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Store is a store whose payloads a codec encodes. Use Wrap.
type Store struct {
	store.Store // what carries no payloads, as wrap_test.go says

	codec store.Codec
	// failed is told why the codec could not decode what one call has read, other than for want of
	// a key; nil: nothing is.
	failed func(error)
}

// OnFailure says who is told when the codec fails to decode. It is called before the store is used.
func (s *Store) OnFailure(failed func(error)) { s.failed = failed }

// Wrap puts the codec around a store.
func Wrap(inner store.Store, codec store.Codec) *Store { return &Store{Store: inner, codec: codec} }

// Inner is the store below, which has what is kept as it is kept.
func (s *Store) Inner() store.Store { return s.Store }

// writing seals what add says, makes the call, and puts back what was there.
func (s *Store) writing(ctx context.Context, add func(*sealing), call func() error) error {
	seals := sealing{codec: s.codec}
	add(&seals)
	if err := seals.seal(ctx); err != nil {
		return err
	}
	defer seals.restore()
	return call()
}

// reading opens what add says of an answer.
func (s *Store) reading(ctx context.Context, err error, add func(*opening)) {
	if err == nil {
		opens := opening{codec: s.codec}
		add(&opens)
		if err := opens.open(ctx); err != nil && s.failed != nil && ctx.Err() == nil {
			s.failed(err)
		}
	}
}

// Apply implements store.Writer.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	err := s.writing(ctx, func(seals *sealing) { seals.batch(batch) }, func() error { return s.Store.Apply(ctx, batch) })
	if batch.Start != nil {
		s.reading(ctx, err, func(o *opening) { o.claimed(batch.Start.Claimed) })
	}
	return err
}

// EnqueueTx implements store.Writer.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	var sealed []*store.Enqueue
	return s.writing(ctx, func(seals *sealing) { sealed = seals.enqueues(enqueues) }, func() error {
		return s.Store.EnqueueTx(ctx, tx, sealed)
	})
}

// SendTx implements store.Writer.
func (s *Store) SendTx(ctx context.Context, tx store.Tx, sends []*store.Send) error {
	return s.writing(ctx, func(seals *sealing) {
		for _, q := range sends {
			seals.send(q, "")
		}
	}, func() error { return s.Store.SendTx(ctx, tx, sends) })
}

// AppendTx implements store.Writer.
func (s *Store) AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error {
	return s.writing(ctx, func(seals *sealing) { seals.append(a) }, func() error { return s.Store.AppendTx(ctx, tx, a) })
}

// Claim implements store.Claims.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, params)
	s.reading(ctx, err, func(o *opening) { o.claimed(claimed) })
	return claimed, err
}

// Finish implements store.Callers.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) (results []store.Result, wakes []store.Wake, err error) {
	params.Ends = slices.Clone(params.Ends)
	err = s.writing(ctx, func(seals *sealing) { seals.ends(&params) }, func() (err error) {
		results, wakes, err = s.Store.Finish(ctx, params)
		return err
	})
	return results, wakes, err
}

// FinishTx implements store.Callers.
func (s *Store) FinishTx(ctx context.Context, tx store.Tx, params store.FinishParams) (results []store.Result, err error) {
	params.Ends = slices.Clone(params.Ends)
	err = s.writing(ctx, func(seals *sealing) { seals.ends(&params) }, func() (err error) {
		results, err = s.Store.FinishTx(ctx, tx, params)
		return err
	})
	return results, err
}

// ends lets the results be sealed with which jobs are completed from outside. The entry of one that
// fails is of a kind that stays plain.
func (s *sealing) ends(params *store.FinishParams) {
	for i := range params.Ends {
		e := &params.Ends[i]
		s.add(store.PurposeResult, params.Namespace, &e.Result, &e.Codec)
	}
}

// RetryTx implements store.Callers.
func (s *Store) RetryTx(ctx context.Context, tx store.Tx, params store.RetryParams) ([]store.Result, error) {
	if keep := params.Keep; keep != nil {
		params.Keep = func(j store.Journal) (int64, error) {
			s.reading(ctx, nil, func(o *opening) { o.journal(params.Namespace, &j) })
			return keep(j)
		}
	}
	return s.Store.RetryTx(ctx, tx, params)
}

// Resume implements store.Operators.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (state store.State, wakes []store.Wake, err error) {
	if params.Continue == nil {
		return s.Store.Resume(ctx, params)
	}
	again, hasKey, namespace := *params.Continue, false, params.Namespace
	if found, err := s.Store.Get(ctx, params.Namespace, params.Job); err == nil {
		hasKey, namespace = found.Options.Key != "", found.Namespace
	}
	params.Continue = &again
	err = s.writing(ctx, func(seals *sealing) { seals.args(&again.Args, &again.Codec, namespace, hasKey) }, func() (err error) {
		state, wakes, err = s.Store.Resume(ctx, params)
		return err
	})
	return state, wakes, err
}

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) (wakes []store.Wake, err error) {
	err = s.writing(ctx, func(seals *sealing) { seals.job(&params.Job) }, func() (err error) {
		wakes, err = s.Store.Fork(ctx, params)
		return err
	})
	return wakes, err
}

// Edit implements store.Editors.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (state store.State, wakes []store.Wake, err error) {
	err = s.writing(ctx, func(seals *sealing) {
		if params.Edit.Args != nil {
			s.editArgs(ctx, &params, seals)
		}
	}, func() (err error) {
		state, wakes, err = s.Store.Edit(ctx, params)
		return err
	})
	return state, wakes, err
}

// editArgs lets the args of an edit be sealed. If the job has the same ones already they are those
// that are stored, so that the store sees that nothing changes.
func (s *Store) editArgs(ctx context.Context, params *store.EditParams, seals *sealing) {
	e, hasKey, namespace := &params.Edit, false, params.Namespace
	if found, err := s.Store.Get(ctx, params.Namespace, params.Job); err == nil {
		hasKey, namespace = found.Options.Key != "", found.Namespace
		args, codec := found.Args, found.Codec
		opens := opening{codec: s.codec}
		opens.job(&found.Job)
		_ = opens.open(ctx) // then the args count as others
		if codec == store.SealedCodec && found.Codec == e.Codec && string(found.Args) == string(e.Args) {
			e.Args, e.Codec = args, codec
			return
		}
	}
	seals.args(&e.Args, &e.Codec, namespace, hasKey)
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	record, err := s.Store.Get(ctx, namespace, id)
	s.reading(ctx, err, func(o *opening) { o.record(&record) })
	return record, err
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	if err := noArgs(&params.Filter); err != nil {
		return store.Page{}, err
	}
	page, err := s.Store.List(ctx, params)
	s.reading(ctx, err, func(o *opening) {
		for i := range page.Jobs {
			o.record(&page.Jobs[i])
		}
	})
	return page, err
}

// Count implements store.Reader.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	if err := noArgs(&params.Filter); err != nil {
		return store.Counted{}, err
	}
	return s.Store.Count(ctx, params)
}

// noArgs refuses a filter by args, which a store cannot read that are sealed: it would find none of
// them, and say so.
func noArgs(f *store.Filter) error {
	if len(f.Args) == 0 {
		return nil
	}
	return fmt.Errorf("%w: jobs are not found by their args, which a codec encodes; use tags, metadata or a business key", store.ErrInvalid)
}

// Ended implements store.Reader.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	ended, err := s.Store.Ended(ctx, namespace, ids)
	s.reading(ctx, err, func(o *opening) {
		for i := range ended {
			o.add(store.PurposeResult, namespace, &ended[i].Result, &ended[i].Codec)
		}
	})
	return ended, err
}

// Open decodes what a job has, as it is read from a store that this package is not around. What
// cannot be decoded stays as it is.
func Open(ctx context.Context, codec store.Codec, r *store.Record, j *store.Journal, lines []*[]byte) {
	o := opening{codec: codec}
	o.record(r)
	if j != nil {
		o.journal(r.Namespace, j)
	}
	for _, l := range lines {
		o.addLog(r.Namespace, l)
	}
	_ = o.open(ctx) // what cannot be decoded stays
}
