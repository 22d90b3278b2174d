package write

import (
	"github.com/holdfastdev/holdfast/store/postgres/internal/gating"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
)

// Store writes what nodes and clients do.
type Store struct {
	*local.Store

	Blocked Blocked
	gates   gating.Sweeps
}
