package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// namespace is the one that tests use unless they are about namespaces.
const namespace = "default"

// env is what one test works with: a store, its clock, and short words for what tests do all the time. Its methods
// fail the test on an error that the test did not ask for.
type env struct {
	*testing.T
	ctx   context.Context
	store store.Store
	clock *Clock
	ids   *idSource
	seqs  *atomic.Int64 // of claims; never reused
	space string        // the namespace
	open  Factory       // for tests that need a second store
}

func newEnv(t *testing.T, open Factory) *env {
	t.Helper()
	clock := NewClock()
	return &env{
		T: t, ctx: t.Context(), store: open(t, clock), clock: clock, ids: &idSource{clock: clock}, seqs: new(atomic.Int64),
		space: namespace, open: open,
	}
}

// otherSpace is a namespace beside the usual one.
const otherSpace = "other"

// inOtherSpace returns the same in the other namespace: new jobs are of that, and so are those that
// are claimed.
func (e *env) inOtherSpace() *env {
	there := *e
	there.space = otherSpace
	return &there
}

// idSource makes UUIDv7 from a virtual clock and a counter: they sort by the order in which they were made, and two
// runs of a test make the same ones.
type idSource struct {
	clock *Clock
	made  atomic.Uint64
}

func (s *idSource) next() store.ID {
	n := s.made.Add(1)
	var id store.ID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(s.clock.Now().UnixMilli()))
	copy(id[:6], ms[2:])
	binary.BigEndian.PutUint64(id[8:], n)
	id[6] = 0x70
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// job returns an enqueue with a fresh id and modest settings, changed by the given functions.
func (e *env) job(change ...func(*store.Enqueue)) *store.Enqueue {
	enqueue := &store.Enqueue{Job: store.Job{
		ID:          e.ids.next(),
		Namespace:   e.space,
		Queue:       "mail",
		Kind:        "send",
		Priority:    2,
		Args:        []byte(`{"to":"ada"}`),
		MaxAttempts: 3,
	}}
	for _, f := range change {
		f(enqueue)
	}
	return enqueue
}

func queue(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Queue = name } }
func kind(name string) func(*store.Enqueue)  { return func(q *store.Enqueue) { q.Job.Kind = name } }
func priority(p int) func(*store.Enqueue)    { return func(q *store.Enqueue) { q.Job.Priority = p } }
func runAt(t time.Time) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.RunAt = t } }
func attempts(n int) func(*store.Enqueue)    { return func(q *store.Enqueue) { q.Job.MaxAttempts = n } }

func ordered(key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.OrderingKey = key }
}
func delay(d time.Duration) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Delay = d } }

// unique gives the job a unique key that it holds in the given states, or, without any, until it is finished.
func unique(key string, states ...store.State) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Job.UniqueKey = []byte(key)
		q.Job.UniqueStates = store.Unfinished
		if len(states) > 0 {
			q.Job.UniqueStates = store.SetOf(states...)
		}
	}
}

func onConflict(c store.OnConflict) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.OnConflict = c }
}

// apply commits a batch; each operation's own error is left to the caller.
func (e *env) apply(batch *store.Batch) {
	e.Helper()
	if err := e.store.Apply(e.ctx, batch); err != nil {
		e.Fatalf("Apply: %v", err)
	}
}

// enqueue inserts the jobs in one batch, each of which must succeed, and returns them.
func (e *env) enqueue(enqueues ...*store.Enqueue) []*store.Enqueue {
	e.Helper()
	e.apply(&store.Batch{Enqueues: enqueues})
	for i, q := range enqueues {
		if q.Err != nil {
			e.Fatalf("enqueue %d: %v", i, q.Err)
		}
	}
	return enqueues
}

// add enqueues one job and returns its id.
func (e *env) add(change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	q := e.enqueue(e.job(change...))[0]
	if q.Result.ID != q.Job.ID {
		e.Fatalf("enqueue of %v returned the id %v", q.Job.ID, q.Result.ID)
	}
	return q.Job.ID
}

// demand returns claim parameters for up to limit jobs of the usual kinds, with a number of their own.
func (e *env) demand(node int64, limit int) store.ClaimParams {
	seq := e.seqs.Add(int64(limit/store.MaxClaimSlots+1)) - int64(limit/store.MaxClaimSlots)
	return store.ClaimParams{Node: node, Seq: seq, Namespace: e.space, Kinds: []string{"send", "push", "bill"}, Limit: limit}
}

// claimWith claims with the given parameters.
func (e *env) claimWith(params store.ClaimParams) []store.Claimed {
	e.Helper()
	claimed, err := e.store.Claim(e.ctx, params)
	if err != nil {
		e.Fatalf("Claim: %v", err)
	}
	return claimed
}

// claim promotes what is due, so that ordering keys that are free are handed on, and claims up to limit jobs.
func (e *env) claim(node int64, limit int) []store.Claimed {
	e.Helper()
	e.promote()
	return e.claimWith(e.demand(node, limit))
}

