package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, r *store.Reservation) error {
	return limits.Reserve(ctx, s.d, r, work.Append)
}
