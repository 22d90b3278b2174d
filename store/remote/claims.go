package remote

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Busy implements store.Claims.
func (s *Store) Busy(ctx context.Context, namespace string) ([]store.BusyQueue, error) {
	return ask[[]store.BusyQueue](ctx, s, "Busy", with(namespace))
}

// Join implements store.Nodes.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	return ask[int64](ctx, s, "Join", with(info))
}

// Beat implements store.Nodes.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	return ask[store.Beat](ctx, s, "Beat", with(params))
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	return ask[[]store.Wake](ctx, s, "Leave", with(node))
}

// Nodes implements store.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	return ask[[]store.Node](ctx, s, "Nodes", nothing)
}

// AskNode implements store.Nodes.
func (s *Store) AskNode(ctx context.Context, params store.AskNodeParams) error {
	return s.tell(ctx, "AskNode", with(params))
}

// Promote implements store.Maintenance.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	return ask[store.Promoted](ctx, s, "Promote", with(limit))
}

// Rescue implements store.Maintenance.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	return ask[store.Rescued](ctx, s, "Rescue", with(params))
}

// SweepCancels implements store.Maintenance.
func (s *Store) SweepCancels(ctx context.Context) (store.Swept, error) {
	return ask[store.Swept](ctx, s, "SweepCancels", nothing)
}

// CloseChildren implements store.Maintenance.
func (s *Store) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	return ask[store.Closed](ctx, s, "CloseChildren", with(limit))
}

// Retain implements store.Maintenance.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	return ask[store.Retained](ctx, s, "Retain", with(params))
}