// claimOne claims exactly one job, which must be the given one.
func (e *env) claimOne(node int64, id store.ID) store.Claimed {
	e.Helper()
	claimed := e.claim(node, 1)
	e.wantIDs("claimed", claimedIDs(claimed), id)
	return claimed[0]
}

// promote promotes until there is nothing left to promote.
func (e *env) promote() {
	e.Helper()
	for range 1000 {
		promoted, err := e.store.Promote(e.ctx, 1000)
		if err != nil {
			e.Fatalf("Promote: %v", err)
		}
		if !promoted.More {
			return
		}
	}
	e.Fatal("Promote says More for ever")
}

// endStates are the states in which a run may end.
var endStates = []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable, store.Scheduled, store.Available}

// outcome returns what ends the given run in the given state, with the flags that an engine would set.
func outcome(c store.Claimed, state store.State, change ...func(*store.Outcome)) *store.Outcome {
	o := &store.Outcome{
		Lease:       c.Lease,
		State:       state,
		StartedAt:   c.ClaimedAt,
		HasUnique:   c.Job.UniqueKey != nil,
		HasOrdering: c.Job.OrderingKey != "",
		Durable:     c.Durable,
		Answers:     c.Job.Answers,
		Parent:      c.Job.Parent,
	}
	switch state {
	case store.Completed:
		o.Result = []byte(`"done"`)
	case store.Retryable:
		o.Reason, o.Error, o.Delay = store.ReasonError, "it broke", time.Minute
	case store.Failed:
		o.Reason, o.Error = store.ReasonTerminal, "it is broken"
	case store.Scheduled:
		o.Reason, o.Delay = store.ReasonSnoozed, time.Minute
	case store.Available:
		o.Reason = store.ReasonReleased
	case store.Cancelled:
		o.Reason, o.Error = store.ReasonCancelled, "the handler gave up"
	case store.Waiting:
		o.Wait = &store.Wait{}
	case store.Running: // no run ends so; for tests that try it
	}
	for _, f := range change {
		f(o)
	}
	return o
}

// end ends a run, which must succeed, and returns the outcome.
func (e *env) end(c store.Claimed, state store.State, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	o := outcome(c, state, change...)
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	if o.Err != nil {
		e.Fatalf("outcome %v of %v: %v", state, c.Job.ID, o.Err)
	}
	return o
}

// get returns the job's record.
func (e *env) get(id store.ID) store.Record {
	e.Helper()
	record, err := e.store.Get(e.ctx, id)
	if err != nil {
		e.Fatalf("Get(%v): %v", id, err)
	}
	return record
}

// wantState checks where a job is.
func (e *env) wantState(id store.ID, want store.State) {
	e.Helper()
	if got := e.get(id).State; got != want {
		e.Fatalf("job %v is %v, want %v", id, got, want)
	}
}

// wantErr checks an error's class, and that it says things once.
func (e *env) wantErr(what string, err, class error) {
	e.Helper()
	if !errors.Is(err, class) {
		e.Fatalf("%s: error is %v, want %v", what, err, class)
	}
	if wrong := misspoken(err); wrong != "" {
		e.Errorf("%s: %s: %q", what, wrong, err)
	}
}

// wantIDs checks a list of ids, order included.
func (e *env) wantIDs(what string, got []store.ID, want ...store.ID) {
	e.Helper()
	e.equal(what, got, want)
}

// wantSameIDs checks a list of ids whose order is nobody's promise.
func (e *env) wantSameIDs(what string, got []store.ID, want ...store.ID) {
	e.Helper()
	byID := func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }
	e.equal(what, slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(want), byID))
}

