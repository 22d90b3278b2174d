package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// spot is where a job is.
type spot struct {
	state     store.State
	handed    int32  // pg.HandedOver, pg.HandedOverUndo, or 0
	kind      string // without the version
	remembers bool   // it has a journal
}

// spotsOf reads where jobs are.
func spotsOf(ctx context.Context, t pg.Runner, ids []store.ID) (map[store.ID]spot, error) {
	spots := make(map[store.ID]spot, len(ids))
	err := t.Run(ctx, "spots_of_jobs", func(r pg.Row) error {
		var at int64
		var state int32
		var p spot
		err := r.Scan(&at, &state, &p.handed, &p.kind, &p.remembers)
		p.state = store.State(state)
		spots[ids[at-1]] = p
		return err
	}, pg.UUIDsOf(ids))
	return spots, err
}

// Finish is that of store.Callers, without the class of its error.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, []store.Wake, error) {
	f := newFinishing(params)
	others, err := local.Foreign(ctx, pg.One{DB: s.DB}, params.Namespace, f.ids)
	if err != nil {
		return nil, nil, err
	}
	all := write.Woken{}
	var ended []store.ID
	left, err := locks.RetryWhileHeld(ctx, distinct(f.ids, others), func(ids []store.ID) (left []store.ID, err error) {
		var once *finished
		err = pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
				once, err = s.finishOnce(ctx, t, f, ids)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		f.note(once)
		maps.Copy(all, once.woken)
		ended = append(ended, once.ended...)
		return once.left, nil
	})
	wakes := s.AfterCommit(ctx, all, len(ended) > 0)
	if err != nil {
		return nil, wakes, err
	}
	return f.answer(left, setOf(ended)), wakes, nil
}

// finishOnce ends those of the jobs that can be had, and tells their parents.
func (s *Store) finishOnce(ctx context.Context, t pg.Session, f *finishing, ids []store.ID) (*finished, error) {
	free, err := locks.GrabFor(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	now := s.Micros()
	once, err := f.finish(ctx, t, free, now)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.Contains(free, id) {
			once.left = append(once.left, id)
		}
	}
	if len(once.ended) == 0 {
		return once, nil
	}
	var children []*write.Run
	for i, id := range once.ended {
		children = append(children, &write.Run{Lease: store.Lease{Job: id}, Place: i})
	}
	return once, t.RunAll(ctx, []pg.Statement{
		write.Answer(children, nil, now), once.woken.Wake(write.WakeCandidates{Children: write.IDsOf(children)}, now),
	})
}

// FinishTx is that of store.Callers in the transaction of t, without the class of its error.
func (s *Store) FinishTx(ctx context.Context, t pg.Runner, params store.FinishParams) ([]store.Result, error) {
	f := newFinishing(params)
	results, err := s.inCallers(ctx, t, params.Namespace, f.ids, "finish", func(v *visit, ids []store.ID) ([]store.ID, error) {
		free, left, err := v.grab(ctx, ids)
		if err != nil || len(free) == 0 {
			return left, err
		}
		once, err := f.finish(ctx, t, free, v.now)
		if err != nil {
			return nil, err
		}
		maps.Copy(v.states, once.states)
		maps.Copy(v.errs, once.errs)
		maps.Copy(v.news.woken, once.woken)
		return append(left, once.left...), v.over(ctx, once.ended)
	})
	if err != nil {
		return nil, err
	}
	return f.merge(results), nil
}

// finishing is a call of Finish, or FinishTx.
type finishing struct {
	params  store.FinishParams
	results []store.Result // of what is refused whatever the database says
	ids     []store.ID     // of the others
	ends    map[store.ID]*store.End
	states  map[store.ID]store.State
	errs    map[store.ID]error
}

// finished is what one try has done.
type finished struct {
	states map[store.ID]store.State
	errs   map[store.ID]error
	ended  []store.ID
	woken  write.Woken
	left   []store.ID // that moved at that moment, or that another transaction has
}

func newFinishing(params store.FinishParams) *finishing {
	params.Actor = pg.CleanText(params.Actor)
	f := &finishing{
		params: params, results: params.Results(), ends: map[store.ID]*store.End{},
		states: map[store.ID]store.State{}, errs: map[store.ID]error{},
	}
	for i, r := range f.results {
		if r.Err == nil {
			f.ids, f.ends[r.Job] = append(f.ids, r.Job), &params.Ends[i]
		}
	}
	return f
}

