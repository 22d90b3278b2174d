package move

import (
	"context"
	"fmt"
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// tables are the rows of a page.
type tables struct {
	bodies      []bodyRow
	available   []availableRow
	deferred    []deferredRow
	finished    []finishedRow
	updates     []updateRow
	attempts    []attemptRow
	checkpoints []checkpointRow
	unique      []uniqueRow
	turns       []turnRow
	cancels     []requestRow
	pauses      []requestRow
	closing     []closingRow
	edges       []edgeRow
	actions     []actionRow
	entries     []entryRow
	messages    []messageRow
	logs        []logRow
	attributes  pg.Attributes
}

func (t *tables) write(ctx context.Context, s pg.Session) error {
	for _, put := range []func() error{
		func() error { return putRows(ctx, s, "copy_entries_put", t.entries) },
		func() error { return putRows(ctx, s, "copy_messages_put", t.messages) },
		func() error { return putRows(ctx, s, "copy_bodies_put", t.bodies) },
		func() error { return putRows(ctx, s, "copy_available_put", t.available) },
		func() error { return putRows(ctx, s, "copy_deferred_put", t.deferred) },
		func() error { return putRows(ctx, s, "copy_finished_put", t.finished) },
		func() error { return putUpdates(ctx, s, t.updates) },
		func() error { return putRows(ctx, s, "copy_attempts_put", t.attempts) },
		func() error { return putRows(ctx, s, "copy_checkpoints_put", t.checkpoints) },
		func() error { return putRows(ctx, s, "copy_unique_put", t.unique) },
		func() error { return putRows(ctx, s, "copy_turns_put", t.turns) },
		func() error { return putRows(ctx, s, "copy_cancels_put", t.cancels) },
		func() error { return putRows(ctx, s, "copy_pauses_put", t.pauses) },
		func() error { return putRows(ctx, s, "copy_closing_put", t.closing) },
		func() error { return putRows(ctx, s, "copy_edges_put", t.edges) },
		func() error { return putRows(ctx, s, "copy_actions_put", t.actions) },
		func() error { return putRows(ctx, s, "copy_logs_put", t.logs) },
		func() error { return s.RunAll(ctx, t.attributes.Writing(nil)) },
	} {
		if err := put(); err != nil {
			return err
		}
	}
	return nil
}

// add takes the rows of a job, or those of a portion of its memory.
func (t *tables) add(w *store.Whole, lane *local.Lane) error {
	t.addMemory(w)
	if w.Unfinished {
		return nil
	}
	if err := t.addBody(w, lane); err != nil {
		return err
	}
	t.addPlace(w, lane)
	t.addHistory(w)
	t.addUpdates(w)
	t.addLogs(w)
	t.attributes.Add(w.ID, w.Attributes)
	for _, a := range w.Awaits {
		t.edges = append(t.edges, edgeRow{a.On, w.ID, int16(a.IfFailed), unlessZero(int32(a.Told))})
	}
	if w.HoldsKey {
		t.unique = append(t.unique, uniqueRow{hexOf(w.UniqueKey), w.ID})
	}
	if w.HasTurn {
		t.turns = append(t.turns, turnRow{w.ID, lane.QueueID, w.OrderingKey})
	}
	if r := w.Cancel; r != nil {
		t.cancels = append(t.cancels, requestRow{w.ID, r.At.UnixMicro(), textOf(r.Reason), textOf(r.Actor), r.Seen})
	}
	if r := w.Pause; r != nil {
		t.pauses = append(t.pauses, requestRow{w.ID, r.At.UnixMicro(), textOf(r.Reason), textOf(r.Actor), false})
	}
	if c := w.Checkpoint; c != nil {
		row := checkpointRow{w.ID, w.CheckpointLease, c.Percent, c.UpdatedAt.UnixMicro(), textOf(c.Message), nil}
		if c.Value != nil {
			value := string(c.Value)
			row.Value = &value
		}
		t.checkpoints = append(t.checkpoints, row)
	}
	return nil
}

func (t *tables) addBody(w *store.Whole, lane *local.Lane) error {
	options, err := pg.EncodeOptions(w.Options)
	if err != nil {
		return fmt.Errorf("%w: options of job %s: %w", store.ErrInvalid, w.ID, err)
	}
	tags, err := pg.EncodeTags(w.Tags)
	if err != nil {
		return fmt.Errorf("%w: tags of job %s: %w", store.ErrInvalid, w.ID, err)
	}
	row := bodyRow{
		ID: w.ID, Lane: lane.ID, RunAt: due(w), CreatedAt: w.CreatedAt.UnixMicro(), Lease: w.LeaseNumber, Attempt: w.Attempt,
		MaxAttempts: w.MaxAttempts, Codec: w.Codec, Args: hexOf(append([]byte{}, w.Args...)), Options: options, Tags: tags,
		Metadata: textOf(string(w.Metadata)), OrderingKey: textOf(w.OrderingKey), Parent: unlessZero(pg.KinOf(&w.Job)), Link: pg.LinkOf(&w.Job),
		ClaimedAt: pg.OptMicros(w.RanAt), Remembers: unlessZero(w.Durable),
	}
	if w.Closing {
		row.Closing = &w.Decided
	}
	if len(w.UniqueKey) > 0 {
		states := int(w.UniqueStates)
		row.UniqueKey, row.UniqueStates = hexOf(w.UniqueKey), &states
	}
	t.bodies = append(t.bodies, row)
	return nil
}

// due is the run time of the body: never, if no time wakes the job, or a person has to.
func due(w *store.Whole) int64 {
	if w.RunAt.IsZero() || w.Parked != nil && w.Parked.Held {
		return math.MaxInt64
	}
	return w.RunAt.UnixMicro()
}

// addPlace takes the pointer of the job.
func (t *tables) addPlace(w *store.Whole, lane *local.Lane) {
	switch e := w.End; {
	case e != nil:
		row := finishedRow{
			ID: w.ID, FinishedAt: e.FinishedAt.UnixMicro(), Lease: unlessZero(e.LeaseNumber), Node: unlessZero(e.Node),
			ClaimedAt: pg.OptMicros(e.ClaimedAt), StartedAt: pg.OptMicros(e.StartedAt), State: int32(w.State), Reason: textOf(e.Reason),
			Error: textOf(e.Error), Result: hexOf(e.Result), Codec: unlessZero(int32(e.Codec)), Fingerprint: unlessZero(e.Fingerprint),
		}
		if w.State != store.Completed {
			row.Lane = &lane.ID
		}
		t.finished = append(t.finished, row)
		if w.Closes {
			t.closing = append(t.closing, closingRow{w.ID, e.FinishedAt.UnixMicro()})
		}
	case w.State == store.Available:
		t.available = append(t.available, availableRow{
			w.ID, lane.ID, due(w), lane.QueueID, w.Priority, textOf(w.OrderingKey), w.OrderingKey != "" && !w.HasTurn,
		})
	default:
		row := deferredRow{Due: due(w), ID: w.ID, Lane: lane.ID, State: int32(w.State), OrderingKey: textOf(w.OrderingKey)}
		if w.Parked != nil {
			row.park(w)
		}
		t.deferred = append(t.deferred, row)
	}
}

// park says how a job waits.
func (d *deferredRow) park(w *store.Whole) {
	p := w.Parked
	d.Since, d.Held, d.Reason, d.Error, d.WaitsFor = pg.OptMicros(p.Since), &p.Held, textOf(p.Reason), textOf(p.Error), textOf(string(p.For))
	if p.HandedOver {
		handed := int16(pg.HandedOver)
		if p.Compensates {
			handed = pg.HandedOverUndo
		}
		d.HandedOver = &handed
	}
	if p.Held {
		d.WasState, d.WasDue = unlessZero(int32(p.Was)), pg.OptMicros(p.WasDue)
		if d.WasRunAt = pg.OptMicros(w.RunAt); d.WasRunAt == nil {
			never := int64(math.MaxInt64)
			d.WasRunAt = &never
		}
		return
	}
	kinds := int32(p.Kinds)
	d.Seen, d.Until, d.Kinds, d.Failures = &p.Seen, pg.OptMicros(p.Until), &kinds, &p.Failures
	if p.Count > 0 {
		enough := int64(math.MaxInt64)
		if p.Count <= enough-max(p.Seen, 0) {
			enough = p.Seen + p.Count
		}
		d.Enough = &enough
	}
}

func (t *tables) addHistory(w *store.Whole) {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		t.attempts = append(t.attempts, attemptRow{
			w.ID, a.LeaseNumber, a.Node, a.ClaimedAt.UnixMicro(), pg.OptMicros(a.StartedAt), a.EndedAt.UnixMicro(), a.Number,
			int32(a.Outcome), textOf(a.Reason), textOf(a.Error), textOf(a.Trace), unlessZero(a.Lost),
		})
	}
	for _, a := range w.Actions {
		t.actions = append(t.actions, actionRow{w.ID, a.At.UnixMicro(), pg.CleanText(a.Actor), string(a.Kind), textOf(a.Reason)})
	}
}

func (t *tables) addMemory(w *store.Whole) {
	for i := range w.Entries {
		e := &w.Entries[i]
		t.entries = append(t.entries, entryRow{
			w.ID, e.Seq, e.At.UnixMicro(), e.LeaseNumber, unlessZero(e.Ref), e.Codec, int16(e.Kind), e.Path, textOf(e.Name), hexOf(e.Data),
			unlessZero(e.Took.Microseconds()),
		})
	}
	for i := range w.Messages {
		m := &w.Messages[i]
		t.messages = append(t.messages, messageRow{
			w.ID, m.Seq, m.At.UnixMicro(), unlessZero(m.From), m.Codec, int16(m.Kind), unlessZero(int16(m.State)), textOf(m.Name),
			textOf(m.Key), textOf(m.Reason), textOf(m.Error), hexOf(m.Data), textOf(m.TraceParent),
		})
	}
}

func (t *tables) addLogs(w *store.Whole) {
	for i := range w.Logs {
		c := &w.Logs[i]
		t.logs = append(t.logs, logRow{w.ID, c.Lease, c.First, c.Attempt, c.Count, hexOf(c.Lines)})
	}
}
