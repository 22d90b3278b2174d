package remote

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Cancel implements store.Operators.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	return askTwo[[]store.Result, []store.Wake](ctx, s, "Cancel", with(params))
}

// Retry implements store.Operators.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	return askTwo[[]store.Result, []store.Wake](ctx, s, "Retry", with(params))
}

// PauseJobs implements store.Operators.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	return askTwo[[]store.Result, []store.Wake](ctx, s, "PauseJobs", with(params))
}

// Resume implements store.Operators.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (store.State, []store.Wake, error) {
	return askTwo[store.State, []store.Wake](ctx, s, "Resume", with(params))
}

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	return ask[[]store.Wake](ctx, s, "Fork", with(params))
}

// Edit implements store.Editors.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (store.State, []store.Wake, error) {
	return askTwo[store.State, []store.Wake](ctx, s, "Edit", with(params))
}

// Depend implements store.Editors.
func (s *Store) Depend(ctx context.Context, params store.DependParams) (store.State, []store.Wake, error) {
	return askTwo[store.State, []store.Wake](ctx, s, "Depend", with(params))
}

// Delete implements store.Editors.
func (s *Store) Delete(ctx context.Context, params store.DeleteParams) ([]store.Result, []store.Wake, error) {
	return askTwo[[]store.Result, []store.Wake](ctx, s, "Delete", with(params))
}

// Finish implements store.Callers.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, []store.Wake, error) {
	return askTwo[[]store.Result, []store.Wake](ctx, s, "Finish", with(params))
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	return ask[store.Record](ctx, s, "Get", with2(namespace, id))
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	return ask[store.Page](ctx, s, "List", with(params))
}

// Count implements store.Reader.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	return ask[store.Counted](ctx, s, "Count", with(params))
}

// WaitingOfKeys implements store.Reader.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	return ask[[]int](ctx, s, "WaitingOfKeys", with(params))
}

// StuckKeys implements store.Reader.
func (s *Store) StuckKeys(ctx context.Context, params store.StuckKeysParams) (store.StuckPage, error) {
	return ask[store.StuckPage](ctx, s, "StuckKeys", with(params))
}

// DeadGroups implements store.Reader.
func (s *Store) DeadGroups(ctx context.Context, params store.DeadParams) (store.DeadPage, error) {
	return ask[store.DeadPage](ctx, s, "DeadGroups", with(params))
}

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	return ask[store.Obstacles](ctx, s, "Obstacles", with2(namespace, id))
}

// Ended implements store.Reader.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	return ask[[]store.Ended](ctx, s, "Ended", with2(namespace, ids))
}

// Find implements store.Keys.
func (s *Store) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	return ask[store.ID](ctx, s, "Find", with(key))
}

// DeclareAttributes implements store.Attributes.
func (s *Store) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	return s.tell(ctx, "DeclareAttributes", with(params))
}

// DeclaredAttributes implements store.Attributes.
func (s *Store) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	return ask[[]store.DeclaredAttribute](ctx, s, "DeclaredAttributes", with(namespace))
}

// RemoveAttribute implements store.Attributes.
func (s *Store) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (bool, error) {
	return ask[bool](ctx, s, "RemoveAttribute", with(params))
}
