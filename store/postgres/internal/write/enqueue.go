package write

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// EntriesOf validates enqueues and gives them their lanes. Those that are invalid, or whose lane a
// transaction of a caller is making, get their error and are left out.
func (s *Store) EntriesOf(ctx context.Context, enqueues []*store.Enqueue, now int64, foreign bool) ([]*Entry, error) {
	entries := make([]*Entry, 0, len(enqueues))
	jobs := make([]*store.Job, 0, len(enqueues))
	for _, q := range enqueues {
		e := &Entry{Enqueue: q}
		q.Result, q.Err = store.EnqueueResult{}, nil
		if q.Err = e.prepare(now); q.Err == nil {
			s.NoteKeys(&q.Job)
			entries = append(entries, e)
			jobs = append(jobs, &q.Job)
		}
	}
	lanes, err := s.LanesOf(ctx, jobs, foreign)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if e.Lane = lanes[i]; e.Lane.ID == 0 {
			e.Err = fmt.Errorf("%w: it is making the lane of job %s", store.ErrBusy, e.Job.ID)
		}
	}
	return slices.DeleteFunc(entries, func(e *Entry) bool { return e.Lane.ID == 0 }), nil
}

func (e *Entry) prepare(now int64) (err error) {
	job := &e.Job
	switch {
	case !job.RunAt.IsZero():
		e.RunAt = job.RunAt.UnixMicro()
	case e.Delay > 0:
		e.RunAt = now + e.Delay.Microseconds()
	default:
		e.RunAt = now
	}
	if err := e.Check(); err != nil {
		return err
	}
	if e.options, err = pg.EncodeOptions(job.Options); err != nil {
		return fmt.Errorf("%w: options: %w", store.ErrInvalid, err)
	}
	if e.tags, err = pg.EncodeTags(job.Tags); err != nil {
		return fmt.Errorf("%w: tags: %w", store.ErrInvalid, err)
	}
	return nil
}

// stored sets the result of an enqueue that was inserted.
func (e *Entry) stored(now int64) {
	state := store.Available
	if e.RunAt > now {
		state = store.Scheduled
	}
	e.Result, e.Err = store.EnqueueResult{ID: e.Job.ID, State: state, RunAt: pg.TimeOf(e.RunAt)}, nil
}

// InLine reports whether the job will wait for the turn of its ordering key.
func (e *Entry) InLine(now int64) bool { return e.Job.OrderingKey != "" && e.RunAt <= now }

// enqueueArgs returns the parameters of the statements enqueue and, with unique keys,
// enqueue_careful.
func enqueueArgs(entries []*Entry, now int64, slow bool) []any {
	n := len(entries)
	ids, lanes, runAt := make([]pgtype.UUID, n), make([]int32, n), make([]int64, n)
	maxAttempts, codecs, args := make([]int32, n), make([]int32, n), make([][]byte, n)
	options, tags, metadata, keys := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	var queues, priorities []int32
	var parents []pgtype.UUID
	var links []*int32
	for i, e := range entries {
		ids[i], lanes[i], runAt[i] = pg.UUIDOf(e.Job.ID), e.Lane.ID, e.RunAt
		maxAttempts[i], codecs[i], args[i] = int32(e.Job.MaxAttempts), int32(e.Job.Codec), e.Job.Args
		if args[i] == nil {
			args[i] = []byte{}
		}
		options[i], tags[i] = e.options, e.tags
		if len(e.Job.Metadata) > 0 {
			text := string(e.Job.Metadata)
			metadata[i] = &text
		}
		if e.Job.OrderingKey != "" {
			keys[i] = &e.Job.OrderingKey
			if queues == nil {
				queues, priorities = make([]int32, n), make([]int32, n)
			}
			queues[i], priorities[i] = e.Lane.QueueID, e.Lane.Priority
		}
		link := pg.LinkOf(&e.Job)
		if e.HasSuccessors {
			link = pg.WithSuccessors(link)
		}
		if link != nil {
			if links == nil {
				parents, links = make([]pgtype.UUID, n), make([]*int32, n)
			}
			kin := pg.KinOf(&e.Job)
			links[i], parents[i] = link, pgtype.UUID{Bytes: kin, Valid: kin != store.ID{}}
		}
	}
	list := []any{
		ids, lanes, runAt, maxAttempts, codecs, args, pg.IfAny(options), pg.IfAny(tags), pg.IfAny(metadata), pg.IfAny(keys),
		queues, priorities, now,
		parents, links,
	}
	if !slow {
		return list
	}
	uniqueKeys, uniqueStates, named := make([][]byte, n), make([]int32, n), []bool(nil)
	for i, e := range entries {
		if len(e.Job.UniqueKey) > 0 {
			uniqueKeys[i], uniqueStates[i] = e.Job.UniqueKey, int32(e.Job.UniqueStates)
		}
		if e.isNamed() {
			if named == nil {
				named = make([]bool, n)
			}
			named[i] = true
		}
	}
	return append(list, pg.IfAnyBytes(uniqueKeys), uniqueStates, named)
}

