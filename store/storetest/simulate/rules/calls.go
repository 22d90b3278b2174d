package rules

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// The calls that change something, and are looked at.

// Apply implements store.Writer.
func (e *eye) Apply(ctx context.Context, b *store.Batch) error {
	err := e.Store.Apply(ctx, b)
	e.see(ctx, "Apply", b, nil, err)
	return err
}

// Claim implements store.Claims.
func (e *eye) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := e.Store.Claim(ctx, p)
	e.see(ctx, "Claim", p, claimed, err)
	return claimed, err
}

// Leave implements store.Nodes.
func (e *eye) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	wakes, err := e.Store.Leave(ctx, node)
	e.see(ctx, "Leave", node, nil, err)
	return wakes, err
}

// Rescue implements store.Maintenance.
func (e *eye) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	rescued, err := e.Store.Rescue(ctx, p)
	e.see(ctx, "Rescue", p, rescued, err)
	return rescued, err
}

// Promote implements store.Maintenance.
func (e *eye) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	promoted, err := e.Store.Promote(ctx, limit)
	e.see(ctx, "Promote", limit, promoted, err)
	return promoted, err
}

// CloseChildren implements store.Maintenance.
func (e *eye) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	closed, err := e.Store.CloseChildren(ctx, limit)
	e.see(ctx, "CloseChildren", limit, closed, err)
	return closed, err
}

// Cancel implements store.Operators.
func (e *eye) Cancel(ctx context.Context, p store.CancelParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := e.Store.Cancel(ctx, p)
	e.see(ctx, "Cancel", p, results, err)
	return results, wakes, err
}

// Retry implements store.Operators.
func (e *eye) Retry(ctx context.Context, p store.RetryParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := e.Store.Retry(ctx, p)
	e.see(ctx, "Retry", p, results, err)
	return results, wakes, err
}

// Resume implements store.Operators.
func (e *eye) Resume(ctx context.Context, p store.ResumeParams) (store.State, []store.Wake, error) {
	state, wakes, err := e.Store.Resume(ctx, p)
	e.see(ctx, "Resume", p, state, err)
	return state, wakes, err
}

// Depend implements store.Editors.
func (e *eye) Depend(ctx context.Context, p store.DependParams) (store.State, []store.Wake, error) {
	state, wakes, err := e.Store.Depend(ctx, p)
	e.see(ctx, "Depend", p, state, err)
	return state, wakes, err
}

// Pause implements store.Queues.
func (e *eye) Pause(ctx context.Context, p store.PauseParams) error {
	err := e.Store.Pause(ctx, p)
	e.see(ctx, "Pause", p, nil, err)
	return err
}

// Rest implements store.Queues.
func (e *eye) Rest(ctx context.Context, p store.RestParams) (store.Resting, error) {
	resting, err := e.Store.Rest(ctx, p)
	e.see(ctx, "Rest", p, resting, err)
	return resting, err
}

// SaveLimit implements store.Limits.
func (e *eye) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	saved, err := e.Store.SaveLimit(ctx, l, expect, actor)
	e.see(ctx, "SaveLimit", l, saved, err)
	return saved, err
}

// DeleteLimit implements store.Limits.
func (e *eye) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	err := e.Store.DeleteLimit(ctx, namespace, name, force, actor)
	e.see(ctx, "DeleteLimit", name, nil, err)
	return err
}

// Grant implements store.Limits.
func (e *eye) Grant(ctx context.Context, p store.GrantParams) ([]store.Grant, error) {
	grants, err := e.Store.Grant(ctx, p)
	e.see(ctx, "Grant", p, grants, err)
	return grants, err
}

// CloseBatch implements store.JobBatches.
func (e *eye) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	err := e.Store.CloseBatch(ctx, tx, namespace, id)
	e.see(ctx, "CloseBatch", id, nil, err)
	return err
}

// CreateBatch implements store.JobBatches.
func (e *eye) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	err := e.Store.CreateBatch(ctx, tx, b)
	e.see(ctx, "CreateBatch", b, nil, err)
	return err
}

// CountBatches implements store.JobBatches.
func (e *eye) CountBatches(ctx context.Context, p store.CountBatchesParams) (store.CountedBatches, error) {
	counted, err := e.Store.CountBatches(ctx, p)
	e.see(ctx, "CountBatches", p, counted, err)
	return counted, err
}
