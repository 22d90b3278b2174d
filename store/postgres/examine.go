package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/examine"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

var _ store.Examines = Config{}

// Examine implements store.Examines. It needs two connections beside each other.
func (c Config) Examine(ctx context.Context) ([]store.Finding, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return nil, pg.Classify(ctx, "examine "+c.String(), err)
	}
	defer func() { _ = s.Close() }() // never fails
	found, err := examine.Server(ctx, s.db)
	return found, pg.Classify(ctx, "examine "+c.String(), err)
}
