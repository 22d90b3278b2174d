package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/entries"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// RunWrites is what is appended to the journal of a run.
type RunWrites struct {
	After   int64              `json:"after" minimum:"0" maximum:"9007199254740991" doc:"The number of the last entry that the run knows; 0: the journal is empty"`
	Entries []entries.RunEntry `json:"entries" minItems:"1" maxItems:"100" nullable:"false" doc:"They get the numbers after that" example:"[{\"kind\":\"step\",\"path\":\"1\",\"name\":\"charge\",\"data\":{\"id\":7}}]"`
}

// RunAppends appends to the journal of a run.
type RunAppends struct {
	RunWrites

	Repeat bool `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunAppended is what was appended.
type RunAppended struct {
	Job     string          `json:"job"`
	Last    int64           `json:"last" doc:"The number of the last entry: append after it"`
	Entries []RunMade       `json:"entries" nullable:"false" doc:"In the order of the request"`
	Now     views.Timestamp `json:"now" doc:"By the clock by which runs are woken"`
}

// RunMade is what the server has decided about an entry.
type RunMade struct {
	Seq  int64       `json:"seq"`
	Name views.Text  `json:"name" doc:"Of a callback: its token"`
	Data api.Payload `json:"data" doc:"Of timer, step retry, child and callback, as it is stored; null of others"`
}

// writes is what a request appends, of one run.
type writes struct {
	*entries.Made

	append *store.Append
	after  int64
	size   size // of the journal with it; zero: it is not known, as it was sent again
}

// writes makes what a request appends. at is where that is in the request.
func (s *service) writes(ctx context.Context, c *api.Call, at string, r *run, said *RunWrites, repeat bool) (*writes, error) {
	if !r.Remembers {
		return nil, problem.Invalid(at, "the worker has registered without journal, and keeps none")
	}
	client, err := c.Client.In(r.Namespace)
	if err != nil {
		return nil, err
	}
	own := *c
	own.Client = client
	maker := entries.Maker{Call: &own, Job: r.Job, Now: s.engine.Store.Now()}
	made, err := maker.Make(ctx, at+"/entries", said.Entries, said.After)
	if err != nil {
		return nil, err
	}
	if err := s.findLast(ctx, at, r, said.After); err != nil {
		return nil, err
	}
	var with size
	known := false
	if repeat {
		if known, err = s.isThere(ctx, r, said.After); err != nil {
			return nil, err
		}
	}
	if !known { // else it would count twice
		if with, err = s.roomFor(ctx, r, said.After, made.Entries); err != nil {
			return nil, err
		}
	}
	if err := s.findMessages(ctx, at+"/entries", r, made.Entries); err != nil {
		return nil, err
	}
	if known { // they were sent with it, and what has become of them since is no matter
		made.Signals = nil
	}
	return &writes{Made: made, after: said.After, size: with, append: &store.Append{
		Lease: r.Lease, Namespace: r.Namespace, Entries: made.Entries, Enqueues: made.Children, Repeat: repeat,
	}}, nil
}

// isThere reports whether the journal has entries behind one, which a repeated append has stored if
// they are its own; else the store refuses it.
func (s *service) isThere(ctx context.Context, r *run, after int64) (bool, error) {
	found, err := s.engine.Store.Entries(ctx, store.JournalParams{Namespace: r.Namespace, Job: r.Job, After: after, Limit: 1})
	return len(found) > 0, err
}

// lookDurable finds out whether the job of a run has a journal by now that had none before, and may
// get one with what is appended together with the run's end.
func (s *service) lookDurable(ctx context.Context, r *run, more *RunWrites) error {
	if r.Durable || !r.Remembers {
		return nil
	}
	if more != nil || s.sizes.has(r.Lease) {
		r.Durable = true
		return nil
	}
	found, err := s.engine.Store.Entries(ctx, store.JournalParams{Namespace: r.Namespace, Job: r.Job, Limit: 1})
	r.Durable = len(found) > 0
	return err
}

// findLast refuses to append behind an entry that is not there: the journal would have a gap, which
// stores need not see.
func (s *service) findLast(ctx context.Context, at string, r *run, after int64) error {
	if _, known := s.sizes.upTo(r.Lease, after); known {
		return nil
	}
	found, err := s.engine.Store.Entries(ctx, store.JournalParams{Namespace: r.Namespace, Job: r.Job, After: after - 1, Limit: 1})
	if err != nil || len(found) > 0 {
		return err // a later one is the store's to refuse
	}
	jobs, err := s.records(ctx, []*run{r})
	switch {
	case err != nil:
		return err
	case jobs.of(r.Lease) == nil:
		return fmt.Errorf("%w: the run is not the job's any more", store.ErrLeaseLost)
	}
	return problem.Invalid(at+"/after", fmt.Sprintf("the journal has no entry %d yet", after))
}

// findMessages refuses entries that have received a message which is not there, or another signal.
func (s *service) findMessages(ctx context.Context, at string, r *run, list []store.Entry) error {
	for i := range list {
		e := &list[i]
		if e.Kind != store.EntryReceived {
			continue
		}
		found, err := s.engine.Store.Messages(ctx, store.InboxParams{Namespace: r.Namespace, Job: r.Job, After: e.Ref - 1, Limit: 1})
		if err != nil {
			return err
		}
		here := fmt.Sprintf("%s/%d/", at, i)
		switch {
		case len(found) == 0 || found[0].Seq != e.Ref:
			return problem.Invalid(here+"message", fmt.Sprintf("the job has no message %d", e.Ref))
		case found[0].Kind == store.MessageSignal && found[0].Name != e.Name:
			return problem.Invalid(here+"name", fmt.Sprintf("message %d is the signal %q", e.Ref, found[0].Name))
		case found[0].Kind != store.MessageSignal && e.Name != "":
			return problem.Invalid(here+"name", fmt.Sprintf("message %d is no signal, and has no name here", e.Ref))
		}
	}
	return nil
}

// unit is a unit of work of a run: what it appends, if that is not nil, and its outcome, if that is
// not.
func unit(w *writes, o *store.Outcome) *store.Unit {
	u := &store.Unit{Outcome: o}
	if w != nil {
		u.Append, u.Sends = w.append, w.Signals
	}
	return u
}

// refused is why a unit was not stored, if that is because of what it appends.
func (w *writes) refused() error {
	if w == nil {
		return nil
	}
	if err := w.Refused(); err != nil {
		return err
	}
	return w.append.Err
}

type appendIn struct {
	OfRun

	Body RunAppends
}

func (s *service) append(ctx context.Context, c *api.Call, in *appendIn) (*api.Body[RunAppended], error) {
	s = s.on(c.Client)
	r, err := s.run(ctx, c, &in.In, in.Lease)
	if err != nil {
		return nil, err
	}
	repeat := in.Body.Repeat || c.MayRepeat()
	w, err := s.writes(ctx, c, "", r, &in.Body.RunWrites, repeat)
	if err != nil {
		return nil, err
	}
	errs, err := s.engine.Settle(ctx, []*store.Unit{unit(w, nil)})
	if err == nil {
		err = errs[0]
	}
	if err == nil {
		err = w.refused()
	}
	if err != nil {
		return nil, err
	}
	if w.size.entries > 0 {
		s.sizes.note(r.Lease, w.size)
	}
	list := w.append.Entries
	if repeat {
		if list, err = s.appended(ctx, r, w); err != nil {
			return nil, err
		}
	}
	return s.viewAppended(r, list)
}

// appended are the entries as they are stored that were sent again: another server may have stored
// them, with children and times of its own.
func (s *service) appended(ctx context.Context, r *run, w *writes) ([]store.Entry, error) {
	sent := w.append.Entries
	found, err := s.engine.Store.Entries(ctx, store.JournalParams{Namespace: r.Namespace, Job: r.Job, After: w.after, Limit: len(sent)})
	if err != nil {
		return nil, err
	}
	if len(found) != len(sent) {
		return nil, fmt.Errorf("%w: the run is not the job's any more", store.ErrLeaseLost)
	}
	for i := range sent {
		is, was := &sent[i], &found[i]
		if is.Kind != was.Kind || is.Path != was.Path || is.Kind != store.EntryCallback && is.Name != was.Name || is.Ref != was.Ref {
			return nil, problem.New(problem.Conflict, fmt.Sprintf(
				"the run has appended something else after entry %d before: %s at place %s", w.after, journal.Describe(was.Kind, was.Name), was.Path))
		}
	}
	return found, nil
}

func (s *service) viewAppended(r *run, list []store.Entry) (*api.Body[RunAppended], error) {
	v := RunAppended{Job: r.Job.String(), Entries: make([]RunMade, len(list)), Now: views.Timestamp(s.engine.Store.Now())}
	for i := range list {
		e := &list[i]
		v.Last, v.Entries[i].Seq = e.Seq, e.Seq
		switch e.Kind {
		case store.EntryCallback:
			v.Entries[i].Name = views.Text(e.Name)
			fallthrough
		case store.EntryTimer, store.EntryStepRetry, store.EntryChild:
			data, err := journal.Unpack(e.Data, e.Codec)
			if err != nil {
				return nil, err
			}
			v.Entries[i].Data = data
		default: // as it was sent
		}
	}
	return &api.Body[RunAppended]{Body: v}, nil
}

// isLost reports whether the run of an error is not its job's any more.
func isLost(err error) bool { return errors.Is(err, store.ErrLeaseLost) }
