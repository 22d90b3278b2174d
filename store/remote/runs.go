package remote

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Journals implements store.Journals.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	return ask[[]store.Journal](ctx, s, "Journals", with2(namespace, ids))
}

// Entries implements store.Journals.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	return ask[[]store.Entry](ctx, s, "Entries", with(params))
}

// Messages implements store.Journals.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	return ask[[]store.Message](ctx, s, "Messages", with(params))
}

// OpenUpdates implements store.Updates.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	return ask[[][]store.Update](ctx, s, "OpenUpdates", with(of))
}

// GetUpdate implements store.Updates.
func (s *Store) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	return ask[store.Update](ctx, s, "GetUpdate", with3(namespace, job, key))
}

// ForgetUpdate implements store.Updates.
func (s *Store) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	return s.tell(ctx, "ForgetUpdate", with3(namespace, job, key))
}

// KeepLogs implements store.Logs.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	return s.tell(ctx, "KeepLogs", with(chunks))
}

// Logs implements store.Logs.
func (s *Store) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	return ask[[]store.LogChunk](ctx, s, "Logs", with(params))
}
