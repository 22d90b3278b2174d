package timed

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Store.
func (s timed) Apply(ctx context.Context, batch *store.Batch) error {
	defer s.took(Apply, time.Now())
	return s.Store.Apply(ctx, batch)
}

// EnqueueTx implements store.Store.
func (s timed) EnqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	defer s.took(EnqueueTx, time.Now())
	return s.Store.EnqueueTx(ctx, tx, enqueues)
}

// Claim implements store.Store.
func (s timed) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	defer s.took(Claim, time.Now())
	return s.Store.Claim(ctx, params)
}

// Busy implements store.Store.
func (s timed) Busy(ctx context.Context, namespace string) (queues []store.BusyQueue, err error) {
	defer s.took(Busy, time.Now())
	return s.Store.Busy(ctx, namespace)
}

// Beat implements store.Store.
func (s timed) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	defer s.took(Beat, time.Now())
	return s.Store.Beat(ctx, params)
}

// Promote implements store.Store.
func (s timed) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	defer s.took(Promote, time.Now())
	return s.Store.Promote(ctx, limit)
}

// Rescue implements store.Store.
func (s timed) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	defer s.took(Rescue, time.Now())
	return s.Store.Rescue(ctx, params)
}

// Retain implements store.Store.
func (s timed) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	defer s.took(Retain, time.Now())
	return s.Store.Retain(ctx, params)
}

// SweepCancels implements store.Store.
func (s timed) SweepCancels(ctx context.Context) (store.Swept, error) {
	defer s.took(SweepCancels, time.Now())
	return s.Store.SweepCancels(ctx)
}

// CloseChildren implements store.Store.
func (s timed) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	defer s.took(CloseChildren, time.Now())
	return s.Store.CloseChildren(ctx, limit)
}

// CountBatches implements store.Store.
func (s timed) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	defer s.took(CountBatches, time.Now())
	return s.Store.CountBatches(ctx, params)
}

// DueSchedules implements store.Store.
func (s timed) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	defer s.took(DueSchedules, time.Now())
	return s.Store.DueSchedules(ctx, limit)
}

// Grant implements store.Store.
func (s timed) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	defer s.took(Grant, time.Now())
	return s.Store.Grant(ctx, params)
}

// TakePermits implements store.Store.
func (s timed) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	defer s.took(TakePermits, time.Now())
	return s.Store.TakePermits(ctx, asks)
}

// Ended implements store.Store.
func (s timed) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	defer s.took(Ended, time.Now())
	return s.Store.Ended(ctx, namespace, ids)
}

// Journals implements store.Store.
func (s timed) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	defer s.took(Journals, time.Now())
	return s.Store.Journals(ctx, namespace, ids)
}

// Messages implements store.Store.
func (s timed) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	defer s.took(Messages, time.Now())
	return s.Store.Messages(ctx, params)
}

// OpenUpdates implements store.Store.
func (s timed) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	defer s.took(OpenUpdates, time.Now())
	return s.Store.OpenUpdates(ctx, of)
}

// Get implements store.Store.
func (s timed) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	defer s.took(Get, time.Now())
	return s.Store.Get(ctx, namespace, id)
}

// List implements store.Store.
func (s timed) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	defer s.took(List, time.Now())
	return s.Store.List(ctx, params)
}

// Count implements store.Store.
func (s timed) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	defer s.took(Count, time.Now())
	return s.Store.Count(ctx, params)
}

// Find implements store.Store.
func (s timed) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	defer s.took(Find, time.Now())
	return s.Store.Find(ctx, key)
}

// Queues implements store.Store.
func (s timed) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	defer s.took(Queues, time.Now())
	return s.Store.Queues(ctx, namespace)
}

// KeepLogs implements store.Store.
func (s timed) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	defer s.took(KeepLogs, time.Now())
	return s.Store.KeepLogs(ctx, chunks)
}

// KeepFacts implements store.Store.
func (s timed) KeepFacts(ctx context.Context, facts []store.Fact) error {
	defer s.took(KeepFacts, time.Now())
	return s.Store.KeepFacts(ctx, facts)
}

// OrderFeed implements store.Store.
func (s timed) OrderFeed(ctx context.Context) error {
	defer s.took(OrderFeed, time.Now())
	return s.Store.OrderFeed(ctx)
}

// ReadFeed implements store.Store.
func (s timed) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	defer s.took(ReadFeed, time.Now())
	return s.Store.ReadFeed(ctx, params)
}
