package holdfast

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// batchSize is how many jobs of an EnqueueMany share a transaction.
const batchSize = 1000

// defaultPriority is the priority of jobs without the option Priority.
const defaultPriority = 2

// NewID returns a new id for JobID.
func NewID() ID { return store.NewID() }

// BatchError is the error of an enqueue of many jobs of which some were not stored. errors.Is finds
// each of the errors in it.
type BatchError struct {
	// Refused holds the error of each refused job by its index.
	Refused map[int]error
	// Stopped is why the database did not accept some of the jobs, or nil. They are those from the
	// index Answered on that are not in Refused. The first thousand of them may or may not exist;
	// the others do not.
	Stopped  error
	Answered int
}

func (e *BatchError) Error() string {
	if len(e.Refused) == 0 {
		return e.Stopped.Error()
	}
	first := slices.Min(slices.Collect(maps.Keys(e.Refused)))
	text := fmt.Sprintf("%d jobs of the batch were refused; the first, at index %d: %v", len(e.Refused), first, e.Refused[first])
	if e.Stopped != nil {
		text = e.Stopped.Error() + "; " + text
	}
	return text
}

// Unwrap returns the errors of all refused jobs, and Stopped.
func (e *BatchError) Unwrap() []error {
	all := slices.Collect(maps.Values(e.Refused))
	if e.Stopped != nil {
		all = append(all, e.Stopped)
	}
	return all
}

// batchError returns nil if all jobs were stored.
func batchError(refused map[int]error, answered int, stopped error) error {
	if len(refused) == 0 && stopped == nil {
		return nil
	}
	return &BatchError{Refused: refused, Stopped: stopped, Answered: answered}
}

