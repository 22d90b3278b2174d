package remote

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Pause implements store.Queues.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	return s.tell(ctx, "Pause", with(params))
}

// Rest implements store.Queues.
func (s *Store) Rest(ctx context.Context, params store.RestParams) (store.Resting, error) {
	return ask[store.Resting](ctx, s, "Rest", with(params))
}

// SetQueue implements store.Queues.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (store.QueueAttempts, error) {
	return ask[store.QueueAttempts](ctx, s, "SetQueue", with(params))
}

// AttemptsOfQueues implements store.Queues.
func (s *Store) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	return ask[map[string]store.QueueAttempts](ctx, s, "AttemptsOfQueues", with(namespace))
}

// DeleteQueue implements store.Queues.
func (s *Store) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	return s.tell(ctx, "DeleteQueue", with(params))
}

// Queues implements store.Queues.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	return ask[[]store.Queue](ctx, s, "Queues", with(namespace))
}

// Unserved implements store.Queues.
func (s *Store) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	return ask[[]store.Unserved](ctx, s, "Unserved", with(limit))
}

// Describe implements store.Descriptors.
func (s *Store) Describe(ctx context.Context, list []store.Descriptor, actor string) (int, error) {
	return ask[int](ctx, s, "Describe", with2(list, actor))
}

// Descriptors implements store.Descriptors.
func (s *Store) Descriptors(ctx context.Context, params store.DescriptorParams) ([]store.Descriptor, error) {
	return ask[[]store.Descriptor](ctx, s, "Descriptors", with(params))
}

// SetRetention implements store.Retentions.
func (s *Store) SetRetention(ctx context.Context, class store.RetentionClass) (store.RetentionClass, error) {
	return ask[store.RetentionClass](ctx, s, "SetRetention", with(class))
}

// RetentionClasses implements store.Retentions.
func (s *Store) RetentionClasses(ctx context.Context) ([]store.RetentionClass, error) {
	return ask[[]store.RetentionClass](ctx, s, "RetentionClasses", nothing)
}

// DeleteRetention implements store.Retentions.
func (s *Store) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	return s.tell(ctx, "DeleteRetention", with(class))
}

// Expired implements store.Retentions.
func (s *Store) Expired(ctx context.Context, params store.Retention) ([]store.EndedJob, bool, error) {
	return askTwo[[]store.EndedJob, bool](ctx, s, "Expired", with(params))
}

// RemoveExpired implements store.Retentions.
func (s *Store) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	return ask[int](ctx, s, "RemoveExpired", with(jobs))
}

// Removed implements store.Retentions.
func (s *Store) Removed(ctx context.Context, params store.RemovedParams) ([]store.Removed, error) {
	return ask[[]store.Removed](ctx, s, "Removed", with(params))
}
