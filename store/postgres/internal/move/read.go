package move

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// rest is what the statement copy_jobs tells of a job beside its body.
type rest struct {
	Closing    *int64         `json:"closing"`
	RanAt      *int64         `json:"ran_at"`
	Durable    bool           `json:"durable"`
	HasTurn    bool           `json:"has_turn"`
	HoldsKey   bool           `json:"holds_key"`
	Closes     bool           `json:"closes"`
	Finished   *finishedRow   `json:"finished"`
	Deferred   *deferredRow   `json:"deferred"`
	Checkpoint *checkpointRow `json:"checkpoint"`
	Cancel     *requestRow    `json:"cancel"`
	Pause      *requestRow    `json:"pause"`
	Updates    []updateRow    `json:"updates"`
	Edges      []edgeRow      `json:"edges"`
	Attempts   []attemptRow   `json:"attempts"`
	Actions    []actionRow    `json:"actions"`
	Logs       []logRow       `json:"logs"`

	Attributes []pg.AttributeRow `json:"attributes"`
}

// wholes reads jobs without their memories, and their lanes.
func wholes(ctx context.Context, t pg.Session, ids []store.ID) (jobs []store.Whole, lanes []int32, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	err = t.Run(ctx, "copy_jobs", func(r pg.Row) error {
		var (
			place int64
			b     pg.Body
			more  rest
			text  string
			w     store.Whole
			out   []byte
		)
		err := r.Scan(&place, &b.Lane, &b.RunAt, &b.CreatedAt, &b.Lease, &b.Attempt, &b.MaxAttempts, &b.Codec, &b.Args, &b.Options, &b.Tags,
			&b.Metadata, &b.OrderingKey, &b.UniqueKey, &b.UniqueStates, &b.Parent, &b.Link, &b.Closing, &out, &text)
		if err != nil {
			return err
		}
		id := ids[place-1]
		if err := json.Unmarshal([]byte(text), &more); err != nil {
			return fmt.Errorf("%w: the rows of job %s: %w", store.ErrInvalid, id, err)
		}
		if err := b.Fill(&w.Job, id); err != nil {
			return err
		}
		more.describe(&w, out)
		if w.Updates, err = updatesOf(more.Updates); err != nil {
			return fmt.Errorf("%w: the updates of job %s: %w", store.ErrInvalid, id, err)
		}
		if w.Logs, err = logsOf(id, more.Logs); err != nil {
			return fmt.Errorf("%w: the logs of job %s: %w", store.ErrInvalid, id, err)
		}
		if w.Attributes, err = pg.AttributesOf(more.Attributes); err != nil {
			return fmt.Errorf("job %s: %w", id, err)
		}
		jobs, lanes = append(jobs, w), append(lanes, b.Lane)
		return nil
	}, pg.UUIDsOf(ids))
	return jobs, lanes, err
}

// describe fills in what the rows say.
func (r *rest) describe(w *store.Whole, result []byte) {
	w.State, w.Decided, w.RanAt = store.Available, pg.OptInt(r.Closing), pg.OptTime(r.RanAt)
	w.Durable, w.HasTurn, w.HoldsKey, w.Closes = r.Durable, r.HasTurn, r.HoldsKey, r.Closes
	switch {
	case r.Finished != nil:
		w.State, w.End = store.State(r.Finished.State), r.Finished.end(result)
	case r.Deferred != nil:
		w.State = store.State(r.Deferred.State)
		if w.State == store.Waiting {
			w.Parked = r.Deferred.parked(w)
		}
	}
	if c := r.Checkpoint; c != nil {
		w.CheckpointLease = c.Lease
		w.Checkpoint = &store.Checkpoint{Percent: c.Percent, Message: pg.TextOf(c.Message), UpdatedAt: pg.TimeOf(c.UpdatedAt)}
		if c.Value != nil {
			w.Checkpoint.Value = []byte(*c.Value)
		}
	}
	for _, e := range r.Edges {
		w.Awaits = append(w.Awaits, store.Awaited{
			Dependency: store.Dependency{On: e.On, IfFailed: store.FailurePolicy(e.Policy)}, Told: store.State(pg.OptInt(e.Told)),
		})
	}
	w.Cancel, w.Pause = r.Cancel.request(), r.Pause.request()
	for i := range r.Attempts {
		w.Attempts = append(w.Attempts, r.Attempts[i].attempt())
	}
	for _, a := range r.Actions {
		w.Actions = append(w.Actions, store.Action{
			At: pg.TimeOf(a.At), Kind: store.ActionKind(a.Action), Actor: a.Actor, Reason: pg.TextOf(a.Detail),
		})
	}
}

func (f *finishedRow) end(result []byte) *store.WholeEnd {
	return &store.WholeEnd{
		Reason: store.Reason(pg.TextOf(f.Reason)), Error: pg.TextOf(f.Error), Result: result, Codec: int(pg.OptInt(f.Codec)),
		Fingerprint: pg.OptInt(f.Fingerprint), LeaseNumber: pg.OptInt(f.Lease), Node: pg.OptInt(f.Node),
		ClaimedAt: pg.OptTime(f.ClaimedAt), StartedAt: pg.OptTime(f.StartedAt), FinishedAt: pg.TimeOf(f.FinishedAt),
	}
}

// parked says how a job waits. Of one that is held the run time that it had is here, and not in its
// body.
func (d *deferredRow) parked(w *store.Whole) *store.Parked {
	p := &store.Parked{
		Since: pg.OptTime(d.Since), Reason: store.Reason(pg.TextOf(d.Reason)), Error: pg.TextOf(d.Error),
		Was: store.State(pg.OptInt(d.WasState)), WasDue: pg.OptTime(d.WasDue),
	}
	p.Until, p.Seen, p.Kinds = pg.OptTime(d.Until), pg.OptInt(d.Seen), store.MessageSet(pg.OptInt(d.Kinds))
	p.Failures, p.Held = d.Failures != nil && *d.Failures, d.Held != nil && *d.Held
	if d.HandedOver != nil {
		p.HandedOver, p.Compensates = true, *d.HandedOver == pg.HandedOverUndo
	}
	if d.Enough != nil {
		p.Count = *d.Enough - p.Seen
	}
	if d.WaitsFor != nil {
		p.For = []byte(*d.WaitsFor)
	}
	if !p.Held {
		return p
	}
	if w.RunAt = (time.Time{}); d.WasRunAt != nil && *d.WasRunAt != math.MaxInt64 {
		w.RunAt = pg.TimeOf(*d.WasRunAt)
	}
	return p
}

func (r *requestRow) request() *store.Request {
	if r == nil {
		return nil
	}
	return &store.Request{At: pg.TimeOf(r.At), Reason: pg.TextOf(r.Reason), Actor: pg.TextOf(r.Actor), Seen: r.Seen}
}

func (a *attemptRow) attempt() store.WholeAttempt {
	return store.WholeAttempt{Attempt: store.Attempt{
		Number: a.Attempt, LeaseNumber: a.Lease, Node: a.Node, ClaimedAt: pg.TimeOf(a.ClaimedAt), StartedAt: pg.OptTime(a.StartedAt),
		EndedAt: pg.TimeOf(a.EndedAt), Outcome: store.State(a.Outcome), Reason: store.Reason(pg.TextOf(a.Reason)),
		Error: pg.TextOf(a.Error), Trace: pg.TextOf(a.Trace),
	}, Lost: a.Lost != nil && *a.Lost}
}
