package sqlite

import (
	"context"
	"os"
	"path/filepath"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/facts"
)

// Measure implements store.Facts.
func (s *Store) Measure(ctx context.Context) (m store.Measured, err error) {
	size, free, err := facts.Pages(ctx, s.d)
	if err != nil {
		return m, err
	}
	m.Size, m.Free = &size, &free
	path := s.d.Path
	if log, err := os.Stat(path + "-wal"); err == nil {
		m.Log = new(log.Size())
	}
	if p, err := placeOf(filepath.Dir(path)); err == nil {
		m.DiskLeft = &p.left
	}
	return m, nil
}
