package move

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

func readAttributes(t *core.Tx, w *store.Whole, _ *core.Body) (err error) {
	w.Attributes, err = attributes.Of(t, w.ID)
	return err
}

func insertAttributes(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	return attributes.Set(t, w.ID, w.Attributes)
}
