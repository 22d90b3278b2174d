// Package holdfast has the signatures of the library's durable operations, and does nothing. A test compares them with the library.
package holdfast

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

type Run struct{ context.Context }

type ID = uuid.UUID

type (
	Client        struct{}
	StepOption    interface{}
	EnqueueOption interface{}
	HandleOption  interface{}
	WaitOption    func() error
	Waitable      interface{ awaitable() }
	FanOut        struct{ AtOnce int }
	SendOption    interface{}
	Fork          struct{ From string }

	BatchItem     struct{}
	EnqueueResult struct{}
	SendResult    struct{}
)

func NewID() ID { return uuid.Must(uuid.NewV7()) }

func RetryIf(f func(error) bool) StepOption { return nil }

func WaitAtMost(d time.Duration) WaitOption { return nil }

func (r *Run) ID() ID { return ID{} }

func (r *Run) Attempt() int { return 0 }

func (r *Run) Progress(percent float64, message string) {}

func (r *Run) SaveCheckpoint(v any) error { return nil }

func (r *Run) IdempotencyKey(step string) (string, error) { return "", nil }

func Step[T any](run *Run, name string, fn func(ctx context.Context) (T, error), opts ...StepOption) (T, error) {
	return fn(run)
}

func Do(run *Run, name string, fn func(ctx context.Context) error, opts ...StepOption) error {
	return fn(run)
}

type Transactor[Tx any] interface {
	Transact(ctx context.Context, fn func(tx Tx, wrapped store.Tx) error) error
}

func StepTx[T, Tx any](
	run *Run, name string, db Transactor[Tx], fn func(ctx context.Context, tx Tx) (T, error), opts ...StepOption,
) (T, error) {
	var out T
	return out, nil
}

func (r *Run) Sleep(d time.Duration) error { return nil }

func (r *Run) SleepUntil(t time.Time) error { return nil }

func (r *Run) Now() (time.Time, error) { return time.Time{}, nil }

func (r *Run) Random() (*rand.Rand, error) { return nil, nil }

func (r *Run) UUID() (uuid.UUID, error) { return uuid.UUID{}, nil }

func (r *Run) Patched(change string) (bool, error) { return false, nil }

func (r *Run) OnFailure(name string, fn func(run *Run) error) error { return nil }

type Future[T any] struct{ value T }

func Go[T any](run *Run, name string, fn func(run *Run) (T, error)) (*Future[T], error) {
	return nil, nil
}

func (f *Future[T]) Wait(run *Run) (T, error) { return f.value, nil }

func (f *Future[T]) awaitable() {}

func (r *Run) Timer(d time.Duration) (Waitable, error) { return nil, nil }

func Select(run *Run, among ...Waitable) (int, error) { return 0, nil }

type Signal[T any] struct{ value T }

func NewSignal[T any](name string) Signal[T] { return Signal[T]{} }

func (s Signal[T]) Wait(run *Run, opts ...WaitOption) (T, error) { return s.value, nil }

func (s Signal[T]) TryReceive(run *Run) (value T, ok bool, err error) { return value, false, nil }

func (s Signal[T]) Into(v *T) Waitable { return nil }

func (s Signal[T]) SendFrom(run *Run, job ID, v T) error { return nil }

type Update[In, Out any] struct{ out Out }

func NewUpdate[In, Out any](name string) Update[In, Out] { return Update[In, Out]{} }

func (u Update[In, Out]) Handle(run *Run, validate func(in In) error, fn func(run *Run, in In) (Out, error)) error {
	return nil
}

func (u Update[In, Out]) Call(ctx context.Context, c *Client, job ID, in In, opts ...SendOption) (Out, error) {
	return u.out, nil
}

func (c *Client) CallUpdate(ctx context.Context, job ID, name string, payload json.RawMessage, opts ...SendOption) (json.RawMessage, error) {
	return nil, nil
}

func (c *Client) ContinueAsNew(ctx context.Context, reason string, id ID, args json.RawMessage) error {
	return nil
}

func (c *Client) Edit(ctx context.Context, reason string, id ID, opts ...EnqueueOption) error {
	return nil
}

func (c *Client) EditArgs(ctx context.Context, reason string, id ID, args json.RawMessage, opts ...EnqueueOption) error {
	return nil
}

func (c *Client) EditTags(ctx context.Context, reason string, id ID, add, drop []string) error {
	return nil
}

func (k Kind[In, Out]) Edit(ctx context.Context, c *Client, reason string, id ID, in In, opts ...EnqueueOption) error {
	return nil
}