// equal compares two values of the contract: times by the instant, JSON documents by what they say.
func (e *env) equal(what string, got, want any, opts ...cmp.Option) {
	e.Helper()
	if diff := difference(want, got, opts...); diff != "" {
		e.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

// comparing says when two values are the same. Metadata, the value of a checkpoint and what a run waits for are JSON documents,
// which a database may write in its own way; Args and Result are bytes of a codec, which it may not touch.
var comparing = cmp.Options{
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmp.FilterPath(isJSON, cmp.Comparer(sameJSON)),
	cmp.FilterPath(isBytes, cmp.Comparer(bytes.Equal)),
	cmp.FilterPath(func(p cmp.Path) bool { return !isJSON(p) && !isBytes(p) }, cmpopts.EquateEmpty()),
}

func isJSON(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && (field.Name() == "Metadata" || field.Name() == "Value" || field.Name() == "For")
}

func isBytes(p cmp.Path) bool { return p.Last().Type() == bytesType && !isJSON(p) }

var bytesType = reflect.TypeFor[[]byte]()

// difference is cmp.Diff, which is slow, behind a look that is quick.
func difference(want, got any, opts ...cmp.Option) string {
	if alike(reflect.ValueOf(want), reflect.ValueOf(got)) {
		return ""
	}
	return cmp.Diff(want, got, append(opts, comparing)...)
}

// alike reports whether two values are the same without a closer look. Those of which it says no
// may be the same all the same.
func alike(a, b reflect.Value) bool {
	switch {
	case !a.IsValid():
		return !b.IsValid() || b.Kind() == reflect.Slice && b.Len() == 0 // a list that is written as nil
	case !b.IsValid(), a.Type() != b.Type():
		return false
	case a.Type() == timeType:
		return a.CanInterface() && a.Interface().(time.Time).Equal(b.Interface().(time.Time)) //nolint:errcheck // that is their type
	case a.Type() == bytesType:
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return alike(a.Elem(), b.Elem())
	default:
		return a.Comparable() && b.Comparable() && a.Equal(b)
	}
}

var timeType = reflect.TypeFor[time.Time]()

func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, okX := decoded(a)
	y, okY := decoded(b)
	if !okX || !okY {
		return bytes.Equal(a, b)
	}
	return cmp.Equal(x, y)
}

// decoded keeps numbers as they are written: a store that rounds those above 2^53 is to be noticed.
func decoded(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}

func claimedIDs(claimed []store.Claimed) []store.ID {
	var ids []store.ID
	for _, c := range claimed {
		ids = append(ids, c.Job.ID)
	}
	return ids
}

func idsOf(enqueues []*store.Enqueue) []store.ID {
	var ids []store.ID
	for _, q := range enqueues {
		ids = append(ids, q.Job.ID)
	}
	return ids
}

// wantNothing promotes, and checks that there is nothing for the node to claim.
func (e *env) wantNothing(node int64) {
	e.Helper()
	if claimed := e.claim(node, 100); len(claimed) != 0 {
		e.Fatalf("claimed %v, want nothing", claimedIDs(claimed))
	}
}

// cancel asks to cancel jobs and returns their states; none may be unknown.
func (e *env) cancel(ids ...store.ID) []store.State {
	e.Helper()
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids, Reason: "not needed", Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Cancel: %d results, %v", len(results), err)
	}
	var states []store.State
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] {
			e.Fatalf("Cancel of %v: %+v", ids[i], r)
		}
		states = append(states, r.State)
	}
	return states
}

// retry asks to run a job again, which must succeed.
func (e *env) retry(id store.ID) {
	e.Helper()
	if r := e.tryRetry(id); r.Err != nil || r.State != store.Available {
		e.Fatalf("Retry: %+v", r)
	}
}

func (e *env) tryRetry(id store.ID) store.RetryResult {
	e.Helper()
	results, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: []store.ID{id}, Actor: "ada"})
	if err != nil || len(results) != 1 || results[0].Job != id {
		e.Fatalf("Retry: %+v, %v", results, err)
	}
	return results[0]
}

func (e *env) pause(queue string, paused bool) {
	e.Helper()
	err := e.store.Pause(e.ctx, store.PauseParams{Namespace: namespace, Queue: queue, Paused: paused, Actor: "ada"})
	if err != nil {
		e.Fatalf("Pause: %v", err)
	}
}

// sweep applies what cancel requests are left over.
func (e *env) sweep() int {
	e.Helper()
	n, err := e.store.SweepCancels(e.ctx)
	if err != nil {
		e.Fatalf("SweepCancels: %v", err)
	}
	return n
}

// list returns all jobs that match, over as many pages as it takes.
func (e *env) list(filter store.Filter, limit int) []store.Record {
	e.Helper()
	var records []store.Record
	params := store.ListParams{Filter: filter, Limit: limit}
	for range 10_000 {
		page, err := e.store.List(e.ctx, params)
		if err != nil {
			e.Fatalf("List: %v", err)
		}
		if len(page.Jobs) > limit {
			e.Fatalf("a page of %d has %d jobs", limit, len(page.Jobs))
		}
		records = append(records, page.Jobs...)
		if page.Next == "" {
			return records
		}
		params.After = page.Next
	}
	e.Fatal("List never ends")
	return nil
}

func (e *env) listIDs(filter store.Filter) []store.ID {
	e.Helper()
	var ids []store.ID
	for _, r := range e.list(filter, 100) {
		ids = append(ids, r.ID)
	}
	return ids
}

// queue returns one queue of the usual namespace.
func (e *env) queue(name string) store.Queue {
	e.Helper()
	queues, err := e.store.Queues(e.ctx, namespace)
	if err != nil {
		e.Fatalf("Queues: %v", err)
	}
	for _, q := range queues {
		if q.Name == name {
			return q
		}
	}
	e.Fatalf("there is no queue %q among %d", name, len(queues))
	return store.Queue{}
}

// ended asks for the outcomes of finished jobs.
func (e *env) ended(ids ...store.ID) []store.Ended {
	e.Helper()
	ended, err := e.store.Ended(e.ctx, ids)
	if err != nil {
		e.Fatalf("Ended: %v", err)
	}
	slices.SortFunc(ended, func(a, b store.Ended) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return ended
}
