package move

import (
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/joblog"
)

func readLogs(t *core.Tx, w *store.Whole, _ *core.Body) (err error) {
	w.Logs, err = joblog.Of(t, w.ID, store.LogPlace{}, math.MaxInt32)
	return err
}

func insertLogs(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	for i := range w.Logs {
		if err := joblog.Put(t, &w.Logs[i]); err != nil {
			return err
		}
	}
	return nil
}
