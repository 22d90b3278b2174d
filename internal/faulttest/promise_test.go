package faulttest

import (
	"time"

	"github.com/holdfastdev/holdfast"
)

// once and patient are kinds whose handlers say how often and how soon their jobs are repeated.
var (
	once    = holdfast.NewKind[int, int]("once")
	patient = holdfast.NewKind[int, int]("patient")
)

// promise is the role of a node that has them. Its runs last until it dies.
func (w *inside) promise() error {
	handle := func(run *holdfast.Run, _ int) (int, error) {
		w.runs(run)
		<-run.Done()
		return 0, run.Err()
	}
	if err := once.Handle(w.client, handle, holdfast.MaxAttempts(1)); err != nil {
		return err
	}
	return patient.Handle(w.client, handle, holdfast.Backoff(time.Hour, time.Hour))
}

// hold is the role of a node whose first run of a job does not end by itself.
func (w *inside) hold() error {
	return holding.Handle(w.client, func(run *holdfast.Run, _ int) (int, error) {
		w.runs(run)
		if run.Lease().Number == 1 {
			<-run.Done()
			return 0, run.Err()
		}
		return 1, nil
	})
}

// holding is a job of such a node.
var holding = holdfast.NewKind[int, int]("holding")