// obstacleArgs returns the parameters of enqueue_obstacles. If strict, the statement fails with
// pg.CodeRefused where an enqueue is to replace another job, which is done the slow path.
func obstacleArgs(entries []*Entry, strict bool) []any {
	ids, keys, replaces := make([]pgtype.UUID, len(entries)), make([][]byte, len(entries)), make([]bool, len(entries))
	for i, e := range entries {
		ids[i] = pg.UUIDOf(e.Job.ID)
		if len(e.Job.UniqueKey) > 0 {
			keys[i] = e.Job.UniqueKey
		}
		replaces[i] = e.OnConflict == store.Replace
	}
	return []any{ids, pg.IfAnyBytes(keys), strict, replaces}
}

// newQueues returns a statement that notes of queues that they have had a job, if some may not have
// had one before.
func (s *Store) newQueues(entries []*Entry, now int64) []pg.Statement {
	var queues, lanes []int32
	var ids []pgtype.UUID
	for _, e := range unfold(entries) {
		if !s.Lanes.IsUsed(e.Lane.QueueID) {
			queues, lanes, ids = append(queues, e.Lane.QueueID), append(lanes, e.Lane.ID), append(ids, pg.UUIDOf(e.Job.ID))
		}
	}
	if queues == nil {
		return nil
	}
	return []pg.Statement{{Name: "queues_used", Args: []any{queues, lanes, ids, now}}}
}

// UsedNow returns the queues of enqueues that were inserted.
func UsedNow(entries []*Entry) (queues []int32) {
	for _, e := range unfold(entries) {
		if e.Result.State != 0 {
			queues = append(queues, e.Lane.QueueID)
		}
	}
	return queues
}

func scanObstacle(r pg.Row) (o keys.Obstacle, err error) {
	var refused *int32 // always NULL: a refusal is an error
	err = r.Scan(&o.Place, &o.RunAt, &o.Namespace, &o.Holder, &o.Due, &refused)
	return o, err
}

// yield sets the result of an enqueue that was not inserted. It returns false if the holder is to
// be replaced, which is left to the caller.
func (e *Entry) yield(o keys.Obstacle) (done bool, err error) {
	switch {
	case o.RunAt == nil:
	case pg.TextOf(o.Namespace) != e.Job.Namespace:
		e.Err = store.TakenID(e.Job.ID)
		return true, nil
	default:
		e.Result = store.EnqueueResult{ID: e.Job.ID, Existing: true, RunAt: pg.TimeOf(*o.RunAt)}
		return true, nil
	}
	if e.Result, err = o.Answer(); err != nil {
		return false, err
	}
	switch e.kept = o.Over; {
	case e.isNamed():
	case e.OnConflict == store.Reject:
		e.Result, e.Err = store.EnqueueResult{}, &store.UniqueError{Holder: e.Result.ID}
	case e.OnConflict == store.Replace:
		return false, nil
	}
	return true, nil
}

// EnqueueCarefully inserts what can be inserted, and finds out of the rest what stands in its way.
// It needs no luck but costs more round trips.
func (s *Store) EnqueueCarefully(ctx context.Context, t pg.Runner, entries []*Entry, now int64) error {
	entries, err := s.enqueueOnce(ctx, t, entries, now)
	for _, e := range entries {
		e.changedHands()
	}
	return err
}

// changedHands is the result of an enqueue that met a key whose holder let it go between two
// statements: it may be free now. That is for another transaction to find out. This one has keys,
// and would take a lower one now than some that it has, which is how two wait for each other.
func (e *Entry) changedHands() {
	e.Result, e.Err = store.EnqueueResult{}, fmt.Errorf("%w: the key of job %s is changing hands", store.ErrBusy, e.Job.ID)
}

// enqueueForCaller is EnqueueCarefully in a caller's transaction, which cannot come back later.
func (s *Store) enqueueForCaller(ctx context.Context, t pg.Runner, entries []*Entry, now int64) error {
	const tries = 4
	for range tries {
		var err error
		if entries, err = s.enqueueOnce(ctx, t, entries, now); err != nil || len(entries) == 0 {
			return err
		}
	}
	for _, e := range entries {
		e.changedHands()
	}
	return nil
}