func (c *Client) Delete(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (r *Run) WaitUntil(what string, cond func() bool, opts ...WaitOption) error { return nil }

type Callback struct{ Token string }

func (r *Run) Callback(name string) (*Callback, error) { return nil, nil }

func (c *Callback) Wait(run *Run, v any, opts ...WaitOption) error { return nil }

type Kind[In, Out any] struct{ name string }

func NewKind[In, Out any](name string, opts ...EnqueueOption) Kind[In, Out] { return Kind[In, Out]{} }

func (k Kind[In, Out]) Handle(c *Client, handler func(run *Run, in In) (Out, error), opts ...HandleOption) error {
	return nil
}

type Child[Out any] struct{ out Out }

func (k Kind[In, Out]) Start(run *Run, in In, opts ...EnqueueOption) (*Child[Out], error) {
	return nil, nil
}

func (c *Child[Out]) Wait(run *Run) (Out, error) { return c.out, nil }

func (k Kind[In, Out]) Call(run *Run, in In, opts ...EnqueueOption) (Out, error) {
	var out Out
	return out, nil
}

type Task[In any] struct{ Kind[In, struct{}] }

func (t Task[In]) Call(run *Run, in In, opts ...EnqueueOption) error { return nil }

type ChildResult[Out any] struct{ Value Out }

func (k Kind[In, Out]) CallAll(run *Run, ins []In, how FanOut, opts ...EnqueueOption) ([]ChildResult[Out], error) {
	return nil, nil
}

func (r *Run) Publish(key string, v any) error { return nil }

func (r *Run) Append(stream string, v any) error { return nil }

func (r *Run) Client() *Client { return nil }

func DedupKey(key string) SendOption { return nil }

type Job[Out any] struct{ out Out }

func (j *Job[Out]) Get(ctx context.Context) (store.Record, error) { return store.Record{}, nil }

func (j *Job[Out]) Cancel(ctx context.Context, reason string) error { return nil }

func (k Kind[In, Out]) Job(c *Client, id ID) *Job[Out] { return nil }

func (k Kind[In, Out]) Item(in In, opts ...EnqueueOption) BatchItem { return BatchItem{} }

func (k Kind[In, Out]) Enqueue(ctx context.Context, c *Client, in In, opts ...EnqueueOption) (*Job[Out], error) {
	return nil, nil
}

func (k Kind[In, Out]) EnqueueMany(ctx context.Context, c *Client, ins []In, opts ...EnqueueOption) ([]*Job[Out], error) {
	return nil, nil
}

func (k Kind[In, Out]) EnqueueTx(ctx context.Context, c *Client, tx store.Tx, in In, opts ...EnqueueOption) (*Job[Out], error) {
	return nil, nil
}

func (s Signal[T]) Send(ctx context.Context, c *Client, job ID, v T, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (s Signal[T]) SendTx(ctx context.Context, c *Client, tx store.Tx, job ID, v T, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (c *Client) Get(ctx context.Context, id ID) (store.Record, error) { return store.Record{}, nil }

func (s Signal[T]) SendByKey(ctx context.Context, c *Client, kind, key string, v T, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (s Signal[T]) SendOrStart(ctx context.Context, c *Client, item BatchItem, v T, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (s Signal[T]) SendOrStartTx(ctx context.Context, c *Client, tx store.Tx, item BatchItem, v T, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (c *Client) SendSignalByKey(
	ctx context.Context, kind, key, signal string, payload json.RawMessage, opts ...SendOption,
) (SendResult, error) {
	return SendResult{}, nil
}

func (c *Client) EnqueueBatch(ctx context.Context, items []BatchItem) ([]EnqueueResult, error) {
	return nil, nil
}

func (c *Client) EnqueueBatchTx(ctx context.Context, tx store.Tx, items []BatchItem) ([]EnqueueResult, error) {
	return nil, nil
}

func (c *Client) SendSignal(ctx context.Context, job ID, name string, payload json.RawMessage, opts ...SendOption) (SendResult, error) {
	return SendResult{}, nil
}

func (c *Client) CompleteCallback(ctx context.Context, token string, v any) error { return nil }

func (c *Client) FailCallback(ctx context.Context, token, message string) error { return nil }

func (c *Client) HeartbeatCallback(ctx context.Context, token string) error { return nil }

func (c *Client) Cancel(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) Terminate(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) Retry(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) Pause(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) Resume(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) Fork(ctx context.Context, reason string, id ID, f Fork) (ID, error) {
	return ID{}, nil
}

func (c *Client) PauseQueue(ctx context.Context, name string) error { return nil }

func (c *Client) ResumeQueue(ctx context.Context, name string) error { return nil }
func (c *Client) QuietNode(ctx context.Context, node int64) error    { return nil }
func (c *Client) DrainNode(ctx context.Context, node int64) error    { return nil }
func (c *Client) ResumeNode(ctx context.Context, node int64) error   { return nil }

func (c *Client) DeleteQueue(ctx context.Context, name string) error { return nil }

func (c *Client) SetQueue(ctx context.Context, name string, set store.AttemptSettings, unset store.Setting) (store.QueueAttempts, error) {
	return store.QueueAttempts{}, nil
}

func (c *Client) SetQueueFrom(
	ctx context.Context, name string, was store.QueueAttempts, set store.AttemptSettings, unset store.Setting,
) (store.QueueAttempts, error) {
	return store.QueueAttempts{}, nil
}

func (c *Client) CancelTx(ctx context.Context, tx store.Tx, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (c *Client) RetryTx(ctx context.Context, tx store.Tx, reason string, ids ...ID) ([]store.Result, error) {
	return nil, nil
}

func (k Kind[In, Out]) Complete(ctx context.Context, c *Client, id ID, out Out) error { return nil }

func (k Kind[In, Out]) CompleteTx(ctx context.Context, c *Client, tx store.Tx, id ID, out Out) error {
	return nil
}

func (c *Client) Complete(ctx context.Context, id ID, result json.RawMessage) error { return nil }

func (c *Client) CompleteTx(ctx context.Context, tx store.Tx, id ID, result json.RawMessage) error {
	return nil
}

func (c *Client) Fail(ctx context.Context, id ID, err error) error { return nil }

func (c *Client) FailTx(ctx context.Context, tx store.Tx, id ID, err error) error { return nil }

func (r *Run) CompleteTx(tx store.Tx, out any) error { return nil }

func (r *Run) FailTx(tx store.Tx, err error) error { return nil }
