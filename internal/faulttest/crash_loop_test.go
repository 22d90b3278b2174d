package faulttest

import (
	"errors"
	"os"

	"github.com/holdfastdev/holdfast"
)

// suicide is a durable job that kills its process when it is cancelled.
var (
	suicide = holdfast.NewKind[int, int]("suicide")
	enough  = holdfast.NewSignal[int]("enough")
)

// suicide is the role of a node with such jobs.
func (w *inside) suicide() error {
	return suicide.Handle(w.client, func(run *holdfast.Run, _ int) (int, error) {
		w.runs(run)
		if _, err := run.Now(); err != nil {
			return 0, err
		}
		if _, err := enough.Wait(run); !errors.Is(err, holdfast.ErrCancelled) {
			return 0, err
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			return 0, err
		}
		select {} // until the signal is there
	})
}