// build makes an enqueue. It is complete, unless there is middleware: then it is not validated yet.
func (c *Client) build(kind string, args []byte, kindOpts, opts []EnqueueOption) (*enqueueSpec, error) {
	spec := &enqueueSpec{enqueue: store.Enqueue{Job: store.Job{
		Namespace: c.Namespace(), Queue: "default", Kind: kind, Priority: defaultPriority, Args: args,
	}}}
	if err := spec.apply(kindOpts); err != nil {
		return nil, err
	}
	spec.ofKind()
	ofKind := len(spec.around)
	if err := spec.apply(opts); err != nil {
		return nil, err
	}
	if len(spec.around) > ofKind {
		return nil, invalid("enqueue middleware", "it is an option of Open and of NewKind, not of an enqueue")
	}
	if spec.fairOf != nil {
		if err := spec.fairOf(&spec.enqueue.Job); err != nil {
			return nil, err
		}
	}
	e := &spec.enqueue
	e.KnownID = e.Job.ID != uuid.Nil
	if !e.KnownID {
		e.Job.ID = NewID()
	}
	if err := c.buildFollowUps(spec); err != nil {
		return nil, err
	}
	if !c.passes(spec) {
		if err := c.complete(spec); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

// complete validates an enqueue completely, its business key too, and computes its unique key.
func (c *Client) complete(spec *enqueueSpec) error {
	e := &spec.enqueue
	if spec.before != nil {
		if err := valid.Changed(&e.Job, spec.before); err != nil {
			return err
		}
	}
	if err := checkJSON("args", e.Job.Args, c.limit); err != nil {
		return err
	}
	if err := c.checkAttributes(e.Job.Namespace, e.Job.Attributes, false); err != nil {
		return err
	}
	if e.Job.Options.KeepTurn && e.Job.OrderingKey == "" {
		return invalid("keep turn", "it needs an ordering key; add the option OrderingKey")
	}
	if deadline := e.Job.Options.Deadline; !deadline.IsZero() {
		runAt := e.Job.RunAt
		if now := c.engine.Store.Now(); runAt.IsZero() {
			runAt = now.Add(e.Delay)
		}
		if !runAt.Before(deadline) {
			return invalid("deadline", "%s is not after the run time", deadline.Format("2006-01-02T15:04:05Z07:00"))
		}
	}
	if err := spec.checkKey(); err != nil {
		return err
	}
	if spec.unique != nil {
		switch most := spec.unique.MaxDelay; {
		case most <= 0:
		case !e.Job.RunAt.IsZero():
			return invalid("unique", "a longest delay, %v, goes with no run time; say a delay instead", most)
		case e.Delay > most:
			return invalid("unique", "the delay, %v, is longer than the longest delay, %v", e.Delay, most)
		}
		key, err := spec.unique.keyOf(&e.Job, c.engine.Store.Now(), e.Delay)
		if err != nil {
			return err
		}
		e.Job.UniqueKey, e.Job.UniqueStates = key, spec.unique.states()
	}
	return c.completeFollowUps(spec)
}

// checkAttributes refuses search attributes that are not declared: a store would drop them. What is
// declared is mostly known; else it is read. If unset, they may be without a value.
func (c *Client) checkAttributes(namespace string, list []store.Attribute, unset bool) error {
	if len(list) == 0 {
		return nil
	}
	ctx, done := context.WithTimeout(context.Background(), store.CallTimeout)
	defer done()
	return c.engine.Declared.Check(ctx, namespace, list, unset)
}

// completeFollowUps completes those that have passed through middleware; the others are complete.
func (c *Client) completeFollowUps(spec *enqueueSpec) error {
	for _, f := range spec.follows {
		if f.before == nil {
			continue
		}
		if err := c.complete(f); err != nil {
			return fmt.Errorf("follow-up of kind %q: %w", f.enqueue.Job.Kind, err)
		}
	}
	return nil
}

// isExisting reports that an enqueue inserted nothing. If it chose the id and finds a job with it,
// that was inserted by an earlier try, whose answer was lost.
func isExisting(e *store.Enqueue) bool {
	return e.Result.Existing && (e.KnownID || e.Result.ID != e.Job.ID)
}

// enqueueAll stores enqueues, batch by batch, until the database refuses one. It returns how many
// have a result. The others must not be read: if the caller's context has ended, the committer may
// still be writing them.
func (c *Client) enqueueAll(ctx context.Context, enqueues []*store.Enqueue) (answered int, err error) {
	for start := 0; start < len(enqueues); start += batchSize {
		end := min(start+batchSize, len(enqueues))
		if err := c.engine.Enqueue(ctx, enqueues[start:end]); err != nil {
			return start, fmt.Errorf("enqueueing jobs %d to %d of %d: %w", start+1, end, len(enqueues), err)
		}
	}
	return len(enqueues), nil
}

func (c *Client) enqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	if err := c.checkTx(tx); err != nil {
		return err
	}
	return c.engine.Store.EnqueueTx(ctx, tx, enqueues)
}

// inTx tells the middleware of the client that an enqueue is in a transaction of the caller.
func (c *Client) inTx(ctx context.Context) context.Context {
	if len(c.aroundEnqueues) == 0 {
		return ctx
	}
	return access.WithTx(ctx)
}

// checkTx checks that a transaction is one of the client's kind of database.
func (c *Client) checkTx(tx store.Tx) error {
	if tx == nil {
		return invalid("transaction", "must not be nil")
	}
	if own := c.StoreName(); tx.StoreName() != own {
		return invalid("transaction", "it is for a %s database, but the client uses %s", tx.StoreName(), own)
	}
	return nil
}

// BatchItem is a job to enqueue together with others of other kinds or with other options.
// Kind.Item makes one.
type BatchItem struct {
	kind  string
	build func(c *Client) (*enqueueSpec, error)
}

// Item prepares a job for Client.EnqueueBatch and Client.EnqueueBatchTx.
func (k Kind[In, Out]) Item(in In, opts ...EnqueueOption) BatchItem {
	return BatchItem{kind: k.name, build: func(c *Client) (*enqueueSpec, error) { return k.build(c, in, opts) }}
}

// in returns the item as a member of a batch.
func (i BatchItem) in(batch ID) BatchItem {
	if i.build == nil {
		return i
	}
	return BatchItem{kind: i.kind, build: func(c *Client) (*enqueueSpec, error) {
		spec, err := i.build(c)
		if err == nil {
			spec.enqueue.Job.Batch = batch
		}
		return spec, err
	}}
}

// EnqueueResult is the outcome of a BatchItem.
type EnqueueResult struct {
	ID       ID   // of the job, even if Err is an ErrUnavailable: repeat the item with it
	Existing bool // the id existed already, or this job holds the unique key or the business key
	Replaced bool // Existing, and its args, metadata and run time were replaced
	Differs  bool // Existing, and the job that holds the business key was enqueued with other args
	Err      error
}

// EnqueueBatch stores jobs of any kinds, a thousand per transaction and round trip. It returns a
// result for each, in the order given. Invalid or refused jobs have their Err; the others are
// stored. If any job was not stored, the error is a *BatchError.
func (c *Client) EnqueueBatch(ctx context.Context, items []BatchItem) ([]EnqueueResult, error) {
	r, ctx := asked.Take(ctx)
	happens := store.RequestIn(ctx)
	if happens != nil {
		ctx = store.WithRequest(ctx, nil) // what the middleware does is no effect of the request
	}
	return c.items(ctx, items, func(ctx context.Context, b *batch) (answered int, err error) {
		switch {
		case happens != nil && len(b.enqueues) > 0:
			return c.enqueueFor(ctx, happens, b.enqueues)
		case r == nil:
			return c.enqueueAll(ctx, b.enqueues)
		}
		if b.before, err = r.Enqueue(ctx, c.engine.Ask, b.asked()); err != nil {
			return 0, fmt.Errorf("enqueueing %d jobs: %w", len(b.enqueues), err)
		}
		return len(b.enqueues), nil
	})
}

// enqueueFor enqueues all jobs or none, in the transaction that notes that a request has happened.
func (c *Client) enqueueFor(ctx context.Context, r *store.KeyedRequest, enqueues []*store.Enqueue) (answered int, err error) {
	u := store.Unit{Request: r, Enqueues: enqueues}
	if err = c.engine.Ask(ctx, &u); err == nil {
		err = u.Err()
	}
	if err != nil {
		return 0, fmt.Errorf("enqueueing %d jobs: %w", len(enqueues), err)
	}
	return len(enqueues), nil
}

// EnqueueBatchTx does the same as EnqueueBatch in the caller's transaction.
func (c *Client) EnqueueBatchTx(ctx context.Context, tx store.Tx, items []BatchItem) ([]EnqueueResult, error) {
	return c.items(c.inTx(ctx), items, func(ctx context.Context, b *batch) (int, error) {
		if err := c.enqueueTx(ctx, tx, b.enqueues); err != nil {
			return 0, err
		}
		return len(b.enqueues), nil
	})
}

func (c *Client) items(
	ctx context.Context, items []BatchItem, commit func(context.Context, *batch) (answered int, err error),
) ([]EnqueueResult, error) {
	b := batch{results: make([]EnqueueResult, len(items)), refused: map[int]error{}}
	specs := make([]*enqueueSpec, len(items))
	for i, item := range items {
		spec, err := item.build(c)
		if err != nil {
			b.refuse(i, err)
			continue
		}
		specs[i] = spec
		b.results[i].ID = spec.enqueue.Job.ID
	}
	err := c.pass(ctx, specs, func(ctx context.Context) (err error) {
		for i, spec := range specs {
			if spec == nil {
				continue
			}
			if spec.before != nil {
				if err := c.complete(spec); err != nil {
					b.refuse(i, err)
					continue
				}
			}
			b.enqueues, b.places = append(b.enqueues, &spec.enqueue), append(b.places, i)
		}
		b.answered, err = commit(ctx, &b)
		b.sent = true
		return err
	})
	return b.results, b.end(err)
}

// batch is the enqueue of many jobs.
type batch struct {
	results  []EnqueueResult
	refused  map[int]error
	enqueues []*store.Enqueue // of those that are valid
	places   []int            // of each, among the results
	answered int              // how many of them have a result
	sent     bool             // to the database
	before   []asked.Item     // of a request that is repeated: what each was answered the first time
}

func (b *batch) refuse(i int, err error) { b.results[i].Err, b.refused[i] = err, err }

// asked are the items for a request.
func (b *batch) asked() asked.Items {
	all := asked.Items{Count: len(b.results), Enqueues: b.enqueues, Places: b.places}
	for place, err := range b.refused {
		all.Refused = append(all.Refused, asked.NewRefused(place, b.results[place].ID, err))
	}
	return all
}

// repeated sets the results of a request that is repeated.
func (b *batch) repeated() error {
	clear(b.refused)
	for i := range b.before {
		is := &b.before[i]
		b.results[i] = EnqueueResult{
			ID: is.ID, Existing: is.Result.Existing, Replaced: is.Result.Replaced, Differs: is.Result.Differs,
		}
		if is.Err != nil {
			b.refuse(i, is.Err)
		}
	}
	return batchError(b.refused, len(b.results), nil)
}

// end sets the results, and returns the error of the batch. err is why it ended early.
func (b *batch) end(err error) error {
	if !b.sent { // the middleware has refused all
		for i := range b.results {
			if b.results[i].Err == nil && err != nil {
				b.refuse(i, err)
			}
		}
		return batchError(b.refused, len(b.results), nil)
	}
	if b.before != nil {
		return b.repeated()
	}
	for i, e := range b.enqueues[:b.answered] {
		if e.Err != nil {
			b.refuse(b.places[i], e.Err)
			continue
		}
		r := &b.results[b.places[i]]
		r.ID, r.Existing, r.Replaced, r.Differs = e.Result.ID, isExisting(e), e.Result.Replaced, e.Result.Differs
	}
	answered := len(b.results)
	for _, place := range slices.Backward(b.places[b.answered:]) {
		b.results[place].Err, answered = err, place
	}
	return batchError(b.refused, answered, err)
}