// finish ends jobs whose bodies are locked.
func (f *finishing) finish(ctx context.Context, t pg.Runner, ids []store.ID, now int64) (*finished, error) {
	once := &finished{states: map[store.ID]store.State{}, errs: map[store.ID]error{}, woken: write.Woken{}}
	spots, err := spotsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	var direct, undoing []*store.End
	for _, id := range ids {
		p, there := spots[id]
		e := f.ends[id]
		once.states[id] = p.state
		switch {
		case !there:
		case e.Kind != "" && p.kind != e.Kind:
			once.errs[id] = store.OfAnotherKind(id, p.kind, e.Kind)
		case p.state != store.Waiting:
			once.errs[id] = store.JobIs(id, p.state)
		case p.handed == 0:
			once.errs[id] = refusal.NotHandedOver(id, p.state)
		case p.handed == pg.HandedOverUndo && e.State == store.Failed:
			undoing = append(undoing, e)
		default:
			direct = append(direct, e)
		}
	}
	return once, once.do(ctx, t, f.params.Actor, now, direct, undoing)
}

// do ends some jobs at once, and others by a run that compensates first.
func (once *finished) do(ctx context.Context, t pg.Runner, actor string, now int64, direct, undoing []*store.End) error {
	done := map[store.ID]bool{}
	for _, st := range []pg.Statement{once.ending(direct, done, actor, now), once.failing(undoing, done, actor, now)} {
		if st.Name != "" {
			if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
				return err
			}
		}
	}
	for _, e := range slices.Concat(direct, undoing) {
		if !done[e.Job] {
			once.left = append(once.left, e.Job)
		}
	}
	return nil
}

// ending is the statement that ends jobs, if there are any.
func (once *finished) ending(ends []*store.End, done map[store.ID]bool, actor string, now int64) (st pg.Statement) {
	n := len(ends)
	if n == 0 {
		return st
	}
	ids, states, results, codecs := make([]pgtype.UUID, n), make([]int32, n), make([][]byte, n), make([]*int32, n)
	texts, fingerprints, of := make([]*string, n), make([]*int64, n), make(map[store.ID]*store.End, n)
	for i, e := range ends {
		ids[i], states[i], of[e.Job] = pg.UUIDOf(e.Job), int32(e.State), e
		if e.State == store.Completed {
			if results[i] = e.Result; e.Codec != 0 {
				codec := int32(e.Codec)
				codecs[i] = &codec
			}
			continue
		}
		if texts[i] = pg.OptText(e.Error); e.Fingerprint != 0 {
			fingerprints[i] = &e.Fingerprint
		}
	}
	st.Name = "finish_outside"
	st.Args = []any{
		ids, states, pg.IfAnyBytes(results), pg.IfSet(codecs), pg.IfAny(texts), pg.IfSet(fingerprints), now, actor,
	}
	st.Each = func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		if e := of[id.Bytes]; e != nil {
			done[e.Job], once.states[e.Job] = true, e.State
			once.ended = append(once.ended, e.Job)
		}
		return err
	}
	return st
}

// failing is the statement that decides that jobs fail, if there are any.
func (once *finished) failing(ends []*store.End, done map[store.ID]bool, actor string, now int64) (st pg.Statement) {
	n := len(ends)
	if n == 0 {
		return st
	}
	ids, paths, data, codecs := make([]pgtype.UUID, n), make([]string, n), make([][]byte, n), make([]int32, n)
	for i, e := range ends {
		c := &e.Closing
		ids[i], paths[i], data[i], codecs[i] = pg.UUIDOf(e.Job), pg.CleanText(c.Path), c.Data, int32(c.Codec)
	}
	return pg.Statement{Name: "fail_undoing", Args: []any{ids, paths, pg.IfAnyBytes(data), codecs, now, actor}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var lane int32
		err := r.Scan(&id, &lane)
		done[id.Bytes], once.states[id.Bytes] = true, store.Available
		once.woken[id.Bytes] = write.WokenJob{Lane: lane}
		return err
	}}
}

// note takes in what one try has done.
func (f *finishing) note(once *finished) {
	maps.Copy(f.states, once.states)
	maps.Copy(f.errs, once.errs)
}

// answer tells what became of the jobs, of which some are left and some have ended.
func (f *finishing) answer(left []store.ID, ended map[store.ID]bool) []store.Result {
	results := make([]store.Result, len(f.ids))
	for i, id := range f.ids {
		r := store.Result{Job: id, State: f.states[id], Ended: ended[id], Err: f.errs[id]}
		switch {
		case slices.Contains(left, id):
			r.State, r.Err = 0, locks.ErrBlocked("finish job "+id.String())
		case r.State == 0:
			r.Err = store.NoJob(id)
		}
		results[i] = r
	}
	return f.merge(results)
}

// merge puts results between those that were known before.
func (f *finishing) merge(results []store.Result) []store.Result {
	merged := slices.Clone(f.results)
	for i := range merged {
		if merged[i].Err == nil {
			merged[i], results = results[0], results[1:]
		}
	}
	return merged
}