// enqueueOnce returns the enqueues that met nothing in their way, and yet were not stored.
func (s *Store) enqueueOnce(ctx context.Context, t pg.Runner, entries []*Entry, now int64) (unresolved []*Entry, err error) {
	seen := make(map[store.ID]bool, len(entries))
	var fresh, losers []*Entry
	for _, e := range entries {
		if seen[e.Job.ID] {
			losers = append(losers, e)
			continue
		}
		seen[e.Job.ID] = true
		fresh = append(fresh, e)
	}
	won := make([]bool, len(fresh))
	list := carefully(fresh, now, func(place int64) {
		won[place-1] = true
		fresh[place-1].stored(now)
	})
	if err := pg.Together(ctx, t, list...); err != nil {
		return nil, err
	}
	for i, e := range fresh {
		if !won[i] {
			losers = append(losers, e)
		}
	}
	if len(losers) == 0 {
		return nil, nil
	}
	return s.settleLosers(ctx, t, losers, now)
}

// carefully are the statements that insert enqueues, after they have taken business keys if some
// have one. stored is called for each that was inserted, with its place from 1 on.
func carefully(entries []*Entry, now int64, stored func(place int64)) (list []pg.Statement) {
	if _, _, wanted := named(entries); wanted != nil {
		list = append(list, keys.Take(wanted, now))
	}
	return append(list, pg.Statement{Name: "enqueue_careful", Args: enqueueArgs(entries, now, true), Each: func(r pg.Row) error {
		var place int64
		err := r.Scan(&place)
		if err == nil {
			stored(place)
		}
		return err
	}})
}

// settleLosers finds out what enqueues have met that were not stored, and what they do then. It
// returns those that met nothing any more.
func (s *Store) settleLosers(ctx context.Context, t pg.Runner, losers []*Entry, now int64) (unresolved []*Entry, err error) {
	met := make([]*keys.Obstacle, len(losers))
	losers, asking := obstacles(losers, now, false, met)
	for _, st := range asking {
		if err := st.On(ctx, t); err != nil {
			return nil, err
		}
	}
	var replacing []*Entry
	for i, e := range losers {
		if met[i] == nil {
			unresolved = append(unresolved, e)
			continue
		}
		done, err := e.yield(*met[i])
		if err != nil {
			return nil, err
		}
		if !done {
			replacing = append(replacing, e)
		}
	}
	// By the holder, which is locked, so that two batches cannot wait for each other; of one holder
	// in the order given.
	slices.SortStableFunc(replacing, func(a, b *Entry) int { return bytes.Compare(a.Result.ID[:], b.Result.ID[:]) })
	for _, e := range replacing {
		if e.awaits {
			e.later = func() error { return s.replace(ctx, t, e, now) }
		} else if err := s.replace(ctx, t, e, now); err != nil {
			return nil, err
		}
	}
	return unresolved, nil
}

// obstacles are the statements that find out what enqueues meet, of which some were not stored; of
// those with unique keys and of those with business keys. It returns the enqueues in the order in
// which it is noted, those with business keys first.
func obstacles(entries []*Entry, now int64, strict bool, met []*keys.Obstacle) ([]*Entry, []pg.Statement) {
	with, without, wanted := named(entries)
	var list []pg.Statement
	if len(with) > 0 {
		list = append(list, keys.Obstacles(wanted, now, func(o keys.Obstacle) error {
			met[o.Place-1] = &o
			return nil
		}))
	}
	if len(without) > 0 {
		list = append(list, pg.Statement{Name: "enqueue_obstacles", Args: obstacleArgs(without, strict), Each: func(r pg.Row) error {
			o, err := scanObstacle(r)
			if err == nil {
				met[len(with)+int(o.Place)-1] = &o
			}
			return err
		}})
	}
	return slices.Concat(with, without), list
}

// replace puts the enqueue's payload and run time on the job that holds its unique key, if that is
// of the same kind and has not started.
func (s *Store) replace(ctx context.Context, t pg.Runner, e *Entry, now int64) error {
	holder := e.Result.ID.String()
	ok := false
	if err := t.Run(ctx, "replace_lock", func(pg.Row) error { ok = true; return nil }, holder, e.Job.Kind); err != nil || !ok {
		return err
	}
	e.replaced = 0
	var runAt int64
	args, metadata := e.Job.Args, pg.OptText(string(e.Job.Metadata))
	if args == nil {
		args = []byte{}
	}
	err := t.Run(ctx, "replace", func(r pg.Row) error { return r.Scan(&e.replaced, &runAt) },
		holder, now, e.RunAt, max(e.MaxDelay.Microseconds(), 0), args, int32(e.Job.Codec), metadata)
	if err == nil && e.replaced != 0 {
		e.Result.Replaced, e.Result.RunAt = true, pg.TimeOf(runAt)
		var list pg.Attributes
		list.Add(e.Result.ID, e.Job.Attributes)
		for _, st := range list.Writing(nil) {
			if err := st.On(ctx, t); err != nil {
				return err
			}
		}
	}
	return err
}
